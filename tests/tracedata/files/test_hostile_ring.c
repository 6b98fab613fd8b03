/* Promise: the owner of a ring may do anything to its file while the recorder reads it. The recorder goes on,
 * each of its loops ends, and the other rings are complete. The owner truncates and grows the file, and
 * changes every word of it. For the sanitizers (make asan). */
#undef NDEBUG
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/reader/ring_access.h"
#include "support/file_hooks.h"
#include "support/ring_bytes.h"
#include "support/seed.h"
#include "tracedata/recorder/dump.h"
#include "tracedata/recorder/recorder.h"
#include "tracedata/recorder/recorder_counts.h"
#include "tracedata/recorder/rotation.h"

#define TRUNCATIONS (getenv("FUNCGRAPH_NIGHTLY") ? 20000u : 400u)
#define WRITES (getenv("FUNCGRAPH_NIGHTLY") ? UINT64_C(35000000) : UINT64_C(1000000))

static char folder[] = "/tmp/fg-hostile-XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[4][64];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

/* ---- a recorder with two rings, of which the first one's owner is hostile */

enum { HOSTILE, SOUND, NR_RINGS };

struct desk {
    struct fg_recorder recorder;
    struct test_ring rings[NR_RINGS];
};

static void begin(struct desk *desk)
{
    test_ring_restart();
    unlink(path_of("trace"));
    assert(fg_recorder_open(&desk->recorder, path_of("trace"), FG_TRACE_CLOCK_MONO, false) == 0);
    for (uint32_t i = 0; i < NR_RINGS; i++) {
        test_ring_begin(&desk->rings[i], 100 + i);
        for (uint32_t id = 0; id < 3; id++)
            test_ring_function(&desk->rings[i], id);
        assert(fg_recorder_add_ring(&desk->recorder, desk->rings[i].fd, desk->rings[i].name, false) ==
               (int)i);
    }
}

static void end(struct desk *desk)
{
    fg_recorder_close(&desk->recorder);
    for (int i = 0; i < NR_RINGS; i++)
        test_ring_end(&desk->rings[i]);
}

/* The sound ring has all of its records, and the hostile one none but its own, from @first on. */
static void has_all_of_the_sound_ring(struct desk *desk, uint32_t first)
{
    struct test_found found = {0};

    assert(fg_recorder_finish(&desk->recorder, SOUND) == 0);
    assert(fg_recorder_complete(&desk->recorder) == 0);
    test_find_path(path_of("trace"), &found);
    assert(found.is_complete && found.nr_rings == NR_RINGS);
    for (uint32_t i = first; i < test_ring_count(); i++)
        assert(found.records[i] == 1);
}

/* ---- truncation */

static void test_a_truncated_ring_is_given_up_with_what_was_drained_before(void)
{
    const uint64_t sizes[] = {0, 1, FG_RING_HEADER_BYTES, 2 * FG_RING_HEADER_BYTES, 4 * FG_RING_HEADER_BYTES};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct desk desk;
        struct fg_recorder_info info;
        int64_t drained;

        begin(&desk);
        test_ring_put(&desk.rings[HOSTILE], 1, 3, FG_SUBBUF_FULL);
        assert(fg_recorder_drain(&desk.recorder, HOSTILE) == 3);
        test_ring_put(&desk.rings[HOSTILE], 1, 2, FG_SUBBUF_FULL);
        test_ring_put(&desk.rings[SOUND], 1, 4, FG_SUBBUF_FULL);
        assert(ftruncate(desk.rings[HOSTILE].fd, (off_t)sizes[i]) == 0);
        drained = fg_recorder_drain(&desk.recorder, HOSTILE);
        assert(drained == -EBADMSG);
        assert(strcmp(fg_recorder_damage(&desk.recorder, HOSTILE), FG_RING_TRUNCATED) == 0);
        assert(fg_recorder_drain(&desk.recorder, HOSTILE) == -ESRCH);
        assert(fg_recorder_info(&desk.recorder, HOSTILE, &info) == 0);
        assert(info.counts.records == 3 && info.counts.damaged == 1 && info.pid == 100);
        has_all_of_the_sound_ring(&desk, 5);
        end(&desk);
    }
}

