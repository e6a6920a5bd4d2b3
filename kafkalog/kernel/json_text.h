/* Bytes as JSON, CSV and base64 for columns.py and row_lines.py. */
#ifndef KAFKALOG_JSON_TEXT_H
#define KAFKALOG_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "lines.h"

/* Room that every writer here leaves at the end: it may write a whole word where less is needed. */
#define KAFKALOG_SLACK 16

static inline int kafkalog_is_plain(uint8_t c) { return (uint8_t)(c - 0x20) <= 0x5E && c != '"' && c != '\\'; }

#ifdef __SSE2__
/* A bit for each of 16 bytes that JSON escapes as a letter: quotes and backslashes. */
static inline unsigned kafkalog_marks(__m128i bytes) {
    return (unsigned)_mm_movemask_epi8(
        _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')))
    );
}

/* A bit for each of 16 bytes that is not printable ASCII; as signed numbers, bytes from 0x80 on are below 0x20, too. */
static inline unsigned kafkalog_unprintable(__m128i bytes) {
    return (unsigned)_mm_movemask_epi8(
        _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7F)))
    );
}
#endif

/* 1: ASCII that JSON writes as it is; 2: other UTF-8; 3: not UTF-8. */
static inline int kafkalog_kind(const uint8_t *in, size_t size) {
    size_t i = 0;
#ifdef __SSE2__
    /* All of it without a branch: texts with quotes have many. The last bytes are looked at twice rather than alone. */
    unsigned others = 0, high = 0;
    __m128i bytes;
    if (size >= 16) {
        for (; i + 16 <= size; i += 16) {
            bytes = _mm_loadu_si128((const __m128i *)(in + i));
            others |= kafkalog_marks(bytes) | kafkalog_unprintable(bytes);
            high |= (unsigned)_mm_movemask_epi8(bytes);
        }
        bytes = _mm_loadu_si128((const __m128i *)(in + size - 16));
    } else if (size >= 8) {
        bytes = _mm_unpacklo_epi64(
            _mm_loadl_epi64((const __m128i *)in), _mm_loadl_epi64((const __m128i *)(in + size - 8))
        );
    } else if (size >= 4) {
        uint32_t first, last;
        memcpy(&first, in, 4);
        memcpy(&last, in + size - 4, 4);
        bytes = _mm_set1_epi64x((long long)((uint64_t)last << 32 | first));
    } else {
        if (!size) return 1;
        bytes = _mm_set1_epi32((int)(0x61000000u | in[0] | (unsigned)in[size / 2] << 8 | (unsigned)in[size - 1] << 16));
    }
    others |= kafkalog_marks(bytes) | kafkalog_unprintable(bytes);
    high |= (unsigned)_mm_movemask_epi8(bytes);
    if (!others) return 1;
    if (!high) return 2;
    i = 0;
#else
    while (i < size && kafkalog_is_plain(in[i])) i++;
    if (i == size) return 1;
#endif
    while (i < size) {
        uint64_t word;
        while (size - i >= 8 && (memcpy(&word, in + i, 8), !(word & 0x8080808080808080u))) i += 8;
        if (i == size) break;
        int length = kafkalog_character(in + i, size - i);
        if (length < 0) return 3;
        i += (size_t)length;
    }
    return 2;
}

static inline size_t kafkalog_unit(uint8_t *out, unsigned unit) {
    static const char hex[] = "0123456789abcdef";
    out[0] = '\\';
    out[1] = 'u';
    for (int k = 0; k < 4; k++) out[2 + k] = (uint8_t)hex[unit >> (12 - 4 * k) & 15];
    return 6;
}

/* UTF-8 as the inside of a JSON string in ASCII; with `doubled`, quotes are doubled, too, as in a CSV field. Stops
   where `room` is short, after a whole character; `done` is moved by what was read, a byte needs 6 at most. */
static inline size_t kafkalog_json(
    uint8_t *out, size_t room, const uint8_t *in, size_t size, int doubled, size_t *done
) {
    size_t i = 0, w = 0;
    while (i < size && room - w >= 2 * KAFKALOG_SLACK) {
#ifdef __SSE2__
        while (size - i >= 16 && room - w >= 4 * KAFKALOG_SLACK) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(in + i));
            unsigned marks = kafkalog_marks(bytes), unprintable = kafkalog_unprintable(bytes);
            if (unprintable || (marks && doubled)) { /* up to the first */
                _mm_storeu_si128((__m128i *)(out + w), bytes);
                size_t run = (size_t)__builtin_ctz(marks | unprintable);
                i += run;
                w += run;
                break;
            }
            if (marks) {
                for (int k = 0; k < 16; k++) { /* without a branch: texts with quotes have many */
                    out[w] = '\\';
                    w += marks >> k & 1;
                    out[w++] = in[i + (size_t)k];
                }
            } else {
                _mm_storeu_si128((__m128i *)(out + w), bytes);
                w += 16;
            }
            i += 16;
        }
        if (i == size || room - w < KAFKALOG_SLACK) break;
