/* Ordinary records for records.py: well-formed, with numbers of at most four bytes. All
 * others are left to them.
 *
 * One check of bounds lets all of a record's numbers be read as whole words: KAFKALOG_REACH bytes after a record's end
 * may be read. What a number has beyond that end is found out afterwards. */
#ifndef KAFKALOG_ORDINARY_RECORDS_H
#define KAFKALOG_ORDINARY_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KAFKALOG_REACH 32

static inline uint32_t kafkalog_four(const uint8_t *in) {
    return (uint32_t)in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
}

/* The next number, as it is written, into `v`; `q` moves on. Most have one byte, or all of a kind have two. */
#define KAFKALOG_NUMBER(v)                                                                              \
    do {                                                                                                \
        uint32_t word_ = kafkalog_four(in + q);                                                         \
        if (!(word_ & 0x80)) {                                                                          \
            v = word_ & 0x7F;                                                                           \
            q += 1;                                                                                     \
        } else if (!(word_ & 0x8000)) {                                                                 \
            v = (word_ & 0x7F) | (word_ >> 1 & 0x3F80);                                                 \
            q += 2;                                                                                     \
        } else if (!(word_ & 0x800000)) {                                                               \
            v = (word_ & 0x7F) | (word_ >> 1 & 0x3F80) | (word_ >> 2 & 0x1FC000);                       \
            q += 3;                                                                                     \
        } else if (!(word_ & 0x80000000u)) {                                                            \
            v = (word_ & 0x7F) | (word_ >> 1 & 0x3F80) | (word_ >> 2 & 0x1FC000) | (word_ >> 3 & 0xFE00000); \
            q += 4;                                                                                     \
        } else {                                                                                        \
            return n;                                                                                   \
        }                                                                                               \
    } while (0)

/* The same where no branch can guess how many bytes it has, one or two. */
#define KAFKALOG_UNGUESSED(v)                                                  \
    do {                                                                       \
        uint32_t word_ = kafkalog_four(in + q), more_ = word_ >> 7 & 1;        \
        if ((word_ & 0x8080) == 0x8080) {                                      \
            KAFKALOG_NUMBER(v);                                                \
        } else {                                                               \
            v = (word_ & 0x7F) | ((word_ >> 1 & 0x3F80) & (0 - more_));        \
            q += 1 + (ptrdiff_t)more_;                                         \
        }                                                                      \
    } while (0)

/* Decodes records from `*at` on, which end at `stop` or before, into rows [n, most) of `recs`, which has `room` rows,
   and moves `*at` on: up to the first that is not ordinary, or is too near the end of the `size` bytes of `in`. Answers
   the next row. What a record has of its batch: its row; what offset, timestamp and sequence are added to, the sequence
   below 0 for none; `timestamps` is 0 where the batch has one timestamp, else has all bits. */
static inline ptrdiff_t kafkalog_ordinary_records(
    const uint8_t *restrict in, ptrdiff_t size, ptrdiff_t *restrict at, ptrdiff_t stop, long long *restrict recs,
    ptrdiff_t room, ptrdiff_t n, ptrdiff_t most, ptrdiff_t row, int64_t offset0, int64_t timestamp0, int64_t timestamps,
    int64_t sequence0
) {
    ptrdiff_t p = *at, reach = size - KAFKALOG_REACH < stop ? size - KAFKALOG_REACH : stop;
    uint32_t sequences = sequence0 < 0 ? 0 : ~(uint32_t)0;
    /* No sequence wraps here: a delta has at most 27 bits. */
    if (sequence0 > 0x7FFFFFFF - 0x8000000) return n;
    if (sequence0 < 0) sequence0 = -1;
    while (n < most && p < reach) {
        uint32_t length, timestamp, delta, key, value, headers;
        ptrdiff_t q = p, end, key_start, value_start, headers_start;
        KAFKALOG_UNGUESSED(length);
        if ((length & 1) || length < 12 || (ptrdiff_t)(length >> 1) > reach - q) return n;
        end = q + (length >> 1);
        q += 1; /* the attributes, which have no meaning */
        KAFKALOG_NUMBER(timestamp);
        KAFKALOG_NUMBER(delta);
        KAFKALOG_NUMBER(key);
        uint32_t no_key = 0 - (key & 1);
        key_start = q;
        key = key >> 1 & ~no_key;
        if ((ptrdiff_t)key > end - q || (delta & 1)) return n;
        q += key;
        KAFKALOG_UNGUESSED(value);
        uint32_t no_value = 0 - (value & 1);
        value_start = q;
        value = value >> 1 & ~no_value;
        if ((ptrdiff_t)value > end - q) return n;
        q += value;
        headers = in[q];
        q += 1;
        headers_start = q;
        if (headers) {
            if (headers & 0x81) return n;
            headers >>= 1;
            for (uint32_t h = headers; h; h--) {
                uint32_t part = in[q];
                if ((part & 0x81) || (ptrdiff_t)(part >> 1) > end - q) return n;
                q += 1 + (part >> 1);
                KAFKALOG_NUMBER(part);
                part = (part >> 1) & ((part & 1) - 1);
                if ((ptrdiff_t)part > end - q) return n;
                q += part;
            }
        }
        if (q != end) return n;
        int64_t later = (int64_t)(timestamp >> 1) ^ -(int64_t)(timestamp & 1);
        long long *cell = recs + n;
        *cell = row;
        cell += room;
        *cell = (int64_t)((uint64_t)offset0 + (delta >> 1));
        cell += room;
        *cell = (int64_t)((uint64_t)timestamp0 + (uint64_t)(later & timestamps));
        cell += room;
        *cell = sequence0 + (int64_t)(delta >> 1 & sequences);
        cell += room;
        *cell = key_start;
        cell += room;
        *cell = (int64_t)key | -(int64_t)(no_key & 1);
        cell += room;
        *cell = value_start;
        cell += room;
        *cell = (int64_t)value | -(int64_t)(no_value & 1);
        cell += room;
        *cell = headers_start;
        cell += room;
        *cell = headers;
        cell += room;
        *cell = end - p;
        n += 1;
        p = end;
        *at = p;
    }
    return n;
}