/* The mapping is replaced by zeros in the middle of whatever the recorder does. */
static void test_a_ring_that_has_grown_again_is_given_up(void)
{
    struct desk desk;
    uint64_t bytes;

    begin(&desk);
    bytes = desk.rings[HOSTILE].bytes;
    test_ring_put(&desk.rings[HOSTILE], 1, 3, FG_SUBBUF_FULL);
    assert(ftruncate(desk.rings[HOSTILE].fd, 0) == 0 && ftruncate(desk.rings[HOSTILE].fd, (off_t)bytes) == 0);
    assert(fg_recorder_finish(&desk.recorder, HOSTILE) == -EBADMSG);
    assert(strcmp(fg_recorder_damage(&desk.recorder, HOSTILE), FG_RING_TRUNCATED) == 0);
    has_all_of_the_sound_ring(&desk, 3);
    end(&desk);
}

struct owner {
    struct test_ring *ring;
    pthread_t thread;
    _Atomic uint32_t nr_done;
    _Atomic bool stops;
};

static void *truncate_and_grow(void *arg)
{
    struct owner *owner = arg;
    int fd = owner->ring->fd;
    uint64_t bytes = owner->ring->bytes, state = fg_test_seed();

    while (!atomic_load(&owner->stops)) {
        /* One time in four all pages stay: the recorder gets further. */
        uint64_t to = fg_test_random(&state) % 4 ? fg_test_random(&state) % bytes : bytes;

        assert(ftruncate(fd, (off_t)to) == 0 && ftruncate(fd, (off_t)bytes) == 0);
        atomic_fetch_add(&owner->nr_done, 1);
    }
    return NULL;
}

/* All that a recorder asks of a ring, in the order that a scan has. Return: whether it is still mapped. */
static bool use(struct desk *desk, uint32_t round)
{
    struct fg_recorder_counts totals;
    struct fg_recorder_info info;
    struct fg_dumped dumped;
    int64_t drained = fg_recorder_drain(&desk->recorder, HOSTILE);

    assert(drained >= 0 || drained == -EBADMSG || drained == -ESRCH);
    assert(fg_recorder_drain(&desk->recorder, SOUND) >= 0);
    assert(fg_recorder_info(&desk->recorder, HOSTILE, &info) == 0);
    assert(strlen(info.killed) < sizeof(info.killed) && strlen(info.instance) < FG_INSTANCE_NAME_BYTES);
    if (round % 16 == 0)
        assert(fg_recorder_totals(&desk->recorder, &totals) == 0 &&
               fg_recorder_refresh(&desk->recorder) == 0);
    if (round % 64 == 1)
        assert(fg_recorder_dump(&desk->recorder, NULL, 0, "{}", 2, path_of("dump"), &dumped) == 0);
    fg_recorder_stop_writer(&desk->recorder, HOSTILE);
    return desk->recorder.rings[HOSTILE].reader != NULL;
}

