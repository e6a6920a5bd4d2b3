/* Runs of int64 cells to narrower numbers and bits for columns.py. */
#ifndef KAFKALOG_CELLS_H
#define KAFKALOG_CELLS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Whether all cells are `value`: some at a time without a branch. */
static inline int kafkalog_all_equal(const long long *in, size_t count, long long value) {
    size_t i = 0;
    for (; count - i >= 64; i += 64) {
        uint64_t other = 0;
        for (int k = 0; k < 64; k++) other |= (uint64_t)(in[i + (size_t)k] ^ value);
        if (other) return 0;
    }
    for (; i < count; i++)
        if (in[i] != value) return 0;
    return 1;
}

/* Whether any cell is too large for so many bytes. */
static inline int kafkalog_beyond(const long long *in, size_t count, int width) {
    uint64_t beyond = 0, half = (uint64_t)1 << (8 * width - 1);
    for (size_t i = 0; i < count; i++) beyond |= ((uint64_t)in[i] + half) >> (8 * width);
    return beyond != 0;
}

static inline void kafkalog_narrow(uint8_t *out, int width, const long long *in, size_t count) {
    if (width == 8) {
        memcpy(out, in, 8 * count);
    } else if (width == 4) {
        int32_t *to = (int32_t *)out;
        for (size_t i = 0; i < count; i++) to[i] = (int32_t)in[i];
    } else if (width == 2) {
        int16_t *to = (int16_t *)out;
        for (size_t i = 0; i < count; i++) to[i] = (int16_t)in[i];
    } else {
        for (size_t i = 0; i < count; i++) out[i] = (uint8_t)in[i];
    }
}

/* A bit for each cell, whether it is not 0, from bit number `bit` on; with `inverted` whether it is 0. */
static inline void kafkalog_bits(uint8_t *out, size_t bit, const long long *in, size_t count, int inverted) {
    size_t i = 0;
    for (; i < count && (bit + i) & 7; i++) {
        uint8_t mask = (uint8_t)(1u << ((bit + i) & 7));
        if ((in[i] != 0) != inverted) out[(bit + i) >> 3] |= mask;
        else out[(bit + i) >> 3] &= (uint8_t)~mask;
    }
    for (; count - i >= 8; i += 8) {
        unsigned byte = 0;
        for (int k = 0; k < 8; k++) byte |= (unsigned)((in[i + (size_t)k] != 0) != inverted) << k;
        out[(bit + i) >> 3] = (uint8_t)byte;
    }
    for (; i < count; i++) {
        uint8_t mask = (uint8_t)(1u << ((bit + i) & 7));
        if ((in[i] != 0) != inverted) out[(bit + i) >> 3] |= mask;
        else out[(bit + i) >> 3] &= (uint8_t)~mask;
    }
}

#endif
