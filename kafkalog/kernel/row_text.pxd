from kafkalog.kernel.numbers cimport varint
from kafkalog.kernel.plans cimport *
from kafkalog.kernel.put cimport put, put_integer

cdef extern from "json_text.h" nogil:
    int kafkalog_kind(const unsigned char *in_, size_t size)
    size_t kafkalog_json(
        unsigned char *out, size_t room, const unsigned char *in_, size_t size, int doubled, size_t *done
    )
    size_t kafkalog_csv(unsigned char *out, size_t room, const unsigned char *in_, size_t size, size_t *done)
    size_t kafkalog_base64(unsigned char *out, size_t room, const unsigned char *in_, size_t size, size_t *done)
    int kafkalog_csv_quoted(const unsigned char *in_, size_t size)
