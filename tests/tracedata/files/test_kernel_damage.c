/* Promise: whatever a kernel's trace holds, reading it ends; at worst with an error, never beyond a buffer.
 * For the sanitizers (make asan): a whole trace is damaged at random, thousands of times, and all of it that
 * can be read is read. It has events whose fields lie anywhere. It is of machines of 32 and 64 bits, with
 * pages of 4 KB and 64 KB. */
#define _GNU_SOURCE
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/seed.h"
#include "support/selections.h"
#include "tracedata/read/kernel_scan.h"
#include "tracedata/text/report.h"
#include "tracedata/view/columns.h"
#include "tracedata/view/summary.h"

#define NR_CPUS 3u
#define NR_BUFFERS 2u
#define NR_LANES (NR_CPUS * NR_BUFFERS)
#define NR_PAGES 2u    /* a lane */
#define NR_RECORDS 40u /* a page */
#define NR_ALL_PAGES (NR_LANES * NR_PAGES)
#define BASE UINT64_C(0xffffffff81000000)

enum { ID_FUNCTION = 1, ID_EXIT = 10, ID_ENTRY = 11, ID_RETADDR = 12, ID_OTHER = 300, ID_UNKNOWN = 777 };

/* A kind of machine, and how often its trace is damaged. */
struct machine {
    uint32_t word_bytes, page_bytes;
    int rounds;
};

static void put(struct fg_text *text, uint64_t number, size_t bytes)
{
    fg_text_put(text, (const char *)&number, bytes);
}

/* ---- a trace */

static void put_head(struct fg_text *file, struct machine machine)
{
    size_t table_bytes = sizeof("flyrecord") + NR_CPUS * 16;

    fg_text_lit(file, "\x17\x08\x44tracing6\0");
    put(file, 0, 1);
    put(file, machine.word_bytes, 1);
    put(file, machine.page_bytes, 4);
    fg_text_lit(file, "header_page\0");
    put(file, 0, 8);
    fg_text_lit(file, "header_event\0");
    put(file, 0, 8);
    put(file, 0, 4); /* formats of ftrace: what is in them is Python's */
    put(file, 0, 4); /* systems */
    put(file, 0, 4); /* kallsyms */
    put(file, 0, 4); /* printk formats */
    put(file, 0, 8); /* command lines */
    put(file, NR_CPUS, 4);
    fg_text_lit(file, "options  \0");
    put(file, FG_DAT_TRACECLOCK, 2);
    put(file, sizeof("[local]"), 4);
    fg_text_lit(file, "[local]\0");
    put(file, FG_DAT_OFFSET, 2);
    put(file, sizeof("-5"), 4);
    fg_text_lit(file, "-5\0");
    put(file, FG_DAT_BUFFER, 2);
    put(file, 8 + sizeof("b"), 4);
    put(file, file->bytes + 8 + sizeof("b") + 2 + table_bytes, 8);
    fg_text_lit(file, "b\0");
    put(file, FG_DAT_END, 2);
    for (uint32_t i = 0; i < NR_LANES; i++) {
        if (i % NR_CPUS == 0)
            fg_text_lit(file, "flyrecord\0");
        put(file, (uint64_t)machine.page_bytes * (1 + i * NR_PAGES), 8);
        put(file, (uint64_t)machine.page_bytes * NR_PAGES, 8);
    }
}

static void put_common(struct fg_text *record, unsigned id, unsigned tid)
{
    put(record, id, 4); /* type, flags, preempt count */
    put(record, tid, 4);
}

static uint64_t function_at(unsigned n, unsigned depth)
{
    return BASE + 0x100 * ((n / 10 + depth) % 7) + n / 10 % 2;
}

/* The n-th record of a page. In ten: three calls within each other, the innermost a leaf; their ends; and
 * what is not a call. */
