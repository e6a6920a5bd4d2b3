/* Copies text for gathering.py. */
#ifndef KAFKALOG_GATHERING_H
#define KAFKALOG_GATHERING_H

#include "json_text.h"

/* Copies UTF-8 and answers 1; for other bytes 2. There are `left` bytes from `in` on, and room for `room`: where both
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
        return kafkalog_kind(in, size) == 3 ? 2 : 1;
    }
#endif
    if (kafkalog_kind(in, size) == 3) return 2;
    memcpy(out, in, size);
    return 1;
}

#endif
