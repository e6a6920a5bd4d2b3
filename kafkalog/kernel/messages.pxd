from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.message_ops cimport *
from kafkalog.kernel.numbers cimport int16, int32, int64, unsigned32, wrap32

cdef extern from "string.h" nogil:
    void *memcpy(void *to, const void *source, size_t size)

cdef extern from "message_text.h" nogil:
    size_t kafkalog_digits(unsigned char *out, long long value)
    size_t kafkalog_json_text(unsigned char *out, const unsigned char *source, size_t size)
    size_t kafkalog_row_text(unsigned char *out, const unsigned char *source, size_t size, int ascii)
    size_t kafkalog_base64(unsigned char *out, const unsigned char *source, size_t size, int url)
