from kafkalog.kernel.buffers cimport CODEC_BITS, LAST_OFFSET, MAGIC, int32, int64, unsigned32
from kafkalog.kernel.crc32c cimport crc32, crc32c, kafkalog_prepare, shift
from kafkalog.kernel.headers cimport read

cpdef bint pass_over(
    const unsigned char[::1] buf, Py_ssize_t here, long long room, long long limit, bint legacy, long long above,
    const unsigned long long[::1] sums, long long[::1] state, long long[::1] found) except -1
