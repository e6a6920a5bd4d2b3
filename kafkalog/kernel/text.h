/* Digits, UTF-8, JSON, CSV and base64 for text.py, columns.py and messages.py.
 *
 * What it wins over plain loops, in the CPU of the loop around it, with batches of 16 KiB: kafkalog_kind 6 times,
 * kafkalog_copied 1.5, kafkalog_text 1.3, kafkalog_json 1.1 of a whole ndjson dump of records, kafkalog_digits 1.15 of
 * whole lines; the others are here because they share these. */
#ifndef KAFKALOG_TEXT_H
#define KAFKALOG_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Bytes that writers with a limit leave free at the end: they may write a whole word. */
#define KAFKALOG_SLACK 16

/* Writes at most 20 bytes. */
static inline size_t kafkalog_digits(uint8_t *out, int64_t value) {
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
        "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    uint8_t digits[40], *at = digits + 20;
    size_t sign = value < 0;
    uint64_t rest = sign ? 0 - (uint64_t)value : (uint64_t)value;
    if (rest < 10) {
        *out = '-';
        out[sign] = (uint8_t)('0' + rest);
        return 1 + sign;
    }
    for (; rest >= 100; rest /= 100) memcpy(at -= 2, pairs + 2 * (rest % 100), 2);
    if (rest >= 10) memcpy(at -= 2, pairs + 2 * rest, 2);
    else *--at = (uint8_t)('0' + rest);
    if (sign) *out++ = '-';
    memcpy(out, at, 19); /* a number of 64 bits has no more digits: a fixed size needs no call */
    return (size_t)(digits + 20 - at) + sign;
}

#define KAFKALOG_GOES_ON(byte) (((byte) & 0xC0) == 0x80)

/* The size of the UTF-8 character at `in`, or minus the number of bytes that Java replaces by one U+FFFD. */
static inline int kafkalog_character(const uint8_t *in, size_t left) {
    uint8_t a = in[0];
    if (a < 0x80) return 1;
    if (a < 0xC2 || a > 0xF4 || left < 2 || !KAFKALOG_GOES_ON(in[1])) return -1;
    if (a < 0xE0) return 2;
    if (a < 0xF0) {
        if (a == 0xE0 && in[1] < 0xA0) return -1;
        if (left < 3 || !KAFKALOG_GOES_ON(in[2])) return -2;
        return a == 0xED && in[1] >= 0xA0 ? -3 : 3;
    }
    if ((a == 0xF0 && in[1] < 0x90) || (a == 0xF4 && in[1] > 0x8F)) return -1;
    if (left < 3 || !KAFKALOG_GOES_ON(in[2])) return -2;
    return left < 4 || !KAFKALOG_GOES_ON(in[3]) ? -3 : 4;
}

/* Writes at most 3 * size bytes. */
static inline size_t kafkalog_text(uint8_t *out, const uint8_t *in, size_t size) {
    size_t i = 0, w = 0;
    while (i < size) {
        uint64_t word;
        while (size - i >= 8 && (memcpy(&word, in + i, 8), !(word & 0x8080808080808080u))) {
            memcpy(out + w, &word, 8);
            i += 8;
            w += 8;
        }
        if (i == size) break;
        int length = kafkalog_character(in + i, size - i);
        if (length > 0) {
            memcpy(out + w, in + i, (size_t)length);
            w += (size_t)length;
            i += (size_t)length;
        } else {
            memcpy(out + w, "\xEF\xBF\xBD", 3);
            w += 3;
            i += (size_t)-length;
        }
    }
    return w;
}

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

/* Copies bytes and says whether they are UTF-8. There are `left` bytes from `in` on, and room for `room`: where both
   go beyond `size`, whole words are moved. */
static inline int kafkalog_copied(uint8_t *out, size_t room, const uint8_t *in, size_t left, size_t size) {
    size_t i = 0;
#ifdef __SSE2__
    if (size <= left - 32 && size <= room - 32 && left >= 32 && room >= 32) {
        unsigned others = 0;
        for (; i + 32 <= size; i += 32) {
            __m128i a = _mm_loadu_si128((const __m128i *)(in + i)), b = _mm_loadu_si128((const __m128i *)(in + i + 16));
            _mm_storeu_si128((__m128i *)(out + i), a);
            _mm_storeu_si128((__m128i *)(out + i + 16), b);
            others |= (unsigned)_mm_movemask_epi8(_mm_or_si128(a, b));
        }
        __m128i a = _mm_loadu_si128((const __m128i *)(in + i)), b = _mm_loadu_si128((const __m128i *)(in + i + 16));
        _mm_storeu_si128((__m128i *)(out + i), a);
        _mm_storeu_si128((__m128i *)(out + i + 16), b);
        unsigned last = (unsigned)_mm_movemask_epi8(a) | (unsigned)_mm_movemask_epi8(b) << 16;
        others |= last & (unsigned)(((uint64_t)1 << (size - i)) - 1);
        if (!others) return 1;
        return kafkalog_kind(in, size) != 3;
    }
#endif
    if (kafkalog_kind(in, size) == 3) return 0;
    memcpy(out, in, size);
    return 1;
}