/* A number, and into `odd` whether it has more bytes than it needs. */
#define KAFKALOG_LOOKED(READ, v)                        \
    do {                                                \
        ptrdiff_t first_ = q;                           \
        READ(v);                                        \
        odd |= (uint32_t)(q - first_ > 1) & !in[q - 1]; \
    } while (0)

/* How many records from `p` on are ordinary and break no rule of records.py: find, if they end at `stop`, else 0: no
   attributes, no number longer than it need be, offset deltas that rise from 0 to `highest` at most; where
   `is_control`, 0 or 1, each is a marker. `newest` gets their largest timestamp delta. Fewer than `count` mean nothing:
   whoever asks must look. */
static inline ptrdiff_t kafkalog_ordinary_in_order(
    const uint8_t *restrict in, ptrdiff_t size, ptrdiff_t p, ptrdiff_t stop, ptrdiff_t count, int64_t highest,
    uint32_t is_control, long long *restrict newest
) {
    ptrdiff_t n = 0;
    uint32_t odd = 0;
    int64_t before = -1, latest = INT64_MIN;
    if (size < KAFKALOG_REACH || stop > size - KAFKALOG_REACH) return 0;
    while (n < count && p < stop) {
        uint32_t length, timestamp, delta, key, value, headers, word;
        ptrdiff_t q = p, end, key_start, value_start;
        KAFKALOG_LOOKED(KAFKALOG_UNGUESSED, length);
        if ((length & 1) || length < 12 || (ptrdiff_t)(length >> 1) > stop - q) return 0;
        end = q + (length >> 1);
        word = kafkalog_four(in + q);
        if (!(word & 0x808080FFu)) { /* no attributes, then three numbers of one byte */
            timestamp = word >> 8 & 0x7F;
            delta = word >> 16 & 0x7F;
            key = word >> 24;
            q += 4;
        } else {
            odd |= in[q];
            q += 1;
            KAFKALOG_LOOKED(KAFKALOG_NUMBER, timestamp);
            KAFKALOG_LOOKED(KAFKALOG_NUMBER, delta);
            KAFKALOG_LOOKED(KAFKALOG_NUMBER, key);
        }
        uint32_t no_key = 0 - (key & 1);
        odd |= (delta & 1) | (no_key & (key ^ 1)); /* a length below -1 */
        key_start = q;
        key = key >> 1 & ~no_key;
        if ((ptrdiff_t)key > end - q) return 0;
        q += key;
        KAFKALOG_LOOKED(KAFKALOG_UNGUESSED, value);
        uint32_t no_value = 0 - (value & 1);
        odd |= no_value & (value ^ 1);
        value_start = q;
        value = value >> 1 & ~no_value;
        if ((ptrdiff_t)value > end - q) return 0;
        q += value;
        headers = in[q];
        q += 1;
        if (headers) {
            if (headers & 0x81) return 0;
            for (headers >>= 1; headers; headers--) {
                uint32_t part = in[q];
                if ((part & 0x81) || (ptrdiff_t)(part >> 1) > end - q) return 0;
                q += 1 + (part >> 1);
                KAFKALOG_LOOKED(KAFKALOG_NUMBER, part);
                odd |= (0 - (part & 1)) & (part ^ 1);
                part = (part >> 1) & ((part & 1) - 1);
                if ((ptrdiff_t)part > end - q) return 0;
                q += part;
            }
        }
        if (q != end) return 0;
        /* A marker has a key of version 0 and type 0 or 1, and a value of version 0. */
        word = (key ^ 4) | (value ^ 6) | (kafkalog_four(in + key_start) & 0xFEFFFFFFu) |
               (kafkalog_four(in + value_start) & 0xFFFF);
        odd |= (0 - is_control) & word;
        odd |= (int64_t)(delta >> 1) <= before;
        before = delta >> 1;
        int64_t later = (int64_t)(timestamp >> 1) ^ -(int64_t)(timestamp & 1);
        latest = later > latest ? later : latest;
        n += 1;
        p = end;
    }
    *newest = latest;
    return odd || before > highest || p != stop ? 0 : n;
}

#endif
