cdef extern from "crc32c.h" nogil:
    void kafkalog_prepare()
    unsigned int kafkalog_crc32c(unsigned int crc, const unsigned char *data, size_t length)
    unsigned int kafkalog_crc32(unsigned int crc, const unsigned char *data, size_t length)
    long long kafkalog_int16(const unsigned char *last)
    long long kafkalog_int32(const unsigned char *last)
    long long kafkalog_int64(const unsigned char *last)
    unsigned int kafkalog_shift_by(unsigned int crc, unsigned long long n)
