cdef extern from "json_text.h" nogil:
    int kafkalog_kind(const unsigned char *in_, size_t size)
