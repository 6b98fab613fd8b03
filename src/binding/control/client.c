/* See client.h. */
#include "binding/control/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define FIRST_ROOM 4096u

/* Return: as recv(); -1 with errno EAGAIN: nothing more is there. */
static ssize_t take(const struct fg_client *client, uint8_t *to, size_t bytes)
{
    ssize_t n;

    do {
        n = recv(client->own.fd, to, bytes, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n;
}

static bool learn_size(struct fg_client *client)
{
    const uint8_t *head = client->head;

    client->size = head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
    return client->size > 0 && client->size <= FG_FRAME_MAX;
}

static bool make_room(struct fg_client *client)
{
    size_t room = client->room ? 2 * client->room : FIRST_ROOM;
    uint8_t *message;

    if (client->received - FG_FRAME_HEAD < client->room)
        return true;
    if (room > client->size)
        room = client->size;
    message = realloc(client->message, room);
    if (!message)
        return false;
    client->message = message;
    client->room = room;
    return true;
}

enum fg_client_state fg_client_receive(struct fg_client *client)
{
    if (!fg_own_fd_is_open(&client->own))
        return FG_CLIENT_GONE;
    while (client->received < FG_FRAME_HEAD || client->received < FG_FRAME_HEAD + client->size) {
        uint8_t *to = client->head + client->received;
        size_t bytes = FG_FRAME_HEAD - client->received;
        ssize_t n;

        if (client->received >= FG_FRAME_HEAD) {
            if (!make_room(client))
                return FG_CLIENT_GONE;
            to = client->message + (client->received - FG_FRAME_HEAD);
            bytes = client->room - (client->received - FG_FRAME_HEAD);
        }
        n = take(client, to, bytes);
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? FG_CLIENT_WAITS : FG_CLIENT_GONE;
        if (n == 0)
            return FG_CLIENT_GONE;
        client->received += (uint32_t)n;
        if (client->received == FG_FRAME_HEAD && !learn_size(client))
            return FG_CLIENT_GONE;
    }
    return FG_CLIENT_READY;
}

enum fg_client_state fg_client_send(struct fg_client *client)
{
    if (!fg_own_fd_is_open(&client->own))
        return FG_CLIENT_GONE;
    while (client->sent < client->answer_bytes) {
        ssize_t n = send(client->own.fd, client->answer + client->sent, client->answer_bytes - client->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK ? FG_CLIENT_WAITS : FG_CLIENT_GONE;
        client->sent += (size_t)n;
    }
    free(client->answer);
    client->answer = NULL;
    client->answer_bytes = client->sent = 0;
    return FG_CLIENT_READY;
}

static void forget_message(struct fg_client *client)
{
    free(client->message);
    client->message = NULL;
    client->room = 0;
    client->received = client->size = 0;
}

void fg_client_answer(struct fg_client *client, uint8_t *answer, size_t bytes)
{
    forget_message(client);
    client->answer = answer;
    client->answer_bytes = bytes;
    client->sent = 0;
}

void fg_client_drop(struct fg_client *client)
{
    forget_message(client);
    free(client->answer);
    fg_own_fd_close(&client->own);
    *client = (struct fg_client){.own = FG_OWN_FD_NONE};
}
