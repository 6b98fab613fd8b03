/* See kernel.h. */
#include "tracedata/read/dat/kernel.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/ring/record.h"
#include "tracedata/base/wire.h"

struct fg_kernel *fg_kernel_new(const struct fg_dat_time *time)
{
    struct fg_kernel *kernel = calloc(1, sizeof(*kernel));

    if (!kernel)
        return NULL;
    kernel->time = *time;
    kernel->by_id = calloc(FG_KERNEL_NR_IDS, sizeof(*kernel->by_id));
    if (!kernel->by_id) {
        free(kernel);
        return NULL;
    }
    return kernel;
}

void fg_kernel_free(struct fg_kernel *kernel)
{
    if (!kernel)
        return;
    for (uint32_t i = 0; i < kernel->nr_events; i++)
        free(kernel->events[i].name);
    free(kernel->events);
    free(kernel->by_id);
    free(kernel->addresses);
    free(kernel);
}

/* Which role must have each field. */
static const uint8_t required_by[FG_KERNEL_NR_FIELDS] = {
#define X(id, role, name) [FG_KERNEL_FIELD_##id] = FG_KERNEL_##role,
    FG_KERNEL_FIELDS(X)
#undef X
};

static bool is_number(unsigned bytes)
{
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Entries and exits have func and depth; other fields belong to one role. */
static bool is_required(const struct fg_kernel_event *event, int field)
{
    return required_by[field] != FG_KERNEL_OTHER &&
           (required_by[field] == event->role ||
            (required_by[field] == FG_KERNEL_ENTRY && event->role == FG_KERNEL_EXIT));
}

int fg_kernel_add_event(struct fg_kernel *kernel, const struct fg_kernel_event *event)
{
    struct fg_kernel_event *added;
    uint32_t bytes = sizeof(struct fg_wire_common);

    if (event->role > FG_KERNEL_FUNCTION || kernel->by_id[event->id])
        return -EINVAL;
    for (int i = 0; i < FG_KERNEL_NR_FIELDS; i++) {
        const struct fg_kernel_place *place = &event->places[i];
        uint32_t end = (uint32_t)place->offset + (i == FG_KERNEL_FIELD_ARGS ? 0 : place->bytes);

        if (place->bytes == 0 ? is_required(event, i) : !is_number(place->bytes))
            return -EINVAL;
        if (place->bytes && end > bytes)
            bytes = end;
    }
    if (fg_array_reserve(&kernel->events, &kernel->events_capacity, kernel->nr_events + (size_t)1) < 0)
        return -ENOMEM;
    added = &kernel->events[kernel->nr_events];
    *added = *event;
    added->bytes = bytes;
    added->name = strdup(event->name);
    if (!added->name)
        return -ENOMEM;
    kernel->by_id[event->id] = ++kernel->nr_events;
    return 0;
}

void fg_kernel_set_addresses(struct fg_kernel *kernel, struct fg_kernel_address *addresses, size_t n)
{
    free(kernel->addresses);
    kernel->addresses = addresses;
    kernel->nr_addresses = n;
}

uint64_t fg_kernel_time(const struct fg_kernel *kernel, uint64_t time)
{
    if (kernel->time.mult)
        time = (uint64_t)((unsigned __int128)time * kernel->time.mult >> kernel->time.shift);
    return time + (uint64_t)kernel->time.offset_ns;
}

/* NULL: the trace has too many addresses, and this is not among those that were taken. */
static const struct fg_kernel_address *find_address(const struct fg_kernel *kernel, uint64_t address)
{
    size_t low = 0, high = kernel->nr_addresses;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (kernel->addresses[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < kernel->nr_addresses && kernel->addresses[low].address == address ? &kernel->addresses[low]
                                                                                   : NULL;
}

/* The index of the function in which an address lies; *offset is its place there. */
static uint32_t find_function(const struct fg_kernel *kernel, uint64_t address, uint32_t *offset)
{
    const struct fg_kernel_address *found = find_address(kernel, address);

    *offset = found ? found->offset : 0;
    return found ? found->function : FG_FUNC_UNKNOWN;
}

static uint8_t *put_args(uint8_t *at, const struct fg_event *head, struct fg_kernel_place place)
{
    uint32_t offset = place.offset;

    for (unsigned i = 0; place.bytes && offset + place.bytes <= head->size; i++, offset += place.bytes) {
        if (i == FG_KERNEL_ARGS_MAX) {
            *at++ = FG_VALUE_MORE;
            break;
        }
        at += fg_value_put_word(
            at, fg_kernel_number(head->data + offset, (struct fg_kernel_place){0, place.bytes}), place.bytes);
    }
    return at;
}

/* What entries and exits have. */
static void make_graph(const struct fg_kernel *kernel, const struct fg_kernel_event *event,
                       struct fg_graph_data *graph, const struct fg_event *head, uint32_t kind)
{
    const struct fg_kernel_place *places = event->places;
    uint32_t place;

    *graph = (struct fg_graph_data){
        .func = find_function(kernel, fg_kernel_number(head->data, places[FG_KERNEL_FIELD_FUNC]), &place),
        .depth = (uint32_t)fg_kernel_number(head->data, places[FG_KERNEL_FIELD_DEPTH]),
        .kind = (uint8_t)kind,
        .caller = FG_FUNC_UNKNOWN,
    };
}

static uint32_t make_entry(const struct fg_kernel *kernel, const struct fg_kernel_event *event,
                           struct fg_kernel_record *made, const struct fg_event *head)
{
    const struct fg_kernel_place *places = event->places;
    struct fg_graph_data *graph = &made->graph;

    make_graph(kernel, event, graph, head, FG_ENTRY_START);
    if (places[FG_KERNEL_FIELD_RETADDR].bytes) {
        graph->caller_kind = FG_CALLER_FUNCTION;
        graph->caller = find_function(kernel, fg_kernel_number(head->data, places[FG_KERNEL_FIELD_RETADDR]),
                                      &graph->caller_place);
    }
    return (uint32_t)(put_args((uint8_t *)(graph + 1), head, places[FG_KERNEL_FIELD_ARGS]) - made->bytes);
}

static uint32_t make_exit(const struct fg_kernel *kernel, const struct fg_kernel_event *event,
                          struct fg_kernel_record *made, const struct fg_event *head)
{
    const struct fg_kernel_place *places = event->places;
    struct fg_graph_data *graph = &made->graph;
    uint8_t *at = (uint8_t *)(graph + 1);
    uint64_t overrun = fg_kernel_number(head->data, places[FG_KERNEL_FIELD_OVERRUN]);

    make_graph(kernel, event, graph, head, FG_EXIT_RETURN);
    graph->calltime_ns = fg_kernel_number(head->data, places[FG_KERNEL_FIELD_CALLTIME]);
    graph->rettime_ns = fg_kernel_number(head->data, places[FG_KERNEL_FIELD_RETTIME]);
    graph->overrun = overrun > UINT16_MAX ? UINT16_MAX : (uint16_t)overrun;
    if (places[FG_KERNEL_FIELD_RETVAL].bytes) {
        uint64_t word = fg_kernel_number(head->data, places[FG_KERNEL_FIELD_RETVAL]);

        at += fg_value_put_word(at, word, fg_result_bytes(word));
    }
    return (uint32_t)(at - made->bytes);
}

static uint32_t make_function(const struct fg_kernel *kernel, const struct fg_kernel_event *event,
                              struct fg_kernel_record *made, const struct fg_event *head)
{
    const struct fg_kernel_place *places = event->places;
    uint32_t place;

    made->call = (struct fg_flat_data){
        .func = find_function(kernel, fg_kernel_number(head->data, places[FG_KERNEL_FIELD_IP]), &place),
        .caller =
            find_function(kernel, fg_kernel_number(head->data, places[FG_KERNEL_FIELD_PARENT_IP]), &place),
        .caller_kind = FG_CALLER_FUNCTION,
    };
    return sizeof(made->call);
}

bool fg_kernel_convert(const struct fg_kernel *kernel, struct fg_kernel_record *made, struct fg_event *head)
{
    const struct fg_kernel_event *event = fg_kernel_event(kernel, head->type);
    uint32_t type, size;

    head->type += FG_EVENT_KERNEL;
    if (!event || event->role == FG_KERNEL_OTHER)
        return true;
    if (head->size < event->bytes)
        return false;
    if (!kernel->addresses)
        return true;
    switch (event->role) {
    case FG_KERNEL_ENTRY:
        type = FG_EVENT_funcgraph_entry;
        size = make_entry(kernel, event, made, head);
        break;
    case FG_KERNEL_EXIT:
        type = FG_EVENT_funcgraph_exit;
        size = make_exit(kernel, event, made, head);
        break;
    default:
        type = FG_EVENT_function;
        size = make_function(kernel, event, made, head);
        break;
    }
    head->type = type;
    head->data = made->bytes;
    head->size = size;
    return true;
}
