from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport end_marker, int32
from kafkalog.kernel.plans cimport *
from kafkalog.kernel.put cimport put, put_integer

cdef extern from "lines.h" nogil:
    size_t kafkalog_text(unsigned char *out, const unsigned char *source, size_t size)
