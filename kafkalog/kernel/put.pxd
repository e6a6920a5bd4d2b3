# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
# What the compiled writers of text share; ``put.py`` says the same for Python and explains it.

from kafkalog.kernel.plans cimport NOTHING, PLAIN

cdef extern from "string.h" nogil:
    void *memcpy(void *to, const void *source, size_t size)

cdef extern from "text.h" nogil:
    enum:
        KAFKALOG_ASCII
        KAFKALOG_QUOTED
        KAFKALOG_UNICODE
        KAFKALOG_JAVA
    size_t kafkalog_digits(unsigned char *out, long long value)
    size_t kafkalog_text(unsigned char *out, const unsigned char *source, size_t size)
    int kafkalog_kind(const unsigned char *in_, size_t size)
    int kafkalog_copied(unsigned char *out, size_t room, const unsigned char *in_, size_t left, size_t size)
    size_t kafkalog_json(
        unsigned char *out, size_t room, const unsigned char *in_, size_t size, int how, size_t *done)
    size_t kafkalog_base64(
        unsigned char *out, size_t room, const unsigned char *in_, size_t size, int url, size_t *done)
    size_t kafkalog_csv(unsigned char *out, size_t room, const unsigned char *in_, size_t size, size_t *done)
    int kafkalog_csv_quoted(const unsigned char *in_, size_t size)


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


cdef inline Py_ssize_t put_base64(
    unsigned char[::1] out, Py_ssize_t w, const unsigned char[::1] source, Py_ssize_t start, Py_ssize_t size, bint url
) noexcept:
    cdef size_t done = 0
    cdef Py_ssize_t room = (size + 2) // 3 * 4
    if size <= 0 or room > len(out) - w or start + size > len(source):
        return w
    return w + kafkalog_base64(&out[w], room + 16, &source[start], size, url, &done)  # 16 more: all of it


cdef inline int kind(const unsigned char[::1] buf, Py_ssize_t start, Py_ssize_t size) noexcept:
    if size <= 0:
        return NOTHING if size < 0 else PLAIN
    return kafkalog_kind(&buf[start], size)
