from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport *

cdef extern from "ordinary_records.h" nogil:
    Py_ssize_t kafkalog_ordinary_in_order(
        const unsigned char *in_, Py_ssize_t size, Py_ssize_t p, Py_ssize_t stop, Py_ssize_t count, long long highest,
        unsigned int is_control, long long *newest)

cdef extern from "frames.h" nogil:
    Py_ssize_t kafkalog_snappy_frame(
        unsigned char *out, size_t w, size_t most, size_t room, const unsigned char *in_, size_t size, size_t left)
    Py_ssize_t kafkalog_lz4_frame(
        unsigned char *out, size_t w, size_t most, size_t room, const unsigned char *in_, size_t size, size_t left)

cdef extern from "string.h" nogil:
    void *memmem(const void *where, size_t size, const void *what, size_t length)
