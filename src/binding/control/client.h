/* One client of a control socket: it sends a frame, gets one, and so on.
 *
 * A frame is its length, a little-endian 32-bit number, and so many bytes. While an answer is on its way
 * nothing more is read: a client can make the process keep one request or one answer, no more. */
#ifndef FG_CONTROL_CLIENT_H
#define FG_CONTROL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binding/control/own_fd.h"

#define FG_FRAME_HEAD 4u
#define FG_FRAME_MAX ((1u << 20) + (1u << 16)) /* control/wire.py has it too */

/* wait.h */
struct fg_wait {
    bool is_on, has_news;
    int handle;
    uint32_t seen;
    uint64_t end_ms;
};

struct fg_client {
    struct fg_own_fd own;
    uint32_t number;   /* never given twice in a process; 0: the place in the table is free */
    bool is_known;     /* the handler knows it */
    uint64_t activity; /* when it last sent something: a count of events */
    uint8_t head[FG_FRAME_HEAD];
    uint32_t received; /* bytes of the frame, head included */
    uint32_t size;     /* of the message; known when the head is */
    uint8_t *message;  /* grows as bytes come, not as the head claims */
    size_t room;
    uint8_t *answer; /* a frame; NULL: none is on its way */
    size_t answer_bytes, sent;
    struct fg_wait wait;
};

enum fg_client_state {
    FG_CLIENT_GONE,  /* closed, broken, or talking nonsense: to be dropped */
    FG_CLIENT_WAITS, /* for more bytes, or for room */
    FG_CLIENT_READY, /* a whole message is there; an answer is sent */
};

/* Reads what is there, to the end of one message at most. */
enum fg_client_state fg_client_receive(struct fg_client *client);

/* Sends what the socket takes of the answer. */
enum fg_client_state fg_client_send(struct fg_client *client);

/* The message has been dealt with. @answer: a frame from malloc(), which is the client's from now on. */
void fg_client_answer(struct fg_client *client, uint8_t *answer, size_t bytes);

/* Closes the connection, frees all; the place in the table is free. */
void fg_client_drop(struct fg_client *client);

#endif
