# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# How the compiled loops read numbers and markers; ``numbers.py`` says the same for Python and explains it.

from kafkalog.kernel.buffers cimport KEY_SHORT, KEY_VERSION_NEGATIVE, NO_END, VALUE_SHORT, VALUE_VERSION_NEGATIVE

cdef inline long long add64(long long a, long long b) noexcept:
    return a + b  # compiled with -fwrapv


cdef inline long long minus64(long long a, long long b) noexcept:
    return a - b


cdef inline long long wrap32(long long a) noexcept:
    return (a << 32) >> 32


cdef inline long long int16(const unsigned char[::1] buf, Py_ssize_t i) noexcept:
    return <short> (buf[i] << 8 | buf[i + 1])


cdef inline long long int32(const unsigned char[::1] buf, Py_ssize_t i) noexcept:
    return <int> (<unsigned int> buf[i] << 24 | buf[i + 1] << 16 | buf[i + 2] << 8 | buf[i + 3])


cdef inline long long int64(const unsigned char[::1] buf, Py_ssize_t i) noexcept:
    return <long long> (<unsigned long long> int32(buf, i) << 32 | <unsigned int> int32(buf, i + 4))


cdef inline long long unsigned32(long long v) noexcept:
    return <unsigned int> v


cdef inline long long add_sequence(long long sequence, long long delta) noexcept:
    if sequence < 0:
        return -1
    if sequence > wrap32(2147483647 - delta):
        return wrap32(delta - (2147483647 - sequence) - 1)
    return sequence + delta


cdef inline (long long, Py_ssize_t) varint(const unsigned char[::1] buf, Py_ssize_t p, Py_ssize_t end) noexcept:
    cdef long long v
    cdef long long b
    cdef int shift
    if p >= end:
        return 0, -1
    v = buf[p]
    p += 1
    if v >= 128:
        v &= 127
        shift = 7
        while True:
            if p >= end or shift > 28:
                return 0, -1
            b = buf[p]
            p += 1
            v |= (b & 127) << shift
            if b < 128:
                break
            shift += 7
        v = wrap32(v)
    return ((v >> 1) & 2147483647) ^ -(v & 1), p


cdef inline (long long, Py_ssize_t) varlong(const unsigned char[::1] buf, Py_ssize_t p, Py_ssize_t end) noexcept:
    cdef unsigned long long v
    cdef unsigned long long b
    cdef int shift
    if p >= end:
        return 0, -1
    v = buf[p]
    p += 1
    if v >= 128:
        v &= 127
        shift = 7
        while True:
            if p >= end or shift > 63:
                return 0, -1
            b = buf[p]
            p += 1
            v |= (b & 127) << shift
            if b < 128:
                break
            shift += 7
    return <long long> ((v >> 1) ^ (0 - (v & 1))), p


cdef inline int end_marker(
    const unsigned char[::1] buf, Py_ssize_t key, long long key_size, Py_ssize_t value, long long value_size
) noexcept:
    cdef long long kind
    if key_size < 4:
        return KEY_SHORT
    if int16(buf, key) < 0:
        return KEY_VERSION_NEGATIVE
    kind = int16(buf, key + 2)
    if kind < 0 or kind > 1:
        return NO_END
    if value_size < 6:
        return VALUE_SHORT
    if int16(buf, value) < 0:
        return VALUE_VERSION_NEGATIVE
    return <int> kind
