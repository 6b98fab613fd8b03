/* See wait.h. */
#include "binding/control/wait.h"

#include <stdlib.h>
#include <string.h>

/* A record that wakes is not written yet, and others may follow: one answer is for all of them. */
#define GATHER_MS 20u

#define MARK "\0\0\0\0WAIT"
#define MARK_BYTES 8u
#define MESSAGE_BYTES (MARK_BYTES + 8u)

static uint32_t number_at(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

bool fg_wait_begin(struct fg_client *client, uint64_t now_ms)
{
    if (client->size != MESSAGE_BYTES || memcmp(client->message, MARK, MARK_BYTES) != 0)
        return false;
    client->wait = (struct fg_wait){.is_on = true,
                                    .handle = (int)number_at(client->message + MARK_BYTES),
                                    .seen = number_at(client->message + MARK_BYTES + 4),
                                    .end_ms = now_ms + FG_WAIT_MS};
    return true;
}

bool fg_wait_check(struct fg_client *client, fg_wait_poll *poll, uint64_t now_ms)
{
    struct fg_wait *wait = &client->wait;
    enum fg_news news;

    if (wait->has_news)
        return false;
    news = poll ? poll(wait->handle, wait->seen) : FG_NEWS;
    if (news == FG_NEWS) {
        wait->has_news = true;
        if (wait->end_ms > now_ms + GATHER_MS)
            wait->end_ms = now_ms + GATHER_MS;
    }
    return news == FG_NEWS_SOON;
}

size_t fg_wait_end(struct fg_client *client, uint64_t now_ms, uint8_t **answer)
{
    static const char yes[] = "\x0f\0\0\0\x0b\0\0\0{\"ok\":true}",
                      no[] = "\x10\0\0\0\x0c\0\0\0{\"ok\":false}";
    bool has_news = client->wait.has_news;
    size_t bytes = (has_news ? sizeof(yes) : sizeof(no)) - 1;

    if (now_ms < client->wait.end_ms || !(*answer = malloc(bytes)))
        return 0;
    memcpy(*answer, has_news ? yes : no, bytes);
    client->wait = (struct fg_wait){0};
    return bytes;
}
