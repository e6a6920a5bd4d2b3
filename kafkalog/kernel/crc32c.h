/* CRC-32C (Castagnoli) with the processor's own instruction where it has one, and the CRC-32 of magic 0 and 1.
 *
 * The instruction has a latency of three cycles and a throughput of one, so long inputs are read in three lanes whose
 * sums are then joined: shifting a sum over n zero bytes is linear, hence four table look-ups for a fixed n. Headers and
 * their sums take 8 times less with it than with tables in batches of 16 KiB, half in batches of 155 bytes. */
#ifndef KAFKALOG_CRC32C_H
#define KAFKALOG_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KAFKALOG_CASTAGNOLI 0x82F63B78u
#define KAFKALOG_IEEE 0xEDB88320u
#define KAFKALOG_LONG 2048u /* bytes of a lane: multiples of 8 */
#define KAFKALOG_SHORT 256u

/* Inlined, they take registers from the loop around them. */
#define KAFKALOG_APART __attribute__((noinline)) static

typedef struct {
    uint32_t at[8][256];
} kafkalog_table;

static kafkalog_table kafkalog_castagnoli, kafkalog_ieee;
static uint32_t kafkalog_over_long[4][256], kafkalog_over_short[4][256];
static int kafkalog_has_instruction, kafkalog_has_folding;

static void kafkalog_fill(kafkalog_table *table, uint32_t polynomial) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1) ? polynomial : 0);
        table->at[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int k = 1; k < 8; k++)
            table->at[k][byte] = (table->at[k - 1][byte] >> 8) ^ table->at[0][table->at[k - 1][byte] & 0xFF];
}

static uint32_t kafkalog_sliced(const kafkalog_table *table, uint32_t crc, const uint8_t *data, size_t length) {
    for (; length >= 8; data += 8, length -= 8) {
        crc ^= (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
        crc = table->at[7][crc & 0xFF] ^ table->at[6][(crc >> 8) & 0xFF] ^ table->at[5][(crc >> 16) & 0xFF] ^
              table->at[4][crc >> 24] ^ table->at[3][data[4]] ^ table->at[2][data[5]] ^ table->at[1][data[6]] ^
              table->at[0][data[7]];
    }
    for (; length; data++, length--) crc = (crc >> 8) ^ table->at[0][(crc ^ *data) & 0xFF];
    return crc;
}

static inline uint32_t kafkalog_shift(uint32_t over[4][256], uint32_t crc) {
    return over[0][crc & 0xFF] ^ over[1][(crc >> 8) & 0xFF] ^ over[2][(crc >> 16) & 0xFF] ^ over[3][crc >> 24];
}

/* The sum of a message followed by n zero bytes, n being any: multiplication by x^(8n) modulo the polynomial, with the
 * coefficient of x^0 in the highest bit. */
static uint32_t kafkalog_multiply(uint32_t a, uint32_t b, uint32_t polynomial) {
    uint32_t product = 0;
    for (; a; a <<= 1) {
        if (a & 0x80000000u) product ^= b;
        b = (b >> 1) ^ ((b & 1) ? polynomial : 0);
    }
    return product;
}

static uint32_t kafkalog_powers[64]; /* x^(8 * 2^k) */

static void kafkalog_fill_powers(void) {
    uint32_t power = 0x00800000u; /* x^8 */
    for (int k = 0; k < 64; k++) {
        kafkalog_powers[k] = power;
        power = kafkalog_multiply(power, power, KAFKALOG_CASTAGNOLI);
    }
}

static uint32_t kafkalog_shift_by(uint32_t crc, uint64_t n) {
    for (int k = 0; n; k++, n >>= 1)
        if (n & 1) crc = kafkalog_multiply(kafkalog_powers[k], crc, KAFKALOG_CASTAGNOLI);
    return crc;
}

/* Shifting is linear: what a byte gives is the sum of what its bits give. */
static void kafkalog_fill_shift(uint32_t over[4][256], uint32_t length) {
    for (int k = 0; k < 4; k++) {
        over[k][0] = 0;
        for (uint32_t byte = 1; byte < 256; byte++) {
            uint32_t rest = byte & (byte - 1); /* without its lowest bit */
            over[k][byte] = rest ? over[k][rest] ^ over[k][byte ^ rest] : kafkalog_shift_by(byte << (8 * k), length);
        }
    }
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <nmmintrin.h>
#include <wmmintrin.h>
#define KAFKALOG_FOLDING __attribute__((target("sse4.2,pclmul")))
#define KAFKALOG_DETECT_FOLDING() (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
#define KAFKALOG_TARGET __attribute__((target("sse4.2")))
#define KAFKALOG_WORD(crc, word) _mm_crc32_u64(crc, word)
#define KAFKALOG_BYTE(crc, byte) _mm_crc32_u8(crc, byte)
#define KAFKALOG_DETECT() __builtin_cpu_supports("sse4.2")
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define KAFKALOG_TARGET
#define KAFKALOG_WORD(crc, word) __crc32cd((uint32_t)(crc), word)
#define KAFKALOG_BYTE(crc, byte) __crc32cb((uint32_t)(crc), byte)
#define KAFKALOG_DETECT() 1
#endif

#ifdef KAFKALOG_TARGET
static inline uint64_t kafkalog_word(const uint8_t *data) {
    uint64_t word;
    memcpy(&word, data, 8);
    return word;
}

KAFKALOG_TARGET static const uint8_t *kafkalog_lanes(
    uint64_t *crc, const uint8_t *data, size_t lane, uint32_t over[4][256]) {
    uint64_t a = *crc, b = 0, c = 0;
    for (const uint8_t *end = data + lane; data < end; data += 8) {
        a = KAFKALOG_WORD(a, kafkalog_word(data));
        b = KAFKALOG_WORD(b, kafkalog_word(data + lane));
        c = KAFKALOG_WORD(c, kafkalog_word(data + 2 * lane));
    }
    a = kafkalog_shift(over, (uint32_t)a) ^ b;
    *crc = kafkalog_shift(over, (uint32_t)a) ^ c;
    return data + 2 * lane;
}

KAFKALOG_TARGET static uint32_t kafkalog_instruction(uint32_t start, const uint8_t *data, size_t length) {
    uint64_t crc = start;
    for (; length >= 3 * KAFKALOG_LONG; length -= 3 * KAFKALOG_LONG)
        data = kafkalog_lanes(&crc, data, KAFKALOG_LONG, kafkalog_over_long);
    for (; length >= 3 * KAFKALOG_SHORT; length -= 3 * KAFKALOG_SHORT)
        data = kafkalog_lanes(&crc, data, KAFKALOG_SHORT, kafkalog_over_short);
    for (; length >= 8; data += 8, length -= 8) crc = KAFKALOG_WORD(crc, kafkalog_word(data));
    for (; length; data++, length--) crc = KAFKALOG_BYTE((uint32_t)crc, *data);
    return (uint32_t)crc;
}
#endif

#ifdef KAFKALOG_FOLDING
#define KAFKALOG_LEAST 64u /* bytes that can be folded */

/* x1 moved on over the bytes between it and `more`, by products without carries; see "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction" (Intel, 2009), whose constants for this polynomial these are. */
KAFKALOG_FOLDING static inline __m128i kafkalog_fold(__m128i x1, __m128i over, __m128i more) {
    __m128i low = _mm_clmulepi64_si128(x1, over, 0x00);
    return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x1, over, 0x11), low), more);
}