static void test_a_ring_may_be_truncated_at_every_moment(void)
{
    uint32_t nr_given_up = 0, nr_truncations = 0;

    /* Which moments are hit is the scheduler's choice: on some machines the first rounds hit none. */
    while (nr_truncations < TRUNCATIONS || !nr_given_up) {
        struct owner owner = {0};
        struct desk desk;
        uint32_t uses = 0;
        int finished;

        begin(&desk);
        for (int i = 0; i < 5; i++)
            test_ring_put(&desk.rings[HOSTILE], 1, 7, FG_SUBBUF_FULL);
        for (int i = 0; i < 5; i++)
            test_ring_put(&desk.rings[SOUND], 1, 7, FG_SUBBUF_FULL);
        owner.ring = &desk.rings[HOSTILE];
        assert(pthread_create(&owner.thread, NULL, truncate_and_grow, &owner) == 0);
        while (use(&desk, uses) && uses < 200)
            uses++;
        finished = fg_recorder_finish(&desk.recorder, HOSTILE);
        assert(finished == 0 || finished == -EBADMSG || finished == -ESRCH);
        atomic_store(&owner.stops, true);
        assert(pthread_join(owner.thread, NULL) == 0);
        nr_given_up += fg_recorder_damage(&desk.recorder, HOSTILE) != NULL;
        nr_truncations += atomic_load(&owner.nr_done) + 1;
        has_all_of_the_sound_ring(&desk, 35);
        end(&desk);
    }
}

/* ---- every word */

/* Words that lead to more of the reader than random ones do. */
static uint64_t hostile_word(uint64_t *state)
{
    switch (fg_test_random(state) % 8) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return fg_test_random(state) % (2 * TEST_SUBBUFS);
    case 3:
        return fg_test_random(state) % 8192;
    case 4:
        return 1u << fg_test_random(state) % 32;
    case 5:
        return (uint64_t)1 << fg_test_random(state) % 64;
    case 6:
        return 24 | (fg_test_random(state) % 6) << 32;
    default:
        return fg_test_random(state);
    }
}

struct places {
    uint64_t offset, bytes;
};

static void *change_words(void *arg)
{
    struct owner *owner = arg;
    uint64_t state = fg_test_seed(), count = WRITES;
    uint8_t *map = mmap(NULL, owner->ring->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, owner->ring->fd, 0);
    struct fg_ring_header *layout = malloc(sizeof(*layout));

    assert(map != MAP_FAILED && layout);
    memcpy(layout, owner->ring->header, sizeof(*layout));
    for (uint64_t i = 0; i < count; i++) {
        /* Without the first words the ring is given up. */
        const struct places places[] = {
            {16, sizeof(*layout) - 16},
            {layout->queue_offset, (size_t)2 * TEST_SUBBUFS * sizeof(uint32_t)},
            {layout->symbols_offset, 4096},
            {layout->data_offset + fg_test_random(&state) % TEST_SUBBUFS * layout->subbuf_bytes, 512},
        };
        const struct places *place = &places[fg_test_random(&state) % 4];
        uint64_t word = hostile_word(&state);

        memcpy(map + place->offset + fg_test_random(&state) % (place->bytes / 8) * 8, &word,
               fg_test_random(&state) % 2 ? sizeof(word) : sizeof(uint32_t));
    }
    munmap(map, owner->ring->bytes);
    free(layout);
    atomic_store(&owner->stops, true);
    return NULL;
}

/* The file that the recorder goes on with has the old one's name. */
static void rotate(struct desk *desk)
{
    struct fg_recorder_counts counts;

    unlink(path_of("next"));
    assert(fg_recorder_rotate(&desk->recorder, path_of("next"), &counts) == 0);
    assert(rename(path_of("next"), path_of("trace")) == 0);
}

static void test_every_word_may_change_while_the_recorder_drains(void)
{
    struct owner owner = {0};
    struct desk desk;
    uint32_t uses = 0;
    uint64_t end_at_first;

    begin(&desk);
    end_at_first = desk.recorder.spool.end;
    for (int i = 0; i < 5; i++)
        test_ring_put(&desk.rings[HOSTILE], 1, 7, FG_SUBBUF_FULL);
    owner.ring = &desk.rings[HOSTILE];
    assert(pthread_create(&owner.thread, NULL, change_words, &owner) == 0);
    while (!atomic_load(&owner.stops)) {
        use(&desk, uses++);
        if (desk.recorder.spool.end > 8u << 20) /* it takes whatever is queued, without end */
            rotate(&desk);
    }
    assert(pthread_join(owner.thread, NULL) == 0);
    assert(desk.recorder.rings[HOSTILE].reader != NULL && desk.recorder.spool.end > end_at_first);
    assert(fg_recorder_finish(&desk.recorder, HOSTILE) == 0);
    assert(fg_recorder_finish(&desk.recorder, SOUND) == 0);
    assert(fg_recorder_complete(&desk.recorder) == 0);
    end(&desk);
}