#endif
        if (kafkalog_is_plain(in[i])) {
            out[w++] = in[i++];
            continue;
        }
        uint8_t c = in[i];
        if (c < 0x80) {
            uint8_t letter = c == '"' || c == '\\' ? c : c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't'
                             : c == '\b' ? 'b' : c == '\f' ? 'f' : 0;
            if (letter) {
                out[w++] = '\\';
                out[w++] = letter;
                if (doubled && c == '"') out[w++] = '"';
            } else {
                w += kafkalog_unit(out + w, c);
            }
            i++;
            continue;
        }
        int length = kafkalog_character(in + i, size - i);
        if (length < 0) { /* the caller has looked: it is UTF-8 */
            i += (size_t)-length;
            continue;
        }
        uint32_t code = c & (0xFFu >> (length + 1));
        for (int k = 1; k < length; k++) code = code << 6 | (in[i + (size_t)k] & 0x3F);
        if (code >= 0x10000) {
            code -= 0x10000;
            w += kafkalog_unit(out + w, 0xD800 | code >> 10);
            code = 0xDC00 | (code & 0x3FF);
        }
        w += kafkalog_unit(out + w, code);
        i += (size_t)length;
    }
    *done += i;
    return w;
}

/* Bytes as base64, whole groups of three while there is room, the last one padded. */
static inline size_t kafkalog_base64(uint8_t *out, size_t room, const uint8_t *in, size_t size, size_t *done) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i = 0, w = 0;
    while (i < size && room - w >= KAFKALOG_SLACK) {
        size_t left = size - i;
        uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
        out[w] = (uint8_t)digits[group >> 18];
        out[w + 1] = (uint8_t)digits[group >> 12 & 63];
        out[w + 2] = left > 1 ? (uint8_t)digits[group >> 6 & 63] : '=';
        out[w + 3] = left > 2 ? (uint8_t)digits[group & 63] : '=';
        w += 4;
        i += left > 3 ? 3 : left;
    }
    *done += i;
    return w;
}

/* Whether the UTF-8 character that ends or begins here is blank, as Python's str.strip() has it. */
static inline int kafkalog_blank(const uint8_t *c, size_t size) {
    if (size == 1) return (*c >= 9 && *c <= 13) || (*c >= 0x1C && *c <= 0x20);
    if (size == 2) return c[0] == 0xC2 && (c[1] == 0x85 || c[1] == 0xA0);
    if (size != 3) return 0;
    uint32_t code = (uint32_t)(c[0] & 15) << 12 | (uint32_t)(c[1] & 63) << 6 | (c[2] & 63);
    return code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F
           || code == 0x205F || code == 0x3000;
}

/* Whether a CSV field of this UTF-8 stands in quotes: it is empty, has a comma, quote or line end, or blank ends. */
static inline int kafkalog_csv_quoted(const uint8_t *in, size_t size) {
    if (!size) return 1;
    size_t i = 0;
    for (; i + 16 <= size; i += 16) {
        uint8_t found = 0;
        for (int k = 0; k < 16; k++) {
            uint8_t c = in[i + (size_t)k];
            found |= (uint8_t)(c == ',') | (uint8_t)(c == '"') | (uint8_t)(c == '\r') | (uint8_t)(c == '\n');
        }
        if (found) return 1;
    }
    for (; i < size; i++)
        if (in[i] == ',' || in[i] == '"' || in[i] == '\r' || in[i] == '\n') return 1;
    int first = kafkalog_character(in, size);
    if (first > 0 && kafkalog_blank(in, (size_t)first)) return 1;
    size_t last = size - 1;
    while (last && size - last < 4 && KAFKALOG_GOES_ON(in[last])) last--;
    return kafkalog_blank(in + last, size - last);
}

/* The inside of a quoted CSV field: quotes are doubled. */
static inline size_t kafkalog_csv(uint8_t *out, size_t room, const uint8_t *in, size_t size, size_t *done) {
    size_t i = 0, w = 0;
    while (i < size && room - w >= 3 * KAFKALOG_SLACK) {
#ifdef __SSE2__
        if (size - i >= 16) {
            __m128i bytes = _mm_loadu_si128((const __m128i *)(in + i));
            unsigned quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
            if (quotes) {
                for (int k = 0; k < 16; k++) {
                    out[w] = '"';
                    w += quotes >> k & 1;
                    out[w++] = in[i + (size_t)k];
                }
            } else {
                _mm_storeu_si128((__m128i *)(out + w), bytes);
                w += 16;
            }
            i += 16;
            continue;
        }
#endif
        out[w++] = in[i];
        if (in[i++] == '"') out[w++] = '"';
    }
    *done += i;
    return w;
}

#endif
