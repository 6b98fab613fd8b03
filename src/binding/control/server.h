/* The native thread that answers at a control socket: it waits in epoll_wait(2), without a timer unless a
 * client waits for records, and knows nothing of Python. */
#ifndef FG_CONTROL_SERVER_H
#define FG_CONTROL_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binding/control/client.h"
#include "binding/control/place.h"
#include "binding/control/wait.h"

#define FG_SERVER_CLIENTS 64u

/**
 * typedef fg_server_request - Deal with one request.
 * @context: fg_server.context
 * @client: the client's number
 * @message: the request; NULL: the client has gone
 * @answer: gets a frame from malloc()
 *
 * Return: the bytes of the frame; 0: none: drop the client.
 * Context: the server's thread; one request at a time.
 */
typedef size_t fg_server_request(void *context, uint32_t client, const uint8_t *message, size_t bytes,
                                 uint8_t **answer);

/* From calloc(). */
struct fg_server {
    struct fg_place place;
    fg_server_request *answer_request;
    fg_wait_poll *news;             /* NULL: there always is some */
    void (*thread_begun)(void);     /* called first in the thread; NULL: nothing */
    void (*release)(void *context); /* called when the server is freed, by any thread; NULL: nothing */
    void *context;
    struct fg_own_fd epoll, wakes, wake; /* wake: the writing end of the pipe that wakes the thread */
    bool is_deaf;                        /* no descriptor is left for the next client */
    bool has_news;                       /* perhaps: the clients that wait are to be looked at */
    uint32_t next_number, nr_waits;
    uint64_t events;
    struct fg_client clients[FG_SERVER_CLIENTS];
    pthread_t thread;
    bool has_thread;
    _Atomic int tid;
    _Atomic bool is_halted; /* the thread is to end */
    _Atomic int fate;       /* who frees it: server.c */
};

/**
 * fg_server_open() - Make the descriptors that @server needs besides its place, which is open.
 * Return: 0, or a negative errno.
 */
int fg_server_open(struct fg_server *server);

/* Starts the thread. Return: 0, or a negative errno. */
int fg_server_run(struct fg_server *server);

/* Asks the thread to end after the request that it deals with, if any. */
void fg_server_halt(struct fg_server *server);

/* Has the thread look for news of those that wait. Safe in a handler of a signal. */
void fg_server_wake(const struct fg_server *server);

/* Takes fg_server_halt() back, if the thread is still in the middle of a request. */
void fg_server_go_on(struct fg_server *server);

/**
 * fg_server_join() - Wait until the thread has ended, after fg_server_halt().
 * @timeout_ms: for how long at most
 *
 * Return: false: it has not, it is in the middle of a request.
 * Context: without the GIL, which the request may need.
 */
bool fg_server_join(struct fg_server *server, unsigned timeout_ms);

/**
 * fg_server_leave() - Give up @server, after fg_server_halt(): it ends, is closed and freed.
 *
 * If its thread is in the middle of a request, or is the caller, it does this itself afterwards.
 */
void fg_server_leave(struct fg_server *server);

/* Closes all descriptors, and frees nothing: in a fork's child, which has no such thread. */
void fg_server_forget(struct fg_server *server);

/* Closes and frees it, without touching files; there is no thread. */
void fg_server_free(struct fg_server *server);

#endif
