/* Promises: whatever the image of an index holds, reading it ends with an index or an error, and questions to
 * one that was read stay within its arrays. A whole image gives the index that was written. Several threads
 * may ask one index, also for what is read from the trace. For the sanitizers. */
#undef NDEBUG
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/func_flags.h"
#include "support/seed.h"
#include "support/spool_bytes.h"
#include "tracedata/base/crc32.h"
#include "tracedata/base/file_io.h"
#include "tracedata/index/index_detail.h"
#include "tracedata/index/index_image.h"
#include "tracedata/index/index_step.h"
#include "tracedata/index/run_maker.h"
#include "tracedata/read/trace_file.h"

/* Damage is for one thread. */
#if defined(__SANITIZE_THREAD__)
#define ROUNDS 40
#else
#define ROUNDS (getenv("FUNCGRAPH_NIGHTLY") ? 20000 : 400)
#endif
#define NR_THREADS 4
#define QUESTIONS 30
#define NR_FUNCTIONS SPOOL_NR_FUNCTIONS

static const struct fg_index_trace of = {.key = "a key of thirty-two bytes ......",
                                         .nr_functions = NR_FUNCTIONS,
                                         .nr_tasks = 100,
                                         .nr_lanes = 100};

static uint64_t seed;

static uint64_t below(uint64_t limit)
{
    return fg_test_random(&seed) % limit;
}

/* ---- a trace and its index */

struct trace {
    struct fg_trace_file file;
    struct fg_call_index *index;
    struct fg_run_table runs; /* as if all functions were coroutines */
};

static void make_runs(struct trace *trace, struct fg_name_table *names)
{
    static uint8_t flags[NR_FUNCTIONS];
    struct fg_merge merge;
    struct fg_run_source source = {.merge = &merge,
                                   .func_flags = flags,
                                   .nr_functions = NR_FUNCTIONS,
                                   .most_runs = 50,
                                   .most_roots = 20};

    memset(flags, FG_FUNC_COROUTINE, sizeof(flags));
    assert(fg_merge_open(&merge, &trace->file, names) == 0);
    assert(fg_run_table_make(&trace->runs, &source) == 0);
    assert(trace->runs.roots.n && trace->runs.runs.n);
    fg_merge_close(&merge);
}

static int open_trace(struct trace *trace, size_t most_bytes)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);
    struct fg_text spool = {0};
    char reason[FG_REASON_BYTES];
    struct fg_name_table names;
    struct fg_merge merge;

    fg_test_make_spool(&spool, FG_CODEC_NONE);
    assert(fd >= 0 && fg_file_write(fd, spool.data, spool.bytes, 0) == 0);
    fg_text_free(&spool);
    assert(fg_trace_file_open_fd(fd, &trace->file, reason) == 0);
    close(fd);
    assert(fg_name_table_init(&names, NR_FUNCTIONS, 1) == 0 && fg_name_table_sort(&names) == 0);
    names.select_unknown = true;
    assert(fg_merge_open(&merge, &trace->file, &names) == 0);
    assert(fg_call_index_make(&merge, most_bytes, NULL, &trace->index) == 0);
    fg_merge_close(&merge);
    make_runs(trace, &names);
    fg_name_table_free(&names);
    return 0;
}

static void close_trace(struct trace *trace)
{
    fg_call_index_free(trace->index);
    fg_run_table_free(&trace->runs);
    fg_trace_file_close(&trace->file);
}

/* ---- questions */

static uint64_t some_time(const struct fg_call_index *index, uint64_t *state)
{
    uint64_t length = index->last_ns - index->first_ns + 1;

    return index->first_ns + (length ? fg_test_random(state) % length : 0);
}