static void put_record(struct fg_text *record, unsigned n, unsigned tid, uint64_t time)
{
    unsigned step = n % 10;

    switch (step) {
    case 0:
    case 2:
        put_common(record, ID_ENTRY, tid);
        put(record, function_at(n, step), 8);
        put(record, step, 8);
        put(record, n, 8); /* an argument */
        break;
    case 1:
        put_common(record, ID_RETADDR, tid);
        put(record, function_at(n, step), 8);
        put(record, step, 8);
        put(record, BASE + 3, 8);
        break;
    case 3:
    case 4:
    case 5:
        put_common(record, ID_EXIT, tid);
        put(record, function_at(n, 5 - step), 8);
        put(record, UINT64_MAX - n, 8); /* its result */
        put(record, 5 - step, 4);
        put(record, n, 4); /* overrun */
        put(record, time - 50, 8);
        put(record, time, 8);
        break;
    case 6:
        put_common(record, ID_FUNCTION, tid);
        put(record, function_at(n, 0), 8);
        put(record, BASE, 8);
        break;
    case 7:
        put_common(record, ID_UNKNOWN, tid);
        put(record, n, 8);
        break;
    default:
        put_common(record, ID_OTHER, tid);
        for (unsigned i = 0; i < n; i++)
            put(record, n, 4);
    }
}

static void put_page(struct fg_text *file, struct machine machine, unsigned lane, unsigned page)
{
    size_t begin = file->bytes, commit = begin + 8;
    uint64_t time = 1000 + 100000 * page + lane;
    struct fg_text record = {0};

    put(file, time, 8);
    put(file, 0, machine.word_bytes);
    for (unsigned n = 0; n < NR_RECORDS; n++) {
        uint32_t delta = n % 10 == 3 ? 0 : 100; /* no other CPU's event comes between a leaf's two */

        record.bytes = 0;
        time += delta;
        put_record(&record, n, n < 30 ? 100 + lane : n / 10 % 3, time);
        if (n % 8 == 7) { /* with an explicit length */
            put(file, delta << 5, 4);
            put(file, record.bytes + 4, 4);
        } else if (record.bytes / 4 <= 28) {
            put(file, record.bytes / 4 | delta << 5, 4);
        } else {
            put(file, 29 | delta << 5, 4); /* discarded */
            put(file, record.bytes + 4, 4);
        }
        fg_text_put(file, record.data, record.bytes);
    }
    fg_text_free(&record);
    uint64_t used = file->bytes - commit - machine.word_bytes;
    assert(file->bytes - begin + 8 <= machine.page_bytes);
    if (page) {
        used |= UINT64_C(3) << 30;
        put(file, 7, machine.word_bytes); /* so many were lost */
    }
    memcpy(file->data + commit, &used, machine.word_bytes);
    fg_text_fill(file, 0, machine.page_bytes - (file->bytes - begin));
}

static struct fg_text whole_trace(struct machine machine)
{
    struct fg_text file = {0};

    put_head(&file, machine);
    fg_text_fill(&file, 0, machine.page_bytes - file.bytes);
    for (unsigned lane = 0; lane < NR_LANES; lane++)
        for (unsigned page = 0; page < NR_PAGES; page++)
            put_page(&file, machine, lane, page);
    assert(!file.failed);
    return file;
}

/* ---- reading */

static int add(struct fg_kernel *kernel, struct fg_kernel_event event)
{
    return fg_kernel_add_event(kernel, &event);
}