KAFKALOG_FOLDING static inline __m128i kafkalog_load(const uint8_t *data) {
    return _mm_loadu_si128((const __m128i *)data);
}

/* `length` is a multiple of 16, at least KAFKALOG_LEAST. */
KAFKALOG_FOLDING static uint32_t kafkalog_folded(uint32_t crc, const uint8_t *data, size_t length) {
    const __m128i over_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i over_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    const __m128i over_8 = _mm_set_epi64x(0, 0x0163cd6124);
    const __m128i reduction = _mm_set_epi64x(0x01f7011641, 0x01db710641);
    const __m128i mask = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i a = _mm_xor_si128(kafkalog_load(data), _mm_cvtsi32_si128((int)crc)), b = kafkalog_load(data + 16);
    __m128i c = kafkalog_load(data + 32), d = kafkalog_load(data + 48), rest;
    for (data += 64, length -= 64; length >= 64; data += 64, length -= 64) {
        a = kafkalog_fold(a, over_64, kafkalog_load(data));
        b = kafkalog_fold(b, over_64, kafkalog_load(data + 16));
        c = kafkalog_fold(c, over_64, kafkalog_load(data + 32));
        d = kafkalog_fold(d, over_64, kafkalog_load(data + 48));
    }
    a = kafkalog_fold(kafkalog_fold(kafkalog_fold(a, over_16, b), over_16, c), over_16, d);
    for (; length >= 16; data += 16, length -= 16) a = kafkalog_fold(a, over_16, kafkalog_load(data));
    a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, over_16, 0x10));
    a = _mm_xor_si128(_mm_srli_si128(a, 4), _mm_clmulepi64_si128(_mm_and_si128(a, mask), over_8, 0x00));
    rest = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(a, mask), reduction, 0x10), mask);
    a = _mm_xor_si128(a, _mm_clmulepi64_si128(rest, reduction, 0x00));
    return (uint32_t)_mm_extract_epi32(a, 1);
}
#endif

static void kafkalog_prepare(void) {
    kafkalog_fill_powers();
    kafkalog_fill(&kafkalog_castagnoli, KAFKALOG_CASTAGNOLI);
    kafkalog_fill(&kafkalog_ieee, KAFKALOG_IEEE);
#ifdef KAFKALOG_FOLDING
    kafkalog_has_folding = KAFKALOG_DETECT_FOLDING();
#endif
#ifdef KAFKALOG_TARGET
    kafkalog_has_instruction = KAFKALOG_DETECT();
    if (kafkalog_has_instruction) {
        kafkalog_fill_shift(kafkalog_over_long, KAFKALOG_LONG);
        kafkalog_fill_shift(kafkalog_over_short, KAFKALOG_SHORT);
    }
#endif
}

KAFKALOG_APART uint32_t kafkalog_crc32c(uint32_t crc, const uint8_t *data, size_t length) {
#ifdef KAFKALOG_TARGET
    if (kafkalog_has_instruction) return ~kafkalog_instruction(~crc, data, length);
#endif
    return ~kafkalog_sliced(&kafkalog_castagnoli, ~crc, data, length);
}

KAFKALOG_APART uint32_t kafkalog_crc32(uint32_t crc, const uint8_t *data, size_t length) {
    crc = ~crc;
#ifdef KAFKALOG_FOLDING
    if (kafkalog_has_folding && length >= KAFKALOG_LEAST) {
        size_t even = length & ~(size_t)15;
        crc = kafkalog_folded(crc, data, even);
        data += even;
        length -= even;
    }
#endif
    return ~kafkalog_sliced(&kafkalog_ieee, crc, data, length);
}

#endif
