cpdef tuple read(
    const unsigned char[::1] buf, Py_ssize_t start, Py_ssize_t stop, long long position, long long[::1] heads,
    Py_ssize_t capacity, Py_ssize_t row)
