from kafkalog.kernel.buffers cimport *
from kafkalog.kernel.crc32c cimport crc32 as crc32_of, crc32c as crc32c_of, kafkalog_prepare, shift as shifted
from kafkalog.kernel.numbers cimport *

cpdef tuple read_headers(
    const unsigned char[::1] buf, Py_ssize_t start, Py_ssize_t stop, long long position, long long[:, ::1] heads,
    Py_ssize_t row)
cpdef Py_ssize_t pass_over(
    const unsigned char[::1] buf, Py_ssize_t here, const unsigned long long[::1] sums, long long[::1] state,
    object beyond) except -1
cpdef long long whole_size(const unsigned char[::1] buf, Py_ssize_t at, long long limit) noexcept
cpdef long long value_size_at(const unsigned char[::1] buf, Py_ssize_t at) noexcept
cpdef bint value_fills(const unsigned char[::1] buf, Py_ssize_t at, long long rest) noexcept
cpdef long long declared(const unsigned char[::1] buf, Py_ssize_t at) except -1
cpdef Py_ssize_t hop(const unsigned char[::1] buf, Py_ssize_t at, Py_ssize_t stop) except -1
cpdef long long leads_to(const unsigned char[::1] buf, Py_ssize_t head) except? -1
cpdef bint may_follow(
    const unsigned char[::1] buf, Py_ssize_t head, const unsigned char[::1] after, Py_ssize_t end, Py_ssize_t shown,
    bint whole) except -1
cpdef long long believed(const long long[:, ::1] heads, Py_ssize_t row) noexcept