static void describe(struct fg_kernel *kernel)
{
    assert(add(kernel, (struct fg_kernel_event){.id = ID_ENTRY,
                                                .role = FG_KERNEL_ENTRY,
                                                .name = "funcgraph_entry",
                                                .places = {[FG_KERNEL_FIELD_FUNC] = {8, 8},
                                                           [FG_KERNEL_FIELD_DEPTH] = {16, 8},
                                                           [FG_KERNEL_FIELD_ARGS] = {24, 8}}}) == 0);
    assert(add(kernel, (struct fg_kernel_event){.id = ID_RETADDR,
                                                .role = FG_KERNEL_ENTRY,
                                                .name = "fgraph_retaddr_entry",
                                                .places = {[FG_KERNEL_FIELD_FUNC] = {8, 8},
                                                           [FG_KERNEL_FIELD_DEPTH] = {16, 8},
                                                           [FG_KERNEL_FIELD_RETADDR] = {24, 8}}}) == 0);
    assert(add(kernel, (struct fg_kernel_event){.id = ID_EXIT,
                                                .role = FG_KERNEL_EXIT,
                                                .name = "funcgraph_exit",
                                                .places = {[FG_KERNEL_FIELD_FUNC] = {8, 8},
                                                           [FG_KERNEL_FIELD_RETVAL] = {16, 8},
                                                           [FG_KERNEL_FIELD_DEPTH] = {24, 4},
                                                           [FG_KERNEL_FIELD_OVERRUN] = {28, 4},
                                                           [FG_KERNEL_FIELD_CALLTIME] = {32, 8},
                                                           [FG_KERNEL_FIELD_RETTIME] = {40, 8}}}) == 0);
    assert(add(kernel,
               (struct fg_kernel_event){
                   .id = ID_FUNCTION,
                   .role = FG_KERNEL_FUNCTION,
                   .name = "function",
                   .places = {[FG_KERNEL_FIELD_IP] = {8, 8}, [FG_KERNEL_FIELD_PARENT_IP] = {16, 8}}}) == 0);
    assert(add(kernel, (struct fg_kernel_event){.id = ID_OTHER, .name = "other"}) == 0);
}

static uint8_t random_size(void)
{
    return (uint8_t)("\0\1\2\4\10"[random() % 5]);
}

/* Events as a hostile head describes them. */
static void describe_at_random(struct fg_kernel *kernel)
{
    static const uint16_t ids[] = {ID_FUNCTION, ID_EXIT, ID_ENTRY, ID_RETADDR, ID_OTHER};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct fg_kernel_event event = {.id = ids[i], .role = (uint8_t)(random() % 5), .name = "hostile"};

        for (int field = 0; field < FG_KERNEL_NR_FIELDS; field++)
            event.places[field] = (struct fg_kernel_place){(uint16_t)(random() % (random() % 8 ? 64 : 65536)),
                                                           random() % 64 ? random_size() : 3};
        (void)add(kernel, event); /* it may be refused */
    }
}

/* An event of which nothing may be taken. */
static void impossible_events_are_refused(struct fg_kernel *kernel)
{
    struct fg_kernel_event event = {.id = 5, .role = FG_KERNEL_ENTRY, .name = "bad"};

    assert(add(kernel, event) == -EINVAL); /* without func and depth */
    event.places[FG_KERNEL_FIELD_FUNC] = (struct fg_kernel_place){8, 3};
    event.places[FG_KERNEL_FIELD_DEPTH] = (struct fg_kernel_place){16, 8};
    assert(add(kernel, event) == -EINVAL); /* a number of 3 bytes */
    event.role = FG_KERNEL_FUNCTION + 1;
    assert(add(kernel, event) == -EINVAL);
    event = (struct fg_kernel_event){.id = ID_ENTRY, .name = "again"};
    assert(add(kernel, event) == -EINVAL);
}

static int by_address(const void *left, const void *right)
{
    const struct fg_kernel_address *a = left, *b = right;

    return a->address < b->address ? -1 : a->address > b->address;
}

/* Hands in the addresses that occur: two of three are known. */
static void set_addresses(struct fg_kernel *kernel, const struct fg_kernel_scan *scan)
{
    struct fg_kernel_address *addresses = malloc((scan->nr_addresses + 1) * sizeof(*addresses));
    size_t n = 0;

    assert(addresses);
    for (size_t i = 0; i < scan->nr_addresses; i++)
        if (i % 3)
            addresses[n++] = (struct fg_kernel_address){scan->addresses[i], (uint32_t)(i % 5), (uint32_t)i};
    qsort(addresses, n, sizeof(*addresses), by_address);
    fg_kernel_set_addresses(kernel, addresses, n);
}

static int read_scan(const struct fg_trace_file *file, struct fg_kernel_scan *scan)
{
    uint32_t lane = 0;
    int more = 1;

    while (more == 1)
        more = fg_kernel_scan(file, &lane, scan);
    return more;
}

