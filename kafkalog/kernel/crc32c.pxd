# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# The checksums for the compiled loops; ``crc32c.py`` says the same for Python and explains it. Each module that takes
# them has its own tables, and calls ``kafkalog_prepare`` once: a call into another module costs a tenth of a header.

cdef extern from "crc32c.h" nogil:
    void kafkalog_prepare()
    unsigned int kafkalog_crc32c(unsigned int crc, const unsigned char *data, size_t length)
    unsigned int kafkalog_crc32(unsigned int crc, const unsigned char *data, size_t length)
    unsigned int kafkalog_shift_by(unsigned int crc, unsigned long long n)


cdef inline long long crc32c(
    const unsigned char[::1] buf, Py_ssize_t start, Py_ssize_t stop, long long crc=0
) noexcept:
    if start < 0 or start >= stop or stop > buf.shape[0]:
        return crc
    return kafkalog_crc32c(<unsigned int> crc, &buf[start], stop - start)


cdef inline long long crc32(
    const unsigned char[::1] buf, Py_ssize_t start, Py_ssize_t stop, long long crc=0
) noexcept:
    if start < 0 or start >= stop or stop > buf.shape[0]:
        return crc
    return kafkalog_crc32(<unsigned int> crc, &buf[start], stop - start)


cdef inline long long shift(long long crc, long long length) noexcept:
    return kafkalog_shift_by(<unsigned int> crc, length)