/* ---- few descriptors: all of a ring is mapped */

#define FEW 64

static void with_few_descriptors(void (*test)(void))
{
    struct rlimit before, few;
    int taken[FEW / 2], nr_taken = 0;

    assert(getrlimit(RLIMIT_NOFILE, &before) == 0);
    few = (struct rlimit){FEW, before.rlim_max};
    assert(setrlimit(RLIMIT_NOFILE, &few) == 0);
    do
        taken[nr_taken] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (taken[nr_taken++] < FEW / 2);
    test();
    while (nr_taken-- > 0)
        close(taken[nr_taken]);
    assert(setrlimit(RLIMIT_NOFILE, &before) == 0);
}

/* ---- bounds */

static _Atomic uint64_t nr_reads;

static void count_read(int fd)
{
    (void)fd;
    atomic_fetch_add(&nr_reads, 1);
}

/* A ring's file with a header that claims @nr_subbufs of 4 KiB, and @symbol_bytes of symbols. */
static int sparse_ring(uint64_t nr_subbufs, uint64_t symbol_bytes)
{
    struct fg_ring_header header = {
        .magic = FG_RING_MAGIC,
        .header_bytes = FG_RING_HEADER_BYTES,
        .pid = 100,
        .queue_offset = FG_RING_HEADER_BYTES,
        .subbuf_bytes = FG_RING_PAGE_BYTES,
        .nr_subbufs = (uint32_t)nr_subbufs,
        .symbols_capacity = symbol_bytes,
        .symbols_committed = symbol_bytes,
    };
    int fd = memfd_create("ring", MFD_CLOEXEC);

    header.symbols_offset = fg_ring_page_round(FG_RING_HEADER_BYTES + 8 * nr_subbufs);
    header.data_offset = fg_ring_page_round(header.symbols_offset + symbol_bytes);
    header.file_bytes = header.data_offset + nr_subbufs * FG_RING_PAGE_BYTES;
    assert(fd >= 0 && ftruncate(fd, (off_t)header.file_bytes) == 0);
    assert(pwrite(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header));
    return fd;
}

static struct fg_recorder recorder_of(uint64_t most_bytes)
{
    struct fg_recorder recorder;

    unlink(path_of("trace"));
    assert(fg_recorder_open(&recorder, path_of("trace"), FG_TRACE_CLOCK_MONO, false) == 0);
    fg_recorder_set_ring_bytes(&recorder, most_bytes);
    return recorder;
}

static void test_a_ring_larger_than_agreed_is_damaged(void)
{
    struct fg_recorder recorder = recorder_of(64 * FG_RING_PAGE_BYTES);
    int larger = sparse_ring(65, 4096), agreed = sparse_ring(64, 4096);

    assert(fg_recorder_add_ring(&recorder, larger, "", false) == -EINVAL);
    assert(fg_recorder_add_ring(&recorder, agreed, "", false) == 0);
    fg_recorder_close(&recorder);
    close(larger);
    close(agreed);
}

/* Where nothing was agreed, a recorder looks only at sub-buffers that have memory. */
static void test_sub_buffers_without_memory_cost_nothing(void)
{
    struct fg_recorder recorder = recorder_of(0);
    int fd = sparse_ring(UINT64_C(1) << 26, 4096);

    assert(fg_recorder_add_ring(&recorder, fd, "", false) == 0);
    atomic_store(&nr_reads, 0);
    test_on_read = count_read;
    assert(fg_recorder_drain(&recorder, 0) == 0);
    assert(fg_recorder_finish(&recorder, 0) == 0);
    test_on_read = NULL;
    assert(atomic_load(&nr_reads) < 100);
    fg_recorder_close(&recorder);
    close(fd);
}

