/* LZ4 frames and snappy blocks for records.py: only what their writers make. Anything else is refused, with -1, so that
 * the codec's own package decides what it is. With batches of 16 KiB this takes a quarter (LZ4) or a third (snappy) of
 * the time of a call of the package for each batch.
 *
 * Positions are indexes of `out`; bytes are written up to `room`, which is at most its size, and never beyond: copies of
 * whole words need KAFKALOG_SPARE bytes more than they keep. */
#ifndef KAFKALOG_FRAMES_H
#define KAFKALOG_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KAFKALOG_SPARE 32

static inline uint32_t kafkalog_little(const uint8_t *in, int bytes) {
    if (bytes == 4) return in[0] | (uint32_t)in[1] << 8 | (uint32_t)in[2] << 16 | (uint32_t)in[3] << 24;
    uint32_t value = 0;
    for (int k = 0; k < bytes; k++) value |= (uint32_t)in[k] << (8 * k);
    return value;
}

/* Copies `size` bytes from `in`, of which `left` may be read, to position `w`. The caller knows that both have them. */
static inline void kafkalog_literal(uint8_t *out, size_t w, size_t room, const uint8_t *in, size_t left, size_t size) {
    if (size <= 32 && room - w >= 32 && left >= 32) {
        memcpy(out + w, in, 16);
        memcpy(out + w + 16, in + 16, 16);
    } else {
        memcpy(out + w, in, size);
    }
}

/* Copies `size` bytes that begin `offset` before `w`, repeating them where they run into what is written: whole words,
   up to 31 bytes more. */
static inline void kafkalog_repeat(uint8_t *out, size_t w, size_t offset, size_t size) {
    uint8_t *to = out + w;
    const uint8_t *from = to - offset;
    if (offset >= 16) {
        memcpy(to, from, 16); /* one after the other: the second may copy what the first wrote */
        memcpy(to + 16, from + 16, 16);
        for (size_t i = 32; i < size; i += 32) {
            memcpy(to + i, from + i, 16);
            memcpy(to + i + 16, from + i + 16, 16);
        }
    } else if (offset >= 8) {
        for (size_t i = 0; i < size; i += 8) memcpy(to + i, from + i, 8);
    } else {
        for (int k = 0; k < 16; k++) to[k] = from[k];
        size_t step = offset * (8 / offset); /* the same bytes again, 5 to 8 back: of 8 written, so many are right */
        for (size_t i = 16; i < size; i += step) memcpy(to + i, to + i - 2 * step, 8);
    }
}

/* The same, near the end of the room byte by byte. */
static inline void kafkalog_repeat_within(uint8_t *out, size_t w, size_t room, size_t offset, size_t size) {
    if (room - w >= size + KAFKALOG_SPARE) kafkalog_repeat(out, w, offset, size);
    else
        for (size_t i = 0; i < size; i++) out[w + i] = out[w + i - offset];
}

/* What a tag of snappy says: 7 bits of the length, 0 for a literal that says it in other bytes; from bit 8 on how many
   bytes to go on; bit 16: it is a copy; from bit 20 on how many bytes its offset has, from bit 24 on that one's bits. */
#define KAFKALOG_WIDTH(t) (((t) & 3u) + (((t) & 3u) == 3u))
#define KAFKALOG_ELEMENT(t)                                                                                  \
    (((t) & 3u) == 0   ? (((t) >> 2) < 60u ? (((t) >> 2) + 1u) | (((t) >> 2) + 2u) << 8 : 0u)                \
     : ((t) & 3u) == 1 ? (4u + ((t) >> 2 & 7u)) | 2u << 8 | 1u << 16 | 1u << 20 | ((t) >> 5) << 24           \
                       : (1u + ((t) >> 2)) | (1u + KAFKALOG_WIDTH(t)) << 8 | 1u << 16 | KAFKALOG_WIDTH(t) << 20)
#define KAFKALOG_4(t) KAFKALOG_ELEMENT(t), KAFKALOG_ELEMENT(t + 1u), KAFKALOG_ELEMENT(t + 2u), KAFKALOG_ELEMENT(t + 3u)
#define KAFKALOG_16(t) KAFKALOG_4(t), KAFKALOG_4(t + 4u), KAFKALOG_4(t + 8u), KAFKALOG_4(t + 12u)
#define KAFKALOG_64(t) KAFKALOG_16(t), KAFKALOG_16(t + 16u), KAFKALOG_16(t + 32u), KAFKALOG_16(t + 48u)
static const uint32_t kafkalog_elements[256] = {KAFKALOG_64(0u), KAFKALOG_64(64u), KAFKALOG_64(128u), KAFKALOG_64(192u)};

