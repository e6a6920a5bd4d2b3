from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport *
from kafkalog.kernel.plans cimport *
from kafkalog.kernel.put cimport *

cdef extern from "string.h" nogil:
    void *memmem(const void *where, size_t size, const void *what, size_t length)
