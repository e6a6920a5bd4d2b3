cdef extern from "ordinary_records.h" nogil:
    Py_ssize_t kafkalog_ordinary_records(
        const unsigned char *in_, Py_ssize_t size, Py_ssize_t *at, Py_ssize_t stop, long long *recs, Py_ssize_t room,
        Py_ssize_t n, Py_ssize_t most, Py_ssize_t row, long long offset0, long long timestamp0, long long timestamps,
        long long sequence0)