/* A snappy block of `size` bytes, `left` of which and more may be read; answers where its content ends. */
static inline ptrdiff_t kafkalog_snappy(
    uint8_t *out, size_t w, size_t most, size_t room, const uint8_t *in, size_t size, size_t left
) {
    static const uint32_t masks[] = {0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF};
    size_t i = 0, begin = w, content = 0;
    for (int shift = 0;; shift += 7) {
        if (i == size || shift > 28) return -1;
        content |= (size_t)(in[i] & 127) << shift;
        if (in[i++] < 128) break;
    }
    if (content > most - w) return -1;
    size_t end = w + content;
    /* Far from all ends most elements need no other check. No branch can guess whether an element is a literal or a
       copy, so there is none: both copy whole words from somewhere. */
    size_t fast = size > 96 && left >= 96 ? size - 96 : 0;
    size_t slow = (end < room ? end : room) > 192 ? (end < room ? end : room) - 192 : 0;
    while (i < size) {
        while (i < fast && w < slow) {
            uint32_t element = kafkalog_elements[in[i]];
            size_t length = element & 127, is_copy = element >> 16 & 1;
            if (!length) break;
            size_t offset = (kafkalog_little(in + i + 1, 4) & masks[element >> 20 & 7]) | (element >> 16 & 0x700);
            if ((offset - 1 >= w - begin) & is_copy) return -1;
            uintptr_t literal = (uintptr_t)(in + i + 1), copy = (uintptr_t)(out + w - offset);
            const uint8_t *from = (const uint8_t *)(literal ^ ((literal ^ copy) & (0 - (uintptr_t)is_copy)));
            i += element >> 8 & 127;
            if (offset - 1 < 15) {
                kafkalog_repeat(out, w, offset, length);
            } else {
                memcpy(out + w, from, 16);
                memcpy(out + w + 16, from + 16, 16);
                if (length > 32) {
                    memcpy(out + w + 32, from + 32, 16);
                    memcpy(out + w + 48, from + 48, 16);
                }
            }
            w += length;
        }
        size_t tag = in[i++], length;
        if (!(tag & 3)) {
            length = tag >> 2;
            if (length >= 60) {
                size_t more = length - 59;
                if (more > size - i) return -1;
                length = kafkalog_little(in + i, (int)more);
                i += more;
            }
            length++;
            if (length > size - i || length > end - w) return -1;
            kafkalog_literal(out, w, room, in + i, left - i, length);
            i += length;
            w += length;
            if (i == size) break;
            if (!(in[i] & 3)) continue;
            tag = in[i++];
        }
        int is_near = (tag & 3) == 1;
        size_t more = (tag & 3) + (tag & tag >> 1 & 1), offset; /* 1, 2 or 4 bytes */
        if (more > size - i) return -1;
        offset = left - i >= 4 ? kafkalog_little(in + i, 4) & masks[more] : kafkalog_little(in + i, (int)more);
        offset |= is_near ? tag >> 5 << 8 : 0;
        length = is_near ? 4 + (tag >> 2 & 7) : 1 + (tag >> 2);
        i += more;
        if (offset - 1 >= w - begin || length > end - w) return -1;
        kafkalog_repeat_within(out, w, room, offset, length);
        w += length;
    }
    return w == end ? (ptrdiff_t)w : -1;
}

/* The snappy blocks of a batch: in xerial's framing, or one without it. */
static inline ptrdiff_t kafkalog_snappy_frame(
    uint8_t *out, size_t w, size_t most, size_t room, const uint8_t *in, size_t size, size_t left
) {
    if (size < 16 || memcmp(in, "\x82SNAPPY", 8)) return kafkalog_snappy(out, w, most, room, in, size, left);
    for (size_t i = 16; i < size;) {
        if (size - i < 4) return -1;
        size_t length = (size_t)in[i] << 24 | (size_t)in[i + 1] << 16 | (size_t)in[i + 2] << 8 | in[i + 3];
        i += 4;
        if (length > size - i) return -1;
        ptrdiff_t end = kafkalog_snappy(out, w, most, room, in + i, length, left - i);
        if (end < 0) return -1;
        w = (size_t)end;
        i += length;
    }
    return (ptrdiff_t)w;
}

/* An LZ4 block, whose matches begin at `begin` or after. As the format wants, and the reference decoder in part: the
   last five bytes are literals, and the last match begins twelve bytes before the end. */
