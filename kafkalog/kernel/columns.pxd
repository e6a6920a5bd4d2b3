from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport *
from kafkalog.kernel.plans cimport *

cdef extern from "string.h" nogil:
    void *memmem(const void *where, size_t size, const void *what, size_t length)

cdef extern from "json_text.h" nogil:
    int kafkalog_kind(const unsigned char *in_, size_t size)

cdef extern from "cells.h" nogil:
    int kafkalog_all_equal(const long long *cells, size_t count, long long value)
    int kafkalog_beyond(const long long *cells, size_t count, int width)
    void kafkalog_narrow(unsigned char *out, int width, const long long *cells, size_t count)
    void kafkalog_bits(unsigned char *out, size_t bit, const long long *cells, size_t count, int inverted)

cdef extern from "json_text.h" nogil:
    int kafkalog_kind(const unsigned char *in_, size_t size)
    size_t kafkalog_base64(unsigned char *out, size_t room, const unsigned char *in_, size_t size, size_t *done)

cdef extern from "gathering.h" nogil:
    int kafkalog_copied(unsigned char *out, size_t room, const unsigned char *in_, size_t left, size_t size)
