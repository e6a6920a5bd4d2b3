cdef extern from "json_text.h" nogil:
    size_t kafkalog_base64(unsigned char *out, size_t room, const unsigned char *in_, size_t size, size_t *done)
