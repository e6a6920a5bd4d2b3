cdef extern from "string.h" nogil:
    void *memcpy(void *to, const void *source, size_t size)

cdef extern from "lines.h" nogil:
    size_t kafkalog_digits(unsigned char *out, long long value)
    size_t kafkalog_text(unsigned char *out, const unsigned char *source, size_t size)