static int read_report(const struct fg_trace_file *file, struct fg_name_table *names, size_t *lines)
{
    struct fg_report_style *styles = calloc(file->nr_buffers, sizeof(*styles));
    struct fg_report *report = NULL;
    struct fg_text text = {0};
    struct fg_merge merge;
    int result;

    assert(styles);
    for (uint32_t i = 0; i < file->nr_buffers; i++)
        styles[i] = (struct fg_report_style){.layout = FG_LAYOUT_TRACE_CMD, .prefix = i % 2 ? "b: " : NULL};
    result = fg_merge_open(&merge, file, names);
    if (!result)
        result = fg_report_new(styles, file->nr_buffers, 0, &merge, &report);
    if (!result)
        result = 1;
    while (result == 1) {
        const struct fg_kernel_holes *holes;

        result = fg_report_next(report, &text, 1000);
        holes = fg_report_holes(report);
        for (size_t i = 0; i < holes->n; i++) {
            assert(holes->holes[i].at < text.bytes && text.data[holes->holes[i].at] == '\n');
            assert(holes->holes[i].record + holes->holes[i].record_bytes <= holes->records.bytes);
        }
        for (size_t i = 0; i < text.bytes; i++)
            *lines += text.data[i] == '\n';
    }
    assert(result == 0 || (result == -EINVAL && merge.reason[0]));
    fg_report_free(report);
    fg_merge_close(&merge);
    fg_text_free(&text);
    free(styles);
    return result;
}

static int read_summary(const struct fg_trace_file *file, struct fg_name_table *names, uint64_t *calls)
{
    struct fg_summary *summary = NULL;
    struct fg_merge merge;
    int result = fg_merge_open(&merge, file, names);

    if (!result)
        result = fg_summary_new(&merge, &summary);
    if (!result)
        result = 1;
    while (result == 1)
        result = fg_summary_run(summary, 50);
    for (uint32_t i = 0; !result && i <= names->nr_functions; i++)
        *calls += fg_summary_functions(summary)[i].calls;
    assert(result == 0 || (result == -EINVAL && merge.reason[0]));
    fg_summary_free(summary);
    fg_merge_close(&merge);
    return result;
}

static int read_columns(const struct fg_trace_file *file, struct fg_name_table *names, size_t *events)
{
    struct fg_merge merge;
    int result = fg_merge_open(&merge, file, names);

    if (!result)
        result = 1;
    while (result == 1) {
        struct fg_columns columns;

        assert(fg_columns_init(&columns, 100) == 0);
        result = fg_columns_fill(&columns, &merge);
        *events += columns.n;
        for (size_t i = 0; i < columns.n; i++)
            assert(columns.kind[i] <= FG_COLUMN_other && columns.task[i] < names->nr_tasks);
        fg_columns_free(&columns);
    }
    assert(result == 0 || (result == -EINVAL && merge.reason[0]));
    fg_merge_close(&merge);
    return result;
}

static void set_names(struct fg_name_table *names, const struct fg_kernel_scan *scan)
{
    assert(fg_name_table_init(names, 5, (uint32_t)scan->nr_tasks) == 0);
    for (uint32_t i = 0; i < 5; i++)
        assert(fg_name_table_set_function(names, i, i ? "symbol [mod]" : "0x1234", i ? 12 : 6, "", 0, 1) ==
               0);
    for (size_t i = 0; i < scan->nr_tasks; i++) {
        struct fg_task_name task = {.name = "work",
                                    .lane = scan->tasks[i].lane,
                                    .tid = scan->tasks[i].tid,
                                    .first_ns = scan->tasks[i].first_ns,
                                    .last_ns = scan->tasks[i].last_ns,
                                    .selected = true};
        assert(fg_name_table_add_task(names, &task) == 0);
    }
    names->by_thread = true;
    names->select_unknown = true;
    assert(fg_name_table_sort(names) == 0);
}

struct found {
    size_t tasks, addresses, lines, events;
    uint64_t calls, lost;
};

