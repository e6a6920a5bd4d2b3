cpdef bint pass_over(
    const unsigned char[::1] buf, Py_ssize_t here, long long room, long long limit, bint legacy, long long above,
    const unsigned long long[::1] sums, long long[::1] state, long long[::1] found) except -1
