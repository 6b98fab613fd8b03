/* See dat_event.h. */
#include "tracedata/read/dat/dat_event.h"

#include "engine/base/compiler.h"
#include "tracedata/base/wire.h"

/* No size of an event: its type has no image that is decoded. */
#define FOREIGN UINT32_MAX

/* An image that has all its fields, and where it ends. What is decoded lies at `made`. */
struct image {
    const uint8_t *data, *end;
    void *made;
};

/* Entries and exits are most of all events: all that decodes them is one function, with the image in
 * registers. */
#define DECODE static inline __attribute__((always_inline))

/* Appends the rest of an image. Return: the size of what is made. */
DECODE uint32_t copy_rest(struct image image, size_t data_bytes, const uint8_t *rest)
{
    size_t bytes = (size_t)(image.end - rest);

    memcpy((uint8_t *)image.made + data_bytes, rest, bytes);
    return (uint32_t)(data_bytes + bytes);
}

/* Takes `start` and the caller off the front of a tail. Return: where the values begin; NULL: it is too
 * short. */
DECODE const uint8_t *decode_tail(struct image image, uint8_t kind, const uint8_t *tail)
{
    struct fg_graph_data *graph = image.made;

    if (kind & FG_WIRE_HAS_START) {
        if (image.end - tail < 8)
            return NULL;
        graph->has_start = true;
        graph->start_ns = fg_load64(tail);
        tail += 8;
    }
    if (kind & FG_WIRE_HAS_CALLER) {
        if (image.end - tail < 8)
            return NULL;
        graph->caller_kind = fg_load32(tail) ? FG_CALLER_FUNCTION : FG_CALLER_NONE;
        graph->caller = fg_function_index(fg_load32(tail));
        graph->caller_place = fg_load32(tail + 4);
        tail += 8;
    }
    return tail;
}

/* Of most calls the tail is but padding: a tag 0 ends the values. */
DECODE uint32_t decode_values(struct image image, uint8_t kind, const uint8_t *tail)
{
    if (fg_unlikely(kind & (FG_WIRE_HAS_START | FG_WIRE_HAS_CALLER))) {
        tail = decode_tail(image, kind, tail);
        if (!tail)
            return 0;
    }
    return tail < image.end && *tail ? copy_rest(image, sizeof(struct fg_graph_data), tail)
                                     : (uint32_t)sizeof(struct fg_graph_data);
}

#define GRAPH_KIND(kind) ((kind) & (uint8_t) ~(FG_WIRE_HAS_START | FG_WIRE_HAS_CALLER | FG_WIRE_IRQ))

DECODE uint32_t decode_funcgraph_entry(struct image image)
{
    const struct fg_wire_funcgraph_entry *entry = (const struct fg_wire_funcgraph_entry *)image.data;

    *(struct fg_graph_data *)image.made = (struct fg_graph_data){
        .func = fg_function_index(entry->func),
        .depth = entry->depth,
        .kind = GRAPH_KIND(entry->kind),
        .is_irq = (entry->kind & FG_WIRE_IRQ) != 0,
        .caller = FG_FUNC_UNKNOWN,
    };
    return decode_values(image, entry->kind, entry->tail);
}

DECODE uint32_t decode_funcgraph_exit(struct image image)
{
    const struct fg_wire_funcgraph_exit *exit = (const struct fg_wire_funcgraph_exit *)image.data;

    *(struct fg_graph_data *)image.made = (struct fg_graph_data){
        .func = fg_function_index(exit->func),
        .depth = exit->depth,
        .kind = GRAPH_KIND(exit->kind),
        .is_irq = (exit->kind & FG_WIRE_IRQ) != 0,
        .calltime_ns = exit->calltime,
        .rettime_ns = exit->rettime,
        .overrun = exit->overrun,
        .caller = FG_FUNC_UNKNOWN,
    };
    return decode_values(image, exit->kind, exit->tail);
}

/* Takes the place off the front of @tail. Return: where the values begin. */
static inline const uint8_t *decode_flat(struct image image, struct fg_flat_data *call, uint32_t ip,
                                         uint32_t parent_ip, const uint8_t *tail)
{
    *call = (struct fg_flat_data){
        .func = fg_function_index(ip),
        .caller = fg_function_index(parent_ip),
        .caller_kind = parent_ip < FG_FUNC_ADDRESS_STEP ? FG_CALLER_NONE : FG_CALLER_FUNCTION,
    };
    if (parent_ip % FG_FUNC_ADDRESS_STEP == FG_WIRE_FUNC_INSIDE && image.end - tail >= 4) {
        call->caller_place = fg_load32(tail);
        tail += 4;
    }
    return tail;
}

