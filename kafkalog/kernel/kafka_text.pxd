from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.put cimport put, put_integer

cdef extern from "lines.h" nogil:
    size_t kafkalog_text(unsigned char *out, const unsigned char *source, size_t size)

# Where the pieces of a record's line are, which ``kafka_text.py`` names for Python.
cdef enum:
    BAR_OFFSET = 0
    CREATE_TIME = 2
    LOG_APPEND_TIME = 4
    KEY_SIZE_IS = 6
    VALUE_SIZE_IS = 8
    SEQUENCE_IS = 10
    HEADER_KEYS = 12
    END_HEADER_KEYS = 14
    KEY_IS = 16
    PAYLOAD_IS = 18
    FIRST_KEY = 20
    FIRST_PAYLOAD = 22
    ABORT = 24
    COMMIT = 26
