cdef extern from "frames.h" nogil:
    Py_ssize_t kafkalog_snappy_frame(
        unsigned char *out, size_t w, size_t most, size_t room, const unsigned char *in_, size_t size, size_t left)
    Py_ssize_t kafkalog_lz4_frame(
        unsigned char *out, size_t w, size_t most, size_t room, const unsigned char *in_, size_t size, size_t left)
