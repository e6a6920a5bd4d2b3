/* Digits and text for lines.py. */
#ifndef KAFKALOG_LINES_H
#define KAFKALOG_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

#endif