static inline ptrdiff_t kafkalog_lz4_block(
    uint8_t *out, size_t begin, size_t w, size_t most, size_t room, const uint8_t *in, size_t size, size_t left
) {
    size_t i = 0, match = 0;
    int has_match = 0;
    /* Far from all ends a sequence with one byte of lengths needs no other check. */
    size_t fast = size > 32 && left >= 32 ? size - 32 : 0;
    size_t slow = (most < room ? most : room) > 128 ? (most < room ? most : room) - 128 : 0;
    for (;;) {
        if (i < fast && w < slow) {
            const uint8_t *from = in + i;
            uint8_t *to = out + w;
            size_t token = *from, last = 0;
            do {
                size_t length = token >> 4, offset;
                if (length == 15 || (token & 15) == 15) break;
                memcpy(to, from + 1, 16);
                to += length;
                offset = (size_t)from[length + 1] | (size_t)from[length + 2] << 8;
                from += length + 3;
                length = 4 + (token & 15);
                token = *from; /* the next one, as soon as it can be */
                if (offset - 1 >= (size_t)(to - out) - begin) return -1;
                last = (size_t)(to - out);
                if (offset >= 16) {
                    memcpy(to, to - offset, 16); /* one after the other: the second may copy what the first wrote */
                    memcpy(to + 16, to - offset + 16, 16);
                } else {
                    kafkalog_repeat(out, last, offset, length);
                }
                to += length;
            } while (from < in + fast && to < out + slow);
            i = (size_t)(from - in);
            w = (size_t)(to - out);
            if (last) match = last, has_match = 1;
        }
        if (i == size) return -1;
        uint8_t token = in[i++], byte;
        size_t length = token >> 4;
        if (length == 15) {
            do {
                if (i == size) return -1;
                byte = in[i++];
                length += byte;
            } while (byte == 255);
        }
        if (length > size - i || length > most - w) return -1;
        kafkalog_literal(out, w, room, in + i, left - i, length);
        i += length;
        w += length;
        if (i == size) return has_match && (length < 5 || w - match < 12) ? -1 : (ptrdiff_t)w;
        if (size - i < 2) return -1;
        size_t offset = (size_t)in[i] | (size_t)in[i + 1] << 8;
        i += 2;
        length = token & 15;
        if (length == 15) {
            do {
                if (i == size) return -1;
                byte = in[i++];
                length += byte;
            } while (byte == 255);
        }
        length += 4;
        if (offset - 1 >= w - begin || length > most - w) return -1;
        match = w;
        has_match = 1;
        kafkalog_repeat_within(out, w, room, offset, length);
        w += length;
    }
}

/* The xxHash-32, seed 0, of fewer than 16 bytes. */
static inline uint32_t kafkalog_short_sum(const uint8_t *in, size_t size) {
    uint32_t sum = 374761393u + (uint32_t)size;
    size_t i = 0;
    for (; size - i >= 4; i += 4) {
        sum += kafkalog_little(in + i, 4) * 3266489917u;
        sum = (sum << 17 | sum >> 15) * 668265263u;
    }
    for (; i < size; i++) {
        sum += in[i] * 374761393u;
        sum = (sum << 11 | sum >> 21) * 2654435761u;
    }
    sum = (sum ^ sum >> 15) * 2246822519u;
    sum = (sum ^ sum >> 13) * 3266489917u;
    return sum ^ sum >> 16;
}

/* One LZ4 frame that ends with the last byte: without a dictionary, and without sums but the header's. */
static inline ptrdiff_t kafkalog_lz4_frame(
    uint8_t *out, size_t w, size_t most, size_t room, const uint8_t *in, size_t size, size_t left
) {
    if (size < 11 || kafkalog_little(in, 4) != 0x184D2204u) return -1;
    if ((in[4] & ~0x20) != 0x40 || (in[5] & 0x8F) || in[5] < 0x40) return -1;
    if (in[6] != (kafkalog_short_sum(in + 4, 2) >> 8 & 0xFF)) return -1;
    size_t largest = (size_t)1 << (8 + 2 * (in[5] >> 4)), begin = w, i = 7;
    int is_linked = !(in[4] & 0x20);
    for (;;) {
        if (size - i < 4) return -1;
        uint32_t length = kafkalog_little(in + i, 4);
        i += 4;
        if (!length) return i == size ? (ptrdiff_t)w : -1;
        size_t stored = length >> 31, start = w, end = most - w > largest ? w + largest : most;
        length &= 0x7FFFFFFFu;
        if (!length || length > largest || length > size - i) return -1;
        if (stored) {
            if (length > end - w) return -1;
            memcpy(out + w, in + i, length);
            w += length;
        } else {
            ptrdiff_t next = kafkalog_lz4_block(
                out, is_linked ? begin : start, start, end, room, in + i, length, left - i);
            if (next < 0) return -1;
            w = (size_t)next;
        }
        i += length;
    }
}

#endif
