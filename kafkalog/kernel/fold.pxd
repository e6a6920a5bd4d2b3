from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.headers cimport believed
from kafkalog.kernel.numbers cimport add64, minus64

cdef struct Extent:
    long long first_offset
    long long last_offset
    long long batches
    long long records
    long long size
    long long min_timestamp
    long long max_timestamp
    long long first_epoch
    long long last_epoch
    long long older_records
    long long position

cdef struct Marker:
    long long type
    long long offset
    long long epoch
    long long coordinator_epoch
    long long timestamp

cdef struct Written:
    long long batches
    long long records
    long long first_epoch
    long long last_epoch
    long long last_sequence
    long long first_offset
    long long last_offset
    long long first_timestamp
    long long last_timestamp

cdef struct Sequenced:
    long long epoch
    long long sequence
    long long offset
    long long timestamp

cpdef int sequence_break(
    long long epoch, long long last_sequence, long long next_epoch, long long first_sequence) noexcept