static inline uint32_t decode_function(struct image image)
{
    const struct fg_wire_function *function = (const struct fg_wire_function *)image.data;
    const uint8_t *values = decode_flat(image, image.made, function->ip, function->parent_ip, function->tail);

    return copy_rest(image, sizeof(struct fg_flat_data), values);
}

static inline uint32_t decode_func_repeats(struct image image)
{
    const struct fg_wire_func_repeats *repeats = (const struct fg_wire_func_repeats *)image.data;
    struct fg_repeats_data *made = image.made;

    decode_flat(image, &made->call, repeats->ip, repeats->parent_ip, repeats->tail);
    made->last_ns = (uint64_t)repeats->top_delta_ts << 32 | repeats->bottom_delta_ts;
    made->count = repeats->count;
    return sizeof(*made);
}

static inline uint32_t decode_kernel_stack(struct image image)
{
    const uint8_t *at = image.data + sizeof(struct fg_wire_kernel_stack);
    struct fg_stack_data *made = image.made;

    made->nr_callers = (uint32_t)((size_t)(image.end - at) / sizeof(uint64_t));
    for (uint32_t i = 0; i < made->nr_callers; i++)
        made->callers[i] = fg_function_index(fg_load64(at + i * sizeof(uint64_t)));
    return (uint32_t)(sizeof(*made) + made->nr_callers * sizeof(made->callers[0]));
}

static inline uint32_t decode_print(struct image image)
{
    const struct fg_wire_print *print = (const struct fg_wire_print *)image.data;
    uint32_t func = fg_function_index(print->ip);

    *(struct fg_print_data *)image.made = (struct fg_print_data){
        .func = func,
        .is_mark = func == FG_FUNC_UNKNOWN && print->ip != FG_FUNC_ADDRESS_UNKNOWN,
    };
    return copy_rest(image, sizeof(struct fg_print_data), print->buf);
}

static inline uint32_t decode_raw_data(struct image image)
{
    const struct fg_wire_raw_data *raw = (const struct fg_wire_raw_data *)image.data;

    ((struct fg_raw_data *)image.made)->id = raw->id;
    return copy_rest(image, sizeof(struct fg_raw_data), raw->buf);
}

static inline uint32_t decode_recorder_wait(struct image image)
{
    struct fg_wait_data *made = image.made;

    made->duration_ns = ((const struct fg_wire_recorder_wait *)image.data)->duration_ns;
    return sizeof(*made);
}

static inline uint32_t decode_overrun(struct image image)
{
    struct fg_overrun_data *made = image.made;

    made->total = ((const struct fg_wire_overrun *)image.data)->total;
    return sizeof(*made);
}

FG_NOINLINE static uint32_t decode_other(uint32_t type, const uint8_t *data, uint32_t bytes, void *made)
{
    const struct image image = {data, data + bytes, made};

    switch (type) {
#define X(name, type, data_type)                                                                             \
    case type:                                                                                               \
        return bytes < sizeof(struct fg_wire_##name) ? 0 : decode_##name(image);
        FG_EVENTS(X)
#undef X
    default:
        return FOREIGN;
    }
}

void fg_dat_event_decode(struct fg_event *event, void *made)
{
    const uint8_t *data = event->data;
    uint32_t bytes = event->size, size = 0;
    const struct image image = {data, data + bytes, made};

    if (fg_likely(event->type == FG_EVENT_funcgraph_entry)) {
        if (bytes >= sizeof(struct fg_wire_funcgraph_entry))
            size = decode_funcgraph_entry(image);
    } else if (fg_likely(event->type == FG_EVENT_funcgraph_exit)) {
        if (bytes >= sizeof(struct fg_wire_funcgraph_exit))
            size = decode_funcgraph_exit(image);
    } else {
        size = decode_other(event->type, data, bytes, made);
        if (size == FOREIGN)
            return;
    }
    event->data = made;
    event->size = size;
}
