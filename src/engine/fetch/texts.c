/* See texts.h. */
#include "engine/fetch/texts.h"

static const char cut_mark[] = "...";

void fg_texts_end_string(struct fg_fetch_texts *texts, uint8_t *at, uint32_t n, bool is_cut)
{
    uint8_t *text = texts->base + texts->used;

    if (is_cut) {
        text[n] = 0;
        n = fg_texts_whole_characters(text, n - (uint32_t)strlen(cut_mark));
        memcpy(text + n, cut_mark, strlen(cut_mark));
        n += (uint32_t)strlen(cut_mark);
    }
    text[n] = 0;
    fg_texts_refer(texts, at, n + 1);
}

void fg_texts_put_bytes(struct fg_fetch_texts *texts, uint8_t *at, uint32_t later, const void *from, size_t n)
{
    uint32_t most = fg_texts_room(texts, later) - 1; /* without the NUL */
    bool is_cut = n > most;

    memcpy(texts->base + texts->used, from, is_cut ? most : n);
    fg_texts_end_string(texts, at, is_cut ? fg_texts_whole_characters(from, most) : (uint32_t)n, is_cut);
}

void fg_texts_put_fault(struct fg_fetch_texts *texts, uint8_t *at, uint32_t later)
{
    static const char fault[] = "(fault)";

    fg_texts_put_bytes(texts, at, later, fault, sizeof(fault) - 1);
}
