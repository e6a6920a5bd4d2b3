from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.crc32c cimport crc32, crc32c, kafkalog_prepare, shift
from kafkalog.kernel.headers cimport read
from kafkalog.kernel.numbers cimport int32, int64, unsigned32

cpdef bint pass_over(
    const unsigned char[::1] buf, Py_ssize_t here, const unsigned long long[::1] sums, long long[::1] state) except -1
