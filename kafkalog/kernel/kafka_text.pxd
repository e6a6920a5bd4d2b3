cdef extern from "lines.h" nogil:
    size_t kafkalog_text(unsigned char *out, const unsigned char *source, size_t size)
