/* See server.h. */
#define _GNU_SOURCE
#include "binding/control/server.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREAD_NAME "funcgraph"
/* What CPython's limits of recursion expect of a thread. Only what is used has memory. */
#define STACK_BYTES (8u << 20)
#define EVENTS 16
#define DEAF_MS 100 /* until it looks whether a descriptor is free again */
#define SOON_MS 5   /* until it asks again for news of a record that is perhaps being written */

/* What an event is about: a client's number, or one of these. */
#define ABOUT_LISTEN 0u
#define ABOUT_WAKE UINT32_MAX

static int watch(const struct fg_server *server, int operation, int fd, uint32_t about, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u32 = about};

    return epoll_ctl(server->epoll.fd, operation, fd, &event) == 0 ? 0 : -errno;
}

/* ---- clients */

static struct fg_client *client_of(struct fg_server *server, uint32_t number)
{
    for (uint32_t i = 0; i < FG_SERVER_CLIENTS; i++) {
        if (server->clients[i].number == number)
            return &server->clients[i];
    }
    return NULL;
}

static void drop(struct fg_server *server, struct fg_client *client)
{
    uint32_t number = client->number;
    bool is_known = client->is_known;
    uint8_t *answer = NULL;

    server->nr_waits -= client->wait.is_on;
    fg_client_drop(client);
    if (is_known && server->answer_request(server->context, number, NULL, 0, &answer))
        free(answer);
}

/* The client that has been silent for longest, of those that never asked; NULL: all have. */
static struct fg_client *most_silent(struct fg_server *server)
{
    struct fg_client *found = NULL;

    for (uint32_t i = 0; i < FG_SERVER_CLIENTS; i++) {
        struct fg_client *client = &server->clients[i];

        if (!client->is_known && (!found || client->activity < found->activity))
            found = client;
    }
    return found;
}

/* NULL: there is none. A client that only connects keeps no other one out. */
static struct fg_client *place_for_client(struct fg_server *server)
{
    struct fg_client *client = client_of(server, 0);

    if (client)
        return client;
    client = most_silent(server);
    if (client)
        drop(server, client);
    return client;
}

/* Only the user that the process runs as, and root. */
static bool may_connect(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

static void admit(struct fg_server *server, int fd)
{
    struct fg_client *client = may_connect(fd) ? place_for_client(server) : NULL;

    if (!client) {
        close(fd);
        return;
    }
    *client = (struct fg_client){.own = fg_own_fd(fd), .activity = ++server->events};
    do {
        client->number = ++server->next_number;
    } while (client->number == ABOUT_LISTEN || client->number == ABOUT_WAKE);
    if (watch(server, EPOLL_CTL_ADD, client->own.fd, client->number, EPOLLIN) != 0)
        fg_client_drop(client);
}

/* Without a free descriptor the next client stays in the queue, and the socket stays readable. */
static void set_deaf(struct fg_server *server, bool is_deaf)
{
    server->is_deaf = is_deaf;
    (void)watch(server, EPOLL_CTL_MOD, server->place.socket.fd, ABOUT_LISTEN, is_deaf ? 0 : EPOLLIN);
}

static void accept_one(struct fg_server *server)
{
    int fd = accept4(server->place.socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0)
        admit(server, fd);
    else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
        set_deaf(server, true);
}

/* ---- requests */

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static enum fg_client_state answer(struct fg_server *server, struct fg_client *client)
{
    uint8_t *frame = NULL;
    size_t bytes;

    if (fg_wait_begin(client, now_ms())) {
        server->nr_waits++;
        server->has_news = true; /* perhaps it came before */
        return FG_CLIENT_WAITS;
    }
    client->is_known = true;
    bytes = server->answer_request(server->context, client->number, client->message, client->size, &frame);
    if (!bytes)
        return FG_CLIENT_GONE;
    fg_client_answer(client, frame, bytes);
    return fg_client_send(client);
}

/* Watches for what the client is to do next, or drops it. */
static void go_on_with(struct fg_server *server, struct fg_client *client, bool was_sending,
                       enum fg_client_state state)
{
    if (state != FG_CLIENT_GONE && was_sending != (client->answer != NULL) &&
        watch(server, EPOLL_CTL_MOD, client->own.fd, client->number, client->answer ? EPOLLOUT : EPOLLIN) !=
            0)
        state = FG_CLIENT_GONE;
    if (state == FG_CLIENT_GONE)
        drop(server, client);
}

static void serve_client(struct fg_server *server, struct fg_client *client)
{
    bool was_sending = client->answer != NULL;
    enum fg_client_state state;

    client->activity = ++server->events;
    if (client->wait.is_on) {
        drop(server, client); /* it has closed the connection, or says something out of turn */
        return;
    }
    state = was_sending ? fg_client_send(client) : fg_client_receive(client);
    if (!was_sending && state == FG_CLIENT_READY)
        state = answer(server, client);
    go_on_with(server, client, was_sending, state);
}

/* ---- clients that wait for records */

/* Return: when the next one is to be looked at, in ms from now; -1: none is. */
static int serve_waits(struct fg_server *server)
{
    uint64_t now = server->nr_waits ? now_ms() : 0, next = UINT64_MAX;
    bool looks = server->has_news, polls_soon = false;

    server->has_news = false;
    for (uint32_t i = 0; server->nr_waits && i < FG_SERVER_CLIENTS; i++) {
        struct fg_client *client = &server->clients[i];
        uint8_t *frame;
        size_t bytes;

        if (!client->wait.is_on)
            continue;
        if (looks)
            polls_soon |= fg_wait_check(client, server->news, now);
        bytes = fg_wait_end(client, now, &frame);
        if (bytes) {
            server->nr_waits--;
            fg_client_answer(client, frame, bytes);
            go_on_with(server, client, false, fg_client_send(client));
        } else if (client->wait.end_ms < next) {
            next = client->wait.end_ms;
        }
    }
    server->has_news = polls_soon;
    if (polls_soon && next > now + SOON_MS)
        next = now + SOON_MS;
    return next == UINT64_MAX ? -1 : next > now ? (int)(next - now) : 1;
}

static void deal_with(struct fg_server *server, const struct epoll_event *event)
{
    struct fg_client *client;
    char byte;

    if (event->data.u32 == ABOUT_WAKE) {
        (void)!read(server->wakes.fd, &byte, 1);
        server->has_news = true;
    } else if (event->data.u32 == ABOUT_LISTEN) {
        accept_one(server);
    } else {
        client = client_of(server, event->data.u32);
        if (client)
            serve_client(server, client);
    }
}

/* ---- the thread */

enum { FATE_OPEN, FATE_ENDED, FATE_LEFT };

static bool is_halted(const struct fg_server *server)
{
    /* acquire: pairs with fg_server_halt() */
    return atomic_load_explicit(&server->is_halted, memory_order_acquire);
}

static void *run(void *arg)
{
    struct fg_server *server = arg;
    struct epoll_event events[EVENTS];
    int wait_ms;

    if (server->thread_begun)
        server->thread_begun();
    (void)pthread_setname_np(pthread_self(), THREAD_NAME);
    atomic_store(&server->tid, (int)syscall(SYS_gettid));
    while (!is_halted(server)) {
        int n;

        wait_ms = serve_waits(server);
        if (server->is_deaf && (wait_ms < 0 || wait_ms > DEAF_MS))
            wait_ms = DEAF_MS;
        n = epoll_wait(server->epoll.fd, events, EVENTS, wait_ms);
        if (n < 0 && errno != EINTR)
            break; /* the program has closed our descriptors */
        if (server->is_deaf)
            set_deaf(server, false);
        for (int i = 0; i < n && !is_halted(server); i++)
            deal_with(server, &events[i]);
    }
    /* The later one of the thread and fg_server_leave() frees it. */
    if (atomic_exchange(&server->fate, FATE_ENDED) == FATE_LEFT)
        fg_server_free(server);
    return NULL;
}

int fg_server_open(struct fg_server *server)
{
    int ends[2] = {-1, -1}, error;

    server->epoll = fg_own_fd(epoll_create1(EPOLL_CLOEXEC));
    if (server->epoll.fd < 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        error = -errno;
        fg_own_fd_close(&server->epoll);
        return error;
    }
    server->wakes = fg_own_fd(ends[0]);
    server->wake = fg_own_fd(ends[1]);
    error = watch(server, EPOLL_CTL_ADD, server->wakes.fd, ABOUT_WAKE, EPOLLIN);
    if (!error)
        error = watch(server, EPOLL_CTL_ADD, server->place.socket.fd, ABOUT_LISTEN, EPOLLIN);
    return error;
}

int fg_server_run(struct fg_server *server)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error;

    atomic_store(&server->is_halted, false);
    atomic_store(&server->tid, 0);
    atomic_store(&server->fate, FATE_OPEN);
    server->has_news = true; /* nobody was notified of news while there was no thread */
    error = pthread_attr_init(&attributes);
    if (error)
        return -error;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&server->thread, &attributes, run, server);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    server->has_thread = !error;
    return -error;
}

