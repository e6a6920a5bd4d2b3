/* Strings and bytes as JSON for message_text.py. */
#ifndef KAFKALOG_MESSAGE_TEXT_H
#define KAFKALOG_MESSAGE_TEXT_H

#include "lines.h"

/* The content of a JSON string, decoded as Java does; writes at most 6 * size bytes. */
static size_t kafkalog_json_text(uint8_t *out, const uint8_t *in, size_t size) {
    static const char digits[] = "0123456789ABCDEF";
    size_t i = 0, w = 0;
    while (i < size) {
        uint8_t a = in[i];
        if (a >= 0x80) {
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
            continue;
        }
        i++;
        if (a >= 0x20 && a != '"' && a != '\\') {
            out[w++] = a;
            continue;
        }
        out[w++] = '\\';
        switch (a) {
        case '"': case '\\': out[w++] = a; break;
        case '\n': out[w++] = 'n'; break;
        case '\r': out[w++] = 'r'; break;
        case '\t': out[w++] = 't'; break;
        case '\f': out[w++] = 'f'; break;
        case '\b': out[w++] = 'b'; break;
        default:
            memcpy(out + w, "u00", 3);
            out[w + 3] = (uint8_t)digits[a >> 4];
            out[w + 4] = (uint8_t)digits[a & 15];
            w += 5;
        }
    }
    return w;
}

/* Base64, of URLs without padding or the usual one with it; writes at most 4 * ((size + 2) / 3) bytes. */
static size_t kafkalog_base64(uint8_t *out, const uint8_t *in, size_t size, int url) {
    static const char both[2][65] = {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    };
    const char *letters = both[url != 0];
    size_t i = 0, w = 0;
    for (; i + 3 <= size; i += 3, w += 4) {
        uint32_t v = (uint32_t)in[i] << 16 | (uint32_t)in[i + 1] << 8 | in[i + 2];
        out[w] = (uint8_t)letters[v >> 18];
        out[w + 1] = (uint8_t)letters[v >> 12 & 63];
        out[w + 2] = (uint8_t)letters[v >> 6 & 63];
        out[w + 3] = (uint8_t)letters[v & 63];
    }
    if (i < size) {
        uint32_t v = (uint32_t)in[i] << 16 | (i + 1 < size ? (uint32_t)in[i + 1] << 8 : 0);
        out[w++] = (uint8_t)letters[v >> 18];
        out[w++] = (uint8_t)letters[v >> 12 & 63];
        if (i + 1 < size) out[w++] = (uint8_t)letters[v >> 6 & 63];
        else if (!url) out[w++] = '=';
        if (!url) out[w++] = '=';
    }
    return w;
}

#endif
