from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.crc32c cimport crc32, crc32c, kafkalog_prepare

# The bits of ``find``, in the order of ``RULES`` in ``headers.py``: as constants, for the compiler.

cdef enum:
    LAST_OFFSET_DELTA_NEGATIVE = 1
    OFFSET_OVERFLOW = 2
    RECORDS_COUNT_ABOVE_OFFSETS = 4
    RECORDS_COUNT_NEGATIVE = 8
    EMPTY_BATCH_ODD = 16
    LEADER_EPOCH_BELOW_NONE = 32
    PRODUCER_ID_BELOW_NONE = 64
    PRODUCER_ID_MISSING = 128
    PRODUCER_EPOCH_MISSING = 256
    SEQUENCE_MISSING = 512
    TRANSACTION_WITHOUT_PRODUCER = 1024
    CONTROL_BATCH_ODD = 2048
    CONTROL_BATCH_SEQUENCE = 4096
    CONTROL_BATCH_COMPRESSED = 8192
    MARKER_COUNT = 16384
    CODEC_UNKNOWN = 32768
    CODEC_NOT_OF_MAGIC = 65536
    ATTRIBUTES_UNUSED = 131072
    DELETE_HORIZON_ODD = 262144
    TIMESTAMP_ODD = 524288

cpdef tuple read(
    const unsigned char[::1] buf, Py_ssize_t start, Py_ssize_t stop, long long position, long long[::1] heads,
    Py_ssize_t capacity, Py_ssize_t row)
