from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.crc32c cimport crc32 as crc32_of, crc32c as crc32c_of, kafkalog_prepare, shift as shifted
from kafkalog.kernel.numbers cimport *

cpdef tuple read(
    const unsigned char[::1] buf, Py_ssize_t start, Py_ssize_t stop, long long position, long long[:, ::1] heads,
    Py_ssize_t row)