/* Reads all that there is. Return: 0 or an error. */
static int read_all(int fd, bool hostile, struct found *found)
{
    char reason[FG_REASON_BYTES];
    struct fg_kernel_scan scan = {0};
    struct fg_trace_file file;
    struct fg_name_table names;
    int error = fg_trace_file_open_fd(fd, &file, reason), other;

    *found = (struct found){0};
    if (error) {
        assert(error == -EINVAL && reason[0]);
        return error;
    }
    assert(file.kernel && !file.meta);
    if (hostile)
        describe_at_random(file.kernel);
    else
        describe(file.kernel);
    assert(read_scan(&file, &scan) == 0);
    set_addresses(file.kernel, &scan);
    set_names(&names, &scan);
    error = read_report(&file, &names, &found->lines);
    other = read_summary(&file, &names, &found->calls);
    read_selected_calls(&file, &names, 0);
    read_selected_calls(&file, &names, (uint32_t)found->lines % 128);
    error = error ? error : other;
    other = read_columns(&file, &names, &found->events);
    error = error ? error : other;
    found->tasks = scan.nr_tasks;
    found->addresses = scan.nr_addresses;
    found->lost = scan.lost;
    fg_kernel_scan_free(&scan);
    fg_name_table_free(&names);
    fg_trace_file_close(&file);
    return error;
}

static void save(int fd, const char *data, size_t bytes)
{
    assert(ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes);
}

/* Changes some bytes of a trace; half of them in its head, which is a small part of it. */
static void damage(struct fg_text *file)
{
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};

    assert(file->bytes > 0);

    for (long changes = random() % 12; changes >= 0; changes--) {
        size_t at = (size_t)random() % (random() % 2 ? 400 : file->bytes);

        file->data[at] = (char)(random() % 2 ? values[random() % 5] : random());
    }
}

/* Returns how often damage gave an error. */
static int read_damaged(int fd, const struct fg_text *whole, int rounds, bool hostile)
{
    struct fg_text damaged = {0};
    struct found found;
    int nr_errors = 0;

    assert(whole->bytes > 0);

    for (int round = 0; round < rounds; round++) {
        damaged.bytes = 0;
        fg_text_put(&damaged, whole->data, whole->bytes);
        damage(&damaged);
        save(fd, damaged.data, random() % 16 ? whole->bytes : (size_t)random() % whole->bytes);
        nr_errors += read_all(fd, hostile, &found) < 0;
    }
    fg_text_free(&damaged);
    return nr_errors;
}

static void damage_ends_in_an_error(int fd, struct machine machine)
{
    struct fg_text whole = whole_trace(machine);
    struct found found;
    int nr_errors;

    save(fd, whole.data, whole.bytes);
    assert(read_all(fd, false, &found) == 0);
    /* A task of its own and the idle task in each lane; 7 functions and places 3 and 1, with gaps. */
    assert(found.tasks == 2 * NR_LANES && found.addresses == 11 && found.lost == 7 * NR_LANES);
    assert(found.events == NR_ALL_PAGES * (NR_RECORDS - 3)); /* without those that were discarded */
    assert(found.calls == NR_ALL_PAGES * 4 * (3 + 1));
    /* The header, and losses; a leaf has one line. */
    assert(found.lines == 1 + NR_LANES + found.events - NR_ALL_PAGES * 4);
    nr_errors = read_damaged(fd, &whole, machine.rounds, false);
    assert(nr_errors > machine.rounds / 10 && nr_errors < machine.rounds);
    nr_errors = read_damaged(fd, &whole, machine.rounds, true);
    assert(nr_errors > machine.rounds / 10 && nr_errors <= machine.rounds);
    fg_text_free(&whole);
}

int main(void)
{
    static const struct machine machines[] = {{8, 4096, 2000}, {4, 4096, 1000}, {8, 65536, 150}};
    int fd = memfd_create("kernel_damage", MFD_CLOEXEC);
    struct fg_kernel *kernel = fg_kernel_new(&(struct fg_dat_time){0});

    assert(fd >= 0 && kernel);
    describe(kernel);
    impossible_events_are_refused(kernel);
    fg_kernel_free(kernel);
    srandom((unsigned)fg_test_seed());
    for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
        damage_ends_in_an_error(fd, machines[i]);
    close(fd);
    return 0;
}