void fg_server_halt(struct fg_server *server)
{
    /* release: pairs with is_halted() */
    atomic_store_explicit(&server->is_halted, true, memory_order_release);
    fg_server_wake(server);
}

void fg_server_wake(const struct fg_server *server)
{
    if (fg_own_fd_is_open(&server->wake))
        (void)!write(server->wake.fd, "", 1);
}

void fg_server_go_on(struct fg_server *server)
{
    atomic_store_explicit(&server->is_halted, false, memory_order_release);
}

/* A thread that was joined may still be counted by the kernel, and by whoever asks it, for a moment. */
static void wait_for_kernel(int tid)
{
    while (tid > 0 && syscall(SYS_tgkill, getpid(), tid, 0) == 0)
        sched_yield();
}

bool fg_server_join(struct fg_server *server, unsigned timeout_ms)
{
    struct timespec end;

    if (!server->has_thread)
        return true;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    if (pthread_timedjoin_np(server->thread, NULL, &end) != 0)
        return false;
    server->has_thread = false;
    wait_for_kernel(atomic_load(&server->tid));
    return true;
}

void fg_server_leave(struct fg_server *server)
{
    if (server->has_thread)
        pthread_detach(server->thread);
    if (!server->has_thread || atomic_exchange(&server->fate, FATE_LEFT) == FATE_ENDED)
        fg_server_free(server);
}

void fg_server_forget(struct fg_server *server)
{
    for (uint32_t i = 0; i < FG_SERVER_CLIENTS; i++) {
        if (server->clients[i].number)
            fg_own_fd_close(&server->clients[i].own);
    }
    fg_own_fd_close(&server->epoll);
    fg_own_fd_close(&server->wakes);
    fg_own_fd_close(&server->wake);
    fg_place_close(&server->place);
    server->has_thread = false;
}

void fg_server_free(struct fg_server *server)
{
    for (uint32_t i = 0; i < FG_SERVER_CLIENTS; i++) {
        if (server->clients[i].number)
            fg_client_drop(&server->clients[i]);
    }
    fg_server_forget(server);
    if (server->release)
        server->release(server->context);
    free(server);
}