/* Asks anything. Return: a sum of the answers. */
static uint64_t ask(const struct fg_call_index *index, const struct fg_recorded *recorded, uint64_t *state)
{
    uint32_t lane = (uint32_t)(fg_test_random(state) % index->nr_lanes);
    uint32_t func = (uint32_t)(fg_test_random(state) % (NR_FUNCTIONS + 1));
    uint64_t one = some_time(index, state), other = some_time(index, state), sum = 0;
    struct fg_picture picture = {.lane = lane,
                                 .begin_ns = one < other ? one : other,
                                 .end_ns = (one < other ? other : one) + 1,
                                 .pixels = 1 + (uint32_t)(fg_test_random(state) % 1000),
                                 .last_depth = UINT32_MAX};
    struct fg_span_rows rows = {0};
    size_t first;
    int error;

    if (picture.end_ns <= picture.begin_ns)
        return 0;
    assert(fg_detail_picture(index, recorded, &picture, &rows) == 0);
    assert(fg_detail_call_at(index, recorded, lane, one, &rows) == 0);
    assert(fg_detail_parents(index, recorded, lane, UINT32_MAX, other, &rows) == 0);
    assert(fg_index_longest(index, func, 1, 10, &rows) == 0);
    for (int way = 0; way < 4; way++) {
        struct fg_step step = {func, way & 1 ? lane : UINT32_MAX, one, way & 1, way & 2};

        assert(fg_index_step(index, recorded, &step, &rows) == 0);
    }
    error = fg_index_rank(index, recorded, func, one, &sum);
    assert(error == 0 || error == -ENODATA);
    for (size_t i = 0; i < rows.n; i++)
        sum = sum * 31 + rows.begin_ns[i] + rows.count[i] + rows.function[i];
    fg_span_rows_free(&rows);
    sum += fg_index_marks(index, lane, FG_MARK_raise, picture.begin_ns, picture.end_ns, &first);
    return sum;
}

/* ---- images */

static int image_of(const struct fg_call_index *index, const struct fg_run_table *runs)
{
    int fd = memfd_create("image", MFD_CLOEXEC);

    assert(fd >= 0 && fg_index_image_write(index, index->has_runs ? &index->runs : runs, fd, of.key) == 0);
    return fd;
}

static size_t bytes_of(int fd)
{
    struct stat status;

    assert(fstat(fd, &status) == 0);
    return (size_t)status.st_size;
}

static void a_whole_image_is_the_index(const struct trace *trace)
{
    int fd = image_of(trace->index, &trace->runs), again;
    uint64_t one = 1, other = 1;
    struct fg_call_index *read;
    char *bytes, *same;

    assert(fg_index_image_read(fd, &of, &read) == 0);
    for (int i = 0; i < QUESTIONS; i++)
        assert(ask(read, trace->file.recorded, &one) == ask(trace->index, trace->file.recorded, &other));
    again = image_of(read, NULL);
    assert(bytes_of(again) == bytes_of(fd));
    bytes = malloc(bytes_of(fd));
    same = malloc(bytes_of(fd));
    assert(bytes && same && fg_file_read(fd, bytes, bytes_of(fd), 0) == 0 &&
           fg_file_read(again, same, bytes_of(fd), 0) == 0 && memcmp(bytes, same, bytes_of(fd)) == 0);
    free(bytes);
    free(same);
    fg_call_index_free(read);
    close(again);
    close(fd);
}

/* Gives an image the checksums of what it has. */
static void mend(uint8_t *image, size_t bytes)
{
    struct fg_index_header *header = (struct fg_index_header *)(void *)image;

    header->crc = fg_crc32(0, image + sizeof(*header), bytes - sizeof(*header));
    header->header_crc = 0;
    header->header_crc = fg_crc32(0, header, sizeof(*header));
}

/* What a reader of a table may look at. */
static uint64_t look_at_runs(const struct fg_run_table *table)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < table->roots.n; i++)
        for (size_t j = 0; j < table->roots.runs[i]; j++)
            sum += table->runs.end_ns[table->roots.first[i] + j] - table->roots.begin_ns[i];
    return sum;
}

static void change(uint8_t *image, size_t bytes)
{
    size_t in_header = below(2) ? sizeof(struct fg_index_header) : bytes;

    for (uint64_t n = 1 + below(3); n; n--) {
        static const uint64_t values[] = {0, 1, UINT32_MAX, UINT64_MAX, UINT64_MAX >> 3, 1u << 31};
        size_t at = below(in_header / 4) * 4, room = bytes - at < 8 ? bytes - at : 8;
        uint64_t value = below(2) ? values[below(sizeof(values) / sizeof(*values))] : fg_test_random(&seed);

        memcpy(image + at, &value, below(2) ? room : room / 2);
    }
}

/* Return: what comes of an image in which the last run is of this task. */
static int read_with_task(struct trace *trace, uint32_t task)
{
    uint32_t *last = &trace->runs.runs.task[trace->runs.runs.n - 1], whole = *last;
    struct fg_call_index *index;
    int fd, error;

    *last = task;
    fd = image_of(trace->index, &trace->runs);
    *last = whole;
    error = fg_index_image_read(fd, &of, &index);
    if (error == 0)
        fg_call_index_free(index);
    close(fd);
    return error;
}

