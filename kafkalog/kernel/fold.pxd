from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.numbers cimport add64, minus64

cpdef int sequence_break(
    long long epoch, long long last_sequence, long long next_epoch, long long first_sequence) noexcept
