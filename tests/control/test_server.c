/* The server without Python: many clients at once, whole and broken requests, halts in the middle of it. Run
 * under the sanitizers. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "binding/control/server.h"
#include "support/check.h"

#define CLIENTS 4
#define ROUNDS 300

static atomic_uint requests, gone, released;

/* Answers with the request. One that begins with a 0 is refused. */
static size_t echo(void *context, uint32_t client, const uint8_t *message, size_t bytes, uint8_t **answer)
{
    CHECK(context == (void *)&requests);
    CHECK(client > 0);
    atomic_fetch_add(message ? &requests : &gone, 1);
    if (!message || message[0] == 0)
        return 0;
    *answer = malloc(FG_FRAME_HEAD + bytes);
    for (unsigned i = 0; i < FG_FRAME_HEAD; i++)
        (*answer)[i] = (uint8_t)(bytes >> 8 * i);
    memcpy(*answer + FG_FRAME_HEAD, message, bytes);
    return FG_FRAME_HEAD + bytes;
}

static atomic_uint news_count, news_requested;

/* An instance 1 has news when the count is no longer what the client saw; one that is unknown has some. */
static enum fg_news news(int handle, uint32_t seen)
{
    atomic_fetch_add(&news_requested, 1);
    return handle != 1 || atomic_load(&news_count) != seen ? FG_NEWS : FG_NO_NEWS;
}

static void release(void *context)
{
    CHECK(context == (void *)&requests);
    atomic_fetch_add(&released, 1);
}

static struct fg_server *open_server(const char *base)
{
    struct fg_server *server = calloc(1, sizeof(*server));
    const char *const folders[] = {"/nowhere", base, NULL};
    char why[512];

    server->answer_request = echo;
    server->news = news;
    server->release = release;
    server->context = &requests;
    CHECK_EQ(fg_place_open(&server->place, folders, why, sizeof(why)), 0);
    CHECK(strstr(why, "/nowhere") != NULL);
    CHECK_EQ(fg_server_open(server), 0);
    return server;
}

