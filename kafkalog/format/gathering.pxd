cdef extern from "json_text.h" nogil:
    int kafkalog_kind(const unsigned char *in_, size_t size)
    size_t kafkalog_base64(unsigned char *out, size_t room, const unsigned char *in_, size_t size, size_t *done)

cdef extern from "gathering.h" nogil:
    int kafkalog_copied(unsigned char *out, size_t room, const unsigned char *in_, size_t left, size_t size)
