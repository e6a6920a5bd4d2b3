/* Whether records are ordinary, for records.py: well-formed, with numbers of at most four bytes, and in order. All
 * others are left to it. Over 16 KiB batches this takes 1.4 times less than looking at each record as it does.
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
            return 0;                                                                                   \
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