static int connect_to(const struct fg_server *server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    CHECK(snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", server->place.folder,
                   server->place.name) < (int)sizeof(address.sun_path));
    CHECK_EQ(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* Return: false: the other side has closed the connection. */
static bool put(int fd, const void *data, size_t bytes)
{
    return send(fd, data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
}

static bool get(int fd, void *data, size_t bytes)
{
    return bytes == 0 || recv(fd, data, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

/* Sends a message of so many bytes in two parts, and reads the answer. */
static bool exchange(int fd, uint32_t bytes, uint8_t first, uint32_t cut)
{
    uint8_t *frame = calloc(1, FG_FRAME_HEAD + bytes), *answer = calloc(1, FG_FRAME_HEAD + bytes);
    bool is_answered;

    for (unsigned i = 0; i < FG_FRAME_HEAD; i++)
        frame[i] = (uint8_t)(bytes >> 8 * i);
    frame[FG_FRAME_HEAD] = first;
    is_answered = put(fd, frame, cut) && put(fd, frame + cut, FG_FRAME_HEAD + bytes - cut) &&
                  get(fd, answer, FG_FRAME_HEAD + bytes);
    if (is_answered)
        CHECK(memcmp(frame, answer, FG_FRAME_HEAD + bytes) == 0);
    free(frame);
    free(answer);
    return is_answered;
}

static void *talk(void *arg)
{
    const struct fg_server *server = arg;
    unsigned seed = (unsigned)(uintptr_t)&seed;

    for (int round = 0; round < ROUNDS; round++) {
        int fd = connect_to(server);
        uint32_t bytes = 1 + (uint32_t)rand_r(&seed) % (round % 50 ? 100 : 100000);

        switch (rand_r(&seed) % 4) {
        case 0: /* half a frame */
            CHECK(put(fd, "\7\0\0\0abc", 3 + (size_t)rand_r(&seed) % 4));
            break;
        case 1: /* too long */
            CHECK(put(fd, "\xff\xff\xff\xff", 4));
            break;
        case 2: /* refused */
            CHECK(!exchange(fd, bytes, 0, 2));
            break;
        default:
            CHECK(exchange(fd, bytes, 1, (uint32_t)rand_r(&seed) % 5));
            CHECK(exchange(fd, 1, 1, 5));
        }
        close(fd);
    }
    return NULL;
}

static void test_clients_at_once_are_answered_and_forgotten(struct fg_server *server)
{
    pthread_t threads[CLIENTS];
    int fd;

    CHECK_EQ(fg_server_run(server), 0);
    for (int i = 0; i < CLIENTS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, talk, server), 0);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    fd = connect_to(server);
    CHECK(exchange(fd, FG_FRAME_MAX, 1, 1));
    CHECK(!exchange(fd, 1, 0, 1));
    close(fd);
    fg_server_halt(server);
    CHECK(fg_server_join(server, 10000));
    CHECK(atomic_load(&requests) > CLIENTS);
}

static void test_connections_outlive_a_halt(struct fg_server *server)
{
    int fd;

    CHECK_EQ(fg_server_run(server), 0);
    fd = connect_to(server);
    for (int i = 0; i < 50; i++) {
        CHECK(exchange(fd, 10, 1, 4));
        fg_server_halt(server);
        CHECK(fg_server_join(server, 10000));
        CHECK_EQ(fg_server_run(server), 0);
    }
    CHECK(exchange(fd, 10, 1, 4));
    close(fd);
}

static void test_who_leaves_it_need_not_wait(struct fg_server *server)
{
    char folder[PATH_MAX];
    struct stat facts;

    snprintf(folder, sizeof(folder), "%s", server->place.folder);
    fg_place_remove(&server->place);
    CHECK(stat(folder, &facts) != 0);
    fg_server_halt(server);
    fg_server_leave(server);
    while (atomic_load(&released) == 0)
        usleep(100);
}

/* ---- clients that wait for records */

static void begin_wait(int fd, uint8_t handle, uint8_t seen)
{
    const uint8_t frame[] = {16, 0, 0, 0, 0, 0, 0, 0, 'W', 'A', 'I', 'T', handle, 0, 0, 0, seen, 0, 0, 0};

    CHECK(put(fd, frame, sizeof(frame)));
}

static bool end_wait(int fd)
{
    char text[64] = "";
    uint8_t head[FG_FRAME_HEAD];

    CHECK(get(fd, head, sizeof(head)));
    CHECK(get(fd, text, head[0]));
    CHECK_EQ(text[0], head[0] - 4);
    CHECK(strcmp(text + 4, "{\"ok\":true}") == 0 || strcmp(text + 4, "{\"ok\":false}") == 0);
    return strcmp(text + 4, "{\"ok\":true}") == 0;
}

static void *wake_all(void *arg)
{
    usleep(1000);
    atomic_fetch_add(&news_count, 1);
    fg_server_wake(arg);
    return NULL;
}

static void test_waiting_clients_are_told_of_news(struct fg_server *server)
{
    int fds[CLIENTS], unknown = connect_to(server);
    unsigned before = atomic_load(&requests);
    pthread_t teller;

    begin_wait(unknown, 2, 0);
    CHECK(end_wait(unknown));
    for (int i = 0; i < CLIENTS; i++)
        fds[i] = connect_to(server);
    for (uint8_t round = 0; round < 20; round++) {
        for (int i = 0; i < CLIENTS; i++)
            begin_wait(fds[i], 1, round);
        CHECK_EQ(pthread_create(&teller, NULL, wake_all, server), 0);
        for (int i = 0; i < CLIENTS; i++)
            CHECK(end_wait(fds[i]));
        pthread_join(teller, NULL);
    }
    begin_wait(unknown, 1, 20);
    CHECK(!end_wait(unknown)); /* nothing came, for a while */
    CHECK_EQ(atomic_load(&requests), before);
    CHECK(exchange(fds[0], 1, 1, 5)); /* the connection is one like others */
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    close(unknown);
}

/* The first wait is that of a client that dies. The second goes on over a halt, in which the news came. */
static void test_waits_end_with_their_clients_and_outlive_a_halt(struct fg_server *server)
{
    int dying = connect_to(server), waiting = connect_to(server);
    unsigned before;

    atomic_store(&news_count, 0);
    begin_wait(dying, 1, 0);
    close(dying);
    before = atomic_load(&news_requested);
    begin_wait(waiting, 1, 0);
    while (atomic_load(&news_requested) == before)
        usleep(100);
    fg_server_halt(server);
    CHECK(fg_server_join(server, 10000));
    atomic_store(&news_count, 1);
    CHECK_EQ(fg_server_run(server), 0);
    CHECK(end_wait(waiting));
    close(waiting);
}

int main(void)
{
    char base[] = "/tmp/fg-control-XXXXXX";
    struct fg_server *server;

    CHECK(mkdtemp(base) != NULL);
    server = open_server(base);
    test_clients_at_once_are_answered_and_forgotten(server);
    test_connections_outlive_a_halt(server);
    test_waiting_clients_are_told_of_news(server);
    test_waits_end_with_their_clients_and_outlive_a_halt(server);
    test_who_leaves_it_need_not_wait(server);
    CHECK_EQ(rmdir(base), 0);
    return 0;
}
