/* The texts of an image or of entry data: what fields refer to, as engine/ring/field.h says. */
#ifndef FG_FETCH_TEXTS_H
#define FG_FETCH_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where they go: after the fields. */
struct fg_fetch_texts {
    uint8_t *base;        /* of the image or the entry data; offsets count from here */
    uint32_t used, limit; /* bytes from `base` */
};

/* @later: bytes that later elements need. */
static inline uint32_t fg_texts_room(const struct fg_fetch_texts *texts, uint32_t later)
{
    return texts->limit - texts->used - later;
}

/* The field at @at refers to the @bytes that were put at the end of the texts. */
static inline void fg_texts_refer(struct fg_fetch_texts *texts, uint8_t *at, uint32_t bytes)
{
    uint32_t word = texts->used | bytes << 16;

    memcpy(at, &word, sizeof(word));
    texts->used += bytes;
}

/* The greatest number of bytes, at most @n, that ends with a whole character of UTF-8. */
static inline uint32_t fg_texts_whole_characters(const uint8_t *text, uint32_t n)
{
    while (n && (text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* Stores a NUL after @n bytes that lie at the end of the texts. If they are only the beginning, their last
 * characters become dots. */
void fg_texts_end_string(struct fg_fetch_texts *texts, uint8_t *at, uint32_t n, bool is_cut);
/* Stores @n bytes as a text, or as many as there is room for. */
void fg_texts_put_bytes(struct fg_fetch_texts *texts, uint8_t *at, uint32_t later, const void *from,
                        size_t n);
/* Stores the text of a fault. */
void fg_texts_put_fault(struct fg_fetch_texts *texts, uint8_t *at, uint32_t later);

/* Stores the low bytes of a word. The image is little-endian, as the machine. */
static inline void fg_put_low(uint8_t *at, uint64_t word, uint32_t bytes)
{
    switch (bytes) {
    case 1:
        *at = (uint8_t)word;
        break;
    case 2:
        memcpy(at, &word, 2);
        break;
    case 4:
        memcpy(at, &word, 4);
        break;
    default:
        memcpy(at, &word, 8);
    }
}

#endif