/* How a JSON string is written: in ASCII, as Python does; the same inside of a quoted field of a CSV; not in ASCII, as
   Python does; as Java does, which replaces bytes that are not UTF-8, where others escape them with backslashes. */
enum { KAFKALOG_ASCII, KAFKALOG_QUOTED, KAFKALOG_UNICODE, KAFKALOG_JAVA };

static inline size_t kafkalog_unit(uint8_t *out, unsigned unit, int how) {
    const char *hex = how == KAFKALOG_JAVA ? "0123456789ABCDEF" : "0123456789abcdef";
    out[0] = '\\';
    out[1] = 'u';
    for (int k = 0; k < 4; k++) out[2 + k] = (uint8_t)hex[unit >> (12 - 4 * k) & 15];
    return 6;
}

/* A character that JSON escapes: ASCII, or a byte that is not UTF-8, or what is not ASCII; writes 12 bytes at most. */
static inline size_t kafkalog_escaped(uint8_t *out, const uint8_t *in, int length, int how) {
    static const char hex[] = "0123456789abcdef";
    uint8_t c = in[0];
    if (length < 0) {
        if (how == KAFKALOG_JAVA) {
            memcpy(out, "\xEF\xBF\xBD", 3);
            return 3;
        }
        size_t w = 0;
        for (; length; length++, in++, w += 5) {
            memcpy(out + w, "\\\\x", 3);
            out[w + 3] = (uint8_t)hex[*in >> 4];
            out[w + 4] = (uint8_t)hex[*in & 15];
        }
        return w;
    }
    if (c < 0x80) {
        uint8_t letter = c == '"' || c == '\\' ? c : c == '\n' ? 'n' : c == '\r' ? 'r' : c == '\t' ? 't'
                         : c == '\b' ? 'b' : c == '\f' ? 'f' : 0;
        if (!letter) return kafkalog_unit(out, c, how);
        out[0] = '\\';
        out[1] = letter;
        out[2] = '"';
        return 2 + (how == KAFKALOG_QUOTED && c == '"');
    }
    uint32_t code = c & (0xFFu >> (length + 1));
    for (int k = 1; k < length; k++) code = code << 6 | (in[k] & 0x3F);
    if (code < 0x10000) return kafkalog_unit(out, code, how);
    code -= 0x10000;
    return kafkalog_unit(out, 0xD800 | code >> 10, how) + kafkalog_unit(out + 6, 0xDC00 | (code & 0x3FF), how);
}

/* Bytes as the inside of a JSON string. Stops where `room` is short, after a whole character; `done` is moved by what
   was read, a byte needs 6 at most. */
static inline size_t kafkalog_json(uint8_t *out, size_t room, const uint8_t *in, size_t size, int how, size_t *done) {
    size_t i = 0, w = 0;
    while (i < size && room - w >= KAFKALOG_SLACK) {
#ifdef __SSE2__
        for (unsigned odd = 0; !odd && size - i >= 16 && room - w >= 2 * KAFKALOG_SLACK;) { /* up to the first odd one */
            __m128i bytes = _mm_loadu_si128((const __m128i *)(in + i));
            _mm_storeu_si128((__m128i *)(out + w), bytes);
            odd = kafkalog_marks(bytes) | kafkalog_unprintable(bytes);
            size_t run = odd ? (size_t)__builtin_ctz(odd) : 16;
            i += run;
            w += run;
        }
        if (i == size) break;
#endif
        int length = kafkalog_character(in + i, size - i), is_unicode = how >= KAFKALOG_UNICODE;
        if (length > 0 && (kafkalog_is_plain(in[i]) || (is_unicode && in[i] >= 0x7F))) {
            for (int k = 0; k < length; k++) out[w++] = in[i++];
            continue;
        }
        w += kafkalog_escaped(out + w, in + i, length, how);
        i += (size_t)(length < 0 ? -length : length);
    }
    *done += i;
    return w;
}

/* Bytes as base64, whole groups of three while there is room, the last one padded, or of URLs without padding. */
static inline size_t kafkalog_base64(
    uint8_t *out, size_t room, const uint8_t *in, size_t size, int url, size_t *done
) {
    static const char both[2][65] = {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    };
    const char *digits = both[url != 0];
    size_t i = 0, w = 0;
    while (i < size && room - w >= KAFKALOG_SLACK) {
        size_t left = size - i;
        uint32_t group = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) | (left > 2 ? in[i + 2] : 0);
        out[w] = (uint8_t)digits[group >> 18];
        out[w + 1] = (uint8_t)digits[group >> 12 & 63];
        out[w + 2] = left > 1 ? (uint8_t)digits[group >> 6 & 63] : '=';
        out[w + 3] = left > 2 ? (uint8_t)digits[group & 63] : '=';
        w += url && left < 3 ? left + 1 : 4;
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
    for (size_t i = 0; i < size; i++)
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
    while (i < size && room - w >= KAFKALOG_SLACK) {
        out[w++] = in[i];
        if (in[i++] == '"') out[w++] = '"';
    }
    *done += i;
    return w;
}

#endif
