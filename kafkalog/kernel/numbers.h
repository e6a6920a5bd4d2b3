/* Big-endian integers for numbers.pxd. */
#ifndef KAFKALOG_NUMBERS_H
#define KAFKALOG_NUMBERS_H

#include <stdint.h>

/* Each is named by its last byte: the caller's bounds check is of the highest index read. */
static inline int64_t kafkalog_int16(const uint8_t *last) { return (int16_t)((uint16_t)last[-1] << 8 | last[0]); }

static inline int64_t kafkalog_int32(const uint8_t *last) {
    return (int32_t)((uint32_t)last[-3] << 24 | (uint32_t)last[-2] << 16 | (uint32_t)last[-1] << 8 | last[0]);
}

static inline int64_t kafkalog_int64(const uint8_t *last) {
    return (int64_t)((uint64_t)kafkalog_int32(last - 4) << 32 | (uint32_t)kafkalog_int32(last));
}

#endif
