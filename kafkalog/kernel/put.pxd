# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# What the compiled writers of lines share; ``put.py`` says the same for Python and explains it.

cdef extern from "string.h" nogil:
    void *memcpy(void *to, const void *source, size_t size)

cdef extern from "lines.h" nogil:
    size_t kafkalog_digits(unsigned char *out, long long value)


cdef inline Py_ssize_t put(
    unsigned char[::1] out, Py_ssize_t w, const unsigned char[::1] source, Py_ssize_t start, Py_ssize_t size
) noexcept:
    if size <= 32 and len(out) - w >= 32 and start + 32 <= len(source):  # most are short: two moves, no call
        memcpy(&out[w], &source[start], 32)
    elif size > 0 and size <= len(out) - w and start + size <= len(source):
        memcpy(&out[w], &source[start], size)
    return w + size


cdef inline Py_ssize_t put_integer(unsigned char[::1] out, Py_ssize_t w, long long value) noexcept:
    if len(out) - w < 20:
        return w
    return w + kafkalog_digits(&out[w], value)
