cdef extern from "ordinary_records.h" nogil:
    Py_ssize_t kafkalog_ordinary_in_order(
        const unsigned char *in_, Py_ssize_t size, Py_ssize_t p, Py_ssize_t stop, Py_ssize_t count, long long highest,
        unsigned int is_control, long long *newest)