static void a_run_of_no_task_is_damage(struct trace *trace)
{
    uint32_t nr_tasks = of.nr_tasks + (uint32_t)trace->index->nr_tasks;

    assert(read_with_task(trace, nr_tasks - 1) == 0);
    assert(read_with_task(trace, nr_tasks) == -EBADMSG);
    assert(read_with_task(trace, UINT32_MAX) == -EBADMSG);
}

static void damaged_images_are_read(const struct trace *trace)
{
    int fd = image_of(trace->index, &trace->runs), nr_read = 0;
    size_t bytes = bytes_of(fd);
    uint8_t *whole = malloc(bytes), *copy = malloc(bytes);

    assert(whole && copy && fg_file_read(fd, whole, bytes, 0) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        size_t size = below(20) ? bytes : below(bytes);
        struct fg_call_index *index;
        int error;

        memcpy(copy, whole, bytes);
        change(copy, bytes);
        if (below(20))
            mend(copy, bytes);
        assert(ftruncate(fd, 0) == 0 && fg_file_write(fd, copy, size, 0) == 0);
        error = fg_index_image_read(fd, &of, &index);
        assert(error == 0 || error == -EBADMSG);
        if (error)
            continue;
        nr_read++;
        for (int n = 0; n < 2 && index->nr_lanes; n++)
            ask(index, trace->file.recorded, &seed);
        if (index->has_runs)
            seed ^= look_at_runs(&index->runs);
        fg_call_index_free(index);
    }
    assert(nr_read > ROUNDS / 40 && nr_read < ROUNDS);
    free(whole);
    free(copy);
    close(fd);
}

/* ---- threads */

struct asking {
    const struct trace *trace;
    uint64_t seed, sum;
};

static void *ask_much(void *argument)
{
    struct asking *asking = argument;

    for (int i = 0; i < QUESTIONS; i++)
        asking->sum =
            asking->sum * 31 + ask(asking->trace->index, asking->trace->file.recorded, &asking->seed);
    return NULL;
}

static void several_threads_ask(const struct trace *trace)
{
    pthread_t threads[NR_THREADS];
    struct asking alone[NR_THREADS], together[NR_THREADS];

    for (uint64_t i = 0; i < NR_THREADS; i++) {
        alone[i] = together[i] = (struct asking){.trace = trace, .seed = i + 1};
        ask_much(&alone[i]);
    }
    for (int i = 0; i < NR_THREADS; i++)
        assert(pthread_create(&threads[i], NULL, ask_much, &together[i]) == 0);
    for (int i = 0; i < NR_THREADS; i++) {
        assert(pthread_join(threads[i], NULL) == 0);
        assert(together[i].sum == alone[i].sum);
    }
}

/* ---- progress */

static int give_up(void *context, uint64_t nr_events)
{
    (void)nr_events;
    return ++*(int *)context < 3 ? 0 : -ECANCELED;
}

static void a_report_that_fails_ends_the_making(const struct trace *trace)
{
    int nr_reports = 0;
    struct fg_index_progress progress = {give_up, &nr_reports};
    struct fg_call_index *index = NULL;
    struct fg_name_table names;
    struct fg_merge merge;

    assert(fg_name_table_init(&names, NR_FUNCTIONS, 1) == 0 && fg_name_table_sort(&names) == 0);
    names.select_unknown = true;
    assert(fg_merge_open(&merge, &trace->file, &names) == 0);
    assert(fg_call_index_make(&merge, 1 << 20, &progress, &index) == -ECANCELED);
    assert(nr_reports == 3 && index == NULL);
    fg_merge_close(&merge);
    fg_name_table_free(&names);
}

int main(void)
{
    static const size_t budgets[] = {1, 4000, 1 << 20};

    seed = fg_test_seed();
    for (size_t i = 0; i < sizeof(budgets) / sizeof(*budgets); i++) {
        struct trace trace;

        open_trace(&trace, budgets[i]);
        a_whole_image_is_the_index(&trace);
        a_run_of_no_task_is_damage(&trace);
        damaged_images_are_read(&trace);
        several_threads_ask(&trace);
        a_report_that_fails_ends_the_making(&trace);
        close_trace(&trace);
    }
    return 0;
}
