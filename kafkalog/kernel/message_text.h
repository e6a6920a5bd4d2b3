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

/* The content of a JSON string as Python's encoder writes it, in ASCII or not, once bytes that are not UTF-8 are escaped
   with backslashes; writes at most 6 * size bytes. */
static size_t kafkalog_row_text(uint8_t *out, const uint8_t *in, size_t size, int ascii) {
    static const char digits[] = "0123456789abcdef";
    size_t i = 0, w = 0;
    while (i < size) {
        uint8_t a = in[i];
        if (a >= 0x20 && a < 0x7F && a != '"' && a != '\\') {
            out[w++] = a;
            i++;
            continue;
        }
        if (a < 0x80) {
            uint8_t letter = a == '"' || a == '\\' ? a : a == '\n' ? 'n' : a == '\r' ? 'r' : a == '\t' ? 't'
                             : a == '\b' ? 'b' : a == '\f' ? 'f' : 0;
            i++;
            if (a == 0x7F && !ascii) {
                out[w++] = a;
            } else if (letter) {
                out[w++] = '\\';
                out[w++] = letter;
            } else {
                memcpy(out + w, "\\u00", 4);
                out[w + 4] = (uint8_t)digits[a >> 4];
                out[w + 5] = (uint8_t)digits[a & 15];
                w += 6;
            }
            continue;
        }
        int length = kafkalog_character(in + i, size - i);
        if (length < 0) {
            for (; length; length++, i++) {
                memcpy(out + w, "\\\\x", 3);
                out[w + 3] = (uint8_t)digits[in[i] >> 4];
                out[w + 4] = (uint8_t)digits[in[i] & 15];
                w += 5;
            }
        } else if (!ascii) {
            memcpy(out + w, in + i, (size_t)length);
            w += (size_t)length;
            i += (size_t)length;
        } else {
            uint32_t code = a & (0xFFu >> (length + 1));
            for (int k = 1; k < length; k++) code = code << 6 | (in[i + (size_t)k] & 0x3F);
            uint32_t units[2] = {code, 0};
            int count = 1;
            if (code >= 0x10000) {
                units[0] = 0xD800 | (code - 0x10000) >> 10;
                units[1] = 0xDC00 | ((code - 0x10000) & 0x3FF);
                count = 2;
            }
            for (int k = 0; k < count; k++, w += 6) {
                out[w] = '\\';
                out[w + 1] = 'u';
                for (int d = 0; d < 4; d++) out[w + 2 + (size_t)d] = (uint8_t)digits[units[k] >> (12 - 4 * d) & 15];
            }
            i += (size_t)length;
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