static void put_symbol(int fd, uint64_t at, uint32_t bytes)
{
    struct fg_symbol symbol = {.bytes = bytes, .type = FG_SYMBOL_FUNC, .nr_strings = 4};

    assert(pwrite(fd, &symbol, sizeof(symbol), (off_t)at) == (ssize_t)sizeof(symbol));
}

static struct fg_recorder_info read_symbols_of(int fd, uint64_t *nr_symbols)
{
    struct fg_recorder recorder = recorder_of(0);
    struct fg_recorder_info info;

    assert(fg_recorder_add_ring(&recorder, fd, "", false) == 0);
    assert(fg_recorder_finish(&recorder, 0) == 0);
    assert(fg_recorder_info(&recorder, 0, &info) == 0);
    *nr_symbols = recorder.contents.rings[0].nr_symbols;
    fg_recorder_close(&recorder);
    return info;
}

static void test_symbols_are_cut_and_that_is_told(void)
{
    const uint64_t at = FG_RING_HEADER_BYTES + FG_RING_PAGE_BYTES;
    const uint32_t mb = 1u << 20;
    uint64_t nr_symbols;
    int fd = sparse_ring(8, UINT64_C(2) << 30);

    put_symbol(fd, at, 64);
    put_symbol(fd, at + 64, UINT32_C(1) << 30);
    assert(read_symbols_of(fd, &nr_symbols).counts.cut == 1);
    assert(nr_symbols == 1);
    close(fd);

    fd = sparse_ring(8, 100 * (uint64_t)mb);
    for (uint32_t i = 0; i < 100; i++)
        put_symbol(fd, at + i * (uint64_t)mb, mb);
    assert(read_symbols_of(fd, &nr_symbols).counts.cut == 1);
    assert(nr_symbols <= 64);
    close(fd);

    fd = sparse_ring(8, 64);
    put_symbol(fd, at, 64);
    assert(read_symbols_of(fd, &nr_symbols).counts.cut == 0);
    assert(nr_symbols == 1);
    close(fd);
}

/* A traced process reads its own rings: its handling of signals stays its own. */
static void test_a_private_ring_needs_no_handler(void)
{
    struct fg_recorder recorder = recorder_of(0);
    struct sigaction before, now;
    int fd = sparse_ring(8, 64);

    assert(sigaction(SIGBUS, NULL, &before) == 0);
    assert(fg_recorder_add_ring(&recorder, fd, "", true) == 0);
    assert(sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == before.sa_sigaction);
    assert(fg_recorder_add_ring(&recorder, fd, "", false) == 1);
    assert(sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction != before.sa_sigaction);
    fg_recorder_close(&recorder);
    assert(sigaction(SIGBUS, NULL, &now) == 0 && now.sa_sigaction == before.sa_sigaction);
    close(fd);
}

int main(void)
{
    assert(mkdtemp(folder));
    test_a_truncated_ring_is_given_up_with_what_was_drained_before();
    test_a_ring_that_has_grown_again_is_given_up();
    test_a_ring_may_be_truncated_at_every_moment();
    test_every_word_may_change_while_the_recorder_drains();
    with_few_descriptors(test_a_truncated_ring_is_given_up_with_what_was_drained_before);
    with_few_descriptors(test_a_ring_may_be_truncated_at_every_moment);
    with_few_descriptors(test_every_word_may_change_while_the_recorder_drains);
    test_a_ring_larger_than_agreed_is_damaged();
    test_sub_buffers_without_memory_cost_nothing();
    test_symbols_are_cut_and_that_is_told();
    test_a_private_ring_needs_no_handler();
    unlink(path_of("trace"));
    unlink(path_of("dump"));
    assert(rmdir(folder) == 0);
    return 0;
}
