/* See convert.h. */
#include "tracedata/make/convert.h"

#include "tracedata/base/trace_event.h"
#include "tracedata/spool/record_check.h"
#include <errno.h>
#include <stdlib.h>

/* The common fields as one word: type, flags 0, preempt count 0, pid. */
static inline uint64_t common_fields(const struct fg_convert *convert, enum fg_event_id type)
{
    return (uint64_t)type | (uint64_t)(uint32_t)convert->tid << 32;
}

static inline void store16(unsigned char *at, uint16_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void store32(unsigned char *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void store64(unsigned char *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline uint32_t load32(const unsigned char *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static inline uint32_t func_address(const struct fg_convert *convert, uint32_t func)
{
    return fg_likely(func < convert->nr_addresses) ? convert->addresses[func] : FG_WIRE_FUNC_UNKNOWN;
}

static inline unsigned char *event_reserve(struct fg_convert *convert, enum fg_event_id type, uint64_t ns,
                                           uint32_t bytes)
{
    unsigned char *event = fg_pages_reserve(convert->pages, ns, bytes);

    if (convert->events++ == 0)
        convert->first_ns = convert->pages->last_ns;
    store64(event, common_fields(convert, type));
    return event;
}

static int wait_add(struct fg_convert *convert, uint64_t begin, uint64_t end)
{
    const struct fg_convert_wait *last = convert->nr_waits ? &convert->waits[convert->nr_waits - 1] : NULL;

    if (end < begin || (last && begin < last->end))
        return 0; /* damage: the list stays in order */
    if (convert->nr_waits == convert->waits_capacity) {
        size_t capacity = convert->waits_capacity ? convert->waits_capacity * 2 : 64;
        struct fg_convert_wait *waits = realloc(convert->waits, capacity * sizeof(*waits));

        if (waits == NULL)
            return -ENOMEM;
        convert->waits = waits;
        convert->waits_capacity = capacity;
        last = convert->nr_waits ? &waits[convert->nr_waits - 1] : NULL;
    }
    convert->waits[convert->nr_waits++] = (struct fg_convert_wait){
        .begin = begin,
        .end = end,
        .total = (last ? last->total : 0) + (end - begin),
    };
    return 0;
}

/* Ticks of the waits that lie within a call. The writer reads the clock before it waits for room, so a wait
 * can stand before the record of an event that happened earlier: hence both ends are compared. */
static uint64_t waited_within(const struct fg_convert *convert, uint64_t calltime, uint64_t rettime)
{
    const struct fg_convert_wait *waits = convert->waits;
    size_t low = 0, behind = convert->nr_waits, high;

    while (behind > 0 && waits[behind - 1].end > rettime)
        behind--;
    for (high = behind; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (waits[middle].begin < calltime)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == behind)
        return 0;
    return waits[behind - 1].total - (low ? waits[low - 1].total : 0);
}

static inline uint64_t calltime_without_waits(const struct fg_convert *convert, uint64_t calltime,
                                              uint64_t rettime)
{
    if (fg_likely(convert->nr_waits == 0 || convert->waits[convert->nr_waits - 1].end <= calltime))
        return calltime;
    return calltime + waited_within(convert, calltime, rettime);
}

/* The part behind an event's fixed fields: kind is its last fixed byte, start and values follow. */
static inline void store_tail(const struct fg_convert *convert, unsigned char *kind_at, uint32_t kind,
                              const uint64_t *start, const void *values, size_t values_bytes)
{
    if (start) {
        store64(kind_at + 1, fg_time_scale_ns(&convert->scale, *start));
        memcpy(kind_at + 9, values, values_bytes);
        kind |= FG_WIRE_HAS_START;
    } else if (values_bytes) {
        memcpy(kind_at + 1, values, values_bytes);
    }
    *kind_at = (unsigned char)kind;
}

/* What the kind's byte has besides. */
static inline uint32_t irq_bit(const struct fg_record *record)
{
    return record->info & FG_RECORD_IRQ ? FG_WIRE_IRQ : 0;
}

/* The payload of a record, taken apart. */
struct payload {
    const uint64_t *fixed;
    const uint64_t *start; /* or NULL */
    const void *values;
    uint32_t values_bytes;
};

static inline struct payload record_payload(const struct fg_record *record, uint32_t fixed_words)
{
    const uint64_t *words = (const uint64_t *)(record + 1), *end = words + fg_record_words(record->info) - 2;
    struct payload payload = {.fixed = words};

    words += fixed_words;
    if (record->info & FG_RECORD_HAS_START)
        payload.start = words++;
    payload.values = words;
    if (record->info & FG_RECORD_HAS_VALUES)
        payload.values_bytes = (uint32_t)((end - words) * (ptrdiff_t)sizeof(*words));
    return payload;
}

static inline uint32_t caller_address(const struct fg_convert *convert, uint32_t caller)
{
    return caller ? func_address(convert, caller) : 0;
}

static inline void convert_entry(struct fg_convert *convert, const struct fg_record *record,
                                 enum fg_wire_entry_kind kind)
{
    const uint32_t kind_offset = fg_offset_funcgraph_entry("kind");
    struct payload payload = record_payload(record, 0);
    unsigned char *event =
        event_reserve(convert, FG_EVENT_funcgraph_entry, fg_time_scale_ns(&convert->scale, record->time),
                      kind_offset + 1 + (payload.start ? 8 : 0) + payload.values_bytes);

    store32(event + fg_offset_funcgraph_entry("func"), func_address(convert, record->func));
    store32(event + fg_offset_funcgraph_entry("depth"), fg_record_depth(record->info));
    store_tail(convert, event + kind_offset, kind | irq_bit(record), payload.start, payload.values,
               payload.values_bytes);
}

/* The same, with where the call was made in front of the values. */
static void convert_call_at(struct fg_convert *convert, const struct fg_record *record)
{
    const uint32_t kind_offset = fg_offset_funcgraph_entry("kind");
    struct payload payload = record_payload(record, 1);
    unsigned char *event =
        event_reserve(convert, FG_EVENT_funcgraph_entry, fg_time_scale_ns(&convert->scale, record->time),
                      kind_offset + 1 + 8 + payload.values_bytes);

    store32(event + fg_offset_funcgraph_entry("func"), func_address(convert, record->func));
    store32(event + fg_offset_funcgraph_entry("depth"), fg_record_depth(record->info));
    event[kind_offset] = (unsigned char)(FG_WIRE_START | FG_WIRE_HAS_CALLER | irq_bit(record));
    store32(event + kind_offset + 1, caller_address(convert, (uint32_t)*payload.fixed));
    store32(event + kind_offset + 5, (uint32_t)(*payload.fixed >> 32));
    memcpy(event + kind_offset + 9, payload.values, payload.values_bytes);
}

static inline void convert_exit(struct fg_convert *convert, const struct fg_record *record,
                                enum fg_wire_exit_kind kind)
{
    const uint32_t kind_offset = fg_offset_funcgraph_exit("kind");
    struct payload payload = record_payload(record, 1);
    uint64_t rettime = fg_time_scale_ns(&convert->scale, record->time);
    uint64_t calltime = calltime_without_waits(convert, payload.fixed[0], record->time);
    unsigned char *event = event_reserve(convert, FG_EVENT_funcgraph_exit, rettime,
                                         kind_offset + 1 + (payload.start ? 8 : 0) + payload.values_bytes);

    store32(event + fg_offset_funcgraph_exit("func"), func_address(convert, record->func));
    store32(event + fg_offset_funcgraph_exit("depth"), fg_record_depth(record->info));
    store64(event + fg_offset_funcgraph_exit("calltime"), fg_time_scale_ns(&convert->scale, calltime));
    store64(event + fg_offset_funcgraph_exit("rettime"), rettime);
    store16(event + fg_offset_funcgraph_exit("overrun"),
            (uint16_t)(convert->overrun < UINT16_MAX ? convert->overrun : UINT16_MAX));
    store_tail(convert, event + kind_offset, kind | irq_bit(record), payload.start, payload.values,
               payload.values_bytes);
}

static void convert_function(struct fg_convert *convert, const struct fg_record *record)
{
    const uint32_t tail = fg_offset_function("tail[]");
    struct payload payload = record_payload(record, 1);
    unsigned char *event =
        event_reserve(convert, FG_EVENT_function, fg_time_scale_ns(&convert->scale, record->time),
                      tail + payload.values_bytes);

    store32(event + fg_offset_function("ip"), func_address(convert, record->func));
    store32(event + fg_offset_function("parent_ip"), caller_address(convert, (uint32_t)payload.fixed[0]));
    memcpy(event + tail, payload.values, payload.values_bytes);
}

static void convert_stack(struct fg_convert *convert, const struct fg_record *record)
{
    const uint32_t callers_offset = fg_offset_kernel_stack("caller[]");
    struct payload payload = record_payload(record, 0);
    const unsigned char *ids = payload.values;
    uint32_t most = payload.values_bytes / 4, n = 0;
    unsigned char *event;

    while (n < most && load32(ids + 4 * (size_t)n))
        n++;
    event = event_reserve(convert, FG_EVENT_kernel_stack, fg_time_scale_ns(&convert->scale, record->time),
                          callers_offset + n * 8);
    store32(event + fg_offset_kernel_stack("size"), n);
    store32(event + fg_offset_kernel_stack("size") + 4, 0);
    for (uint32_t i = 0; i < n; i++)
        store64(event + callers_offset + i * (size_t)8, func_address(convert, load32(ids + 4 * (size_t)i)));
}

static void convert_repeats(struct fg_convert *convert, const struct fg_record *record)
{
    struct payload payload = record_payload(record, 2);
    uint64_t count = payload.fixed[1];
    unsigned char *event =
        event_reserve(convert, FG_EVENT_func_repeats, fg_time_scale_ns(&convert->scale, record->time),
                      fg_offset_func_repeats("bottom_delta_ts") + 4);

    store32(event + fg_offset_func_repeats("ip"), func_address(convert, record->func));
    store32(event + fg_offset_func_repeats("parent_ip"), caller_address(convert, (uint32_t)payload.fixed[0]));
    store16(event + fg_offset_func_repeats("count"), (uint16_t)(count < UINT16_MAX ? count : UINT16_MAX));
    store16(event + fg_offset_func_repeats("top_delta_ts"), 0);
    store32(event + fg_offset_func_repeats("bottom_delta_ts"), 0);
}

static int convert_wait(struct fg_convert *convert, const struct fg_record *record)
{
    uint64_t begin = *record_payload(record, 1).fixed;
    uint64_t ticks = record->time > begin ? record->time - begin : 0;
    unsigned char *event =
        event_reserve(convert, FG_EVENT_recorder_wait, fg_time_scale_ns(&convert->scale, record->time),
                      fg_offset_recorder_wait("duration_ns") + 8);

    store64(event + fg_offset_recorder_wait("duration_ns"), fg_time_scale_span(&convert->scale, ticks));
    return fg_record_depth(record->info) ? 0 : wait_add(convert, begin, record->time);
}

static void convert_overrun(struct fg_convert *convert, const struct fg_record *record)
{
    unsigned char *event =
        event_reserve(convert, FG_EVENT_overrun, fg_time_scale_ns(&convert->scale, record->time),
                      fg_offset_overrun("total") + 8);

    convert->overrun = *record_payload(record, 1).fixed;
    store64(event + fg_offset_overrun("total"), convert->overrun);
}

/* The text ends with a NUL, as the kernel's does. One that says it is longer than its record is damaged. */
static void convert_mark(struct fg_convert *convert, const struct fg_record *record)
{
    const uint32_t buf = fg_offset_print("buf[]");
    const uint64_t *length = record_payload(record, 1).fixed;
    size_t room = (size_t)(fg_record_words(record->info) - 3) * FG_RECORD_WORD_BYTES;
    size_t bytes = *length < room ? (size_t)*length : room;
    unsigned char *event = event_reserve(
        convert, FG_EVENT_print, fg_time_scale_ns(&convert->scale, record->time), buf + (uint32_t)bytes + 1);

    store64(event + fg_offset_print("ip"),
            record->func ? func_address(convert, record->func) : FG_WIRE_FUNC_MARK);
    memcpy(event + buf, length + 1, bytes);
    event[buf + bytes] = 0;
}

void fg_convert_begin_task(struct fg_convert *convert, int32_t tid)
{
    convert->tid = tid;
    convert->nr_waits = 0;
    convert->overrun = 0;
    convert->events = 0;
    convert->first_ns = convert->last_ns = 0;
    /* What the lane's task before lost at its very end is no loss of this one. */
    convert->pages->missed = 0;
}

int fg_convert_records(struct fg_convert *convert, const void *data, size_t bytes)
{
    const uint64_t *at = data, *end = at + bytes / FG_RECORD_WORD_BYTES;

    while (end - at >= 2) {
        const struct fg_record *record = (const struct fg_record *)at;

        if (fg_unlikely(!fg_record_is_sound(record, (size_t)(end - at))))
            break;
        at += fg_record_words(record->info);
        switch (fg_record_kind(record->info)) {
        case FG_RECORD_ENTRY:
            convert_entry(convert, record, FG_WIRE_START);
            break;
        case FG_RECORD_RESUME:
            convert_entry(convert, record, FG_WIRE_RESUME);
            break;
        case FG_RECORD_RETURN:
            convert_exit(convert, record, FG_WIRE_RETURN);
            break;
        case FG_RECORD_RAISE:
            convert_exit(convert, record, FG_WIRE_RAISE);
            break;
        case FG_RECORD_SUSPEND:
            convert_exit(convert, record, FG_WIRE_SUSPEND);
            break;
        case FG_RECORD_CLOSE:
            convert_exit(convert, record, FG_WIRE_CLOSE);
            break;
        case FG_RECORD_CALL_AT:
            convert_call_at(convert, record);
            break;
        case FG_RECORD_STACK:
            convert_stack(convert, record);
            break;
        case FG_RECORD_REPEATS:
            convert_repeats(convert, record);
            break;
        case FG_RECORD_FUNCTION:
            convert_function(convert, record);
            break;
        case FG_RECORD_WAIT:
            if (convert_wait(convert, record) < 0)
                return -ENOMEM;
            break;
        case FG_RECORD_LOST:
            fg_pages_miss(convert->pages, *record_payload(record, 1).fixed);
            break;
        case FG_RECORD_OVERRUN:
            convert_overrun(convert, record);
            break;
        case FG_RECORD_MARK:
            convert_mark(convert, record);
            break;
        }
    }
    if (at != end)
        fg_pages_miss(convert->pages, 1);
    convert->last_ns = convert->pages->last_ns;
    return 0;
}

void fg_convert_free(struct fg_convert *convert)
{
    free(convert->waits);
    convert->waits = NULL;
}
