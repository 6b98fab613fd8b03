/* See dat_graph.h. */
#include "tracedata/read/dat_graph.h"

/* Each tail that lacks a part is in an image of less bytes. */
_Static_assert(sizeof(struct fg_wire_funcgraph_exit) + 8 <= sizeof(struct fg_graph_data) &&
                   sizeof(struct fg_wire_funcgraph_entry) + 16 <= sizeof(struct fg_graph_data),
               "an image that is too short must not look as if it were decoded");

/* Takes `start` and the caller off the front of a tail. Return: where the values begin; NULL: it is too
 * short. */
static const uint8_t *decode_tail(struct fg_graph_data *graph, uint8_t kind, const uint8_t *tail,
                                  const uint8_t *end)
{
    graph->kind = kind & (uint8_t) ~(FG_WIRE_HAS_START | FG_WIRE_HAS_CALLER | FG_WIRE_IRQ);
    graph->is_irq = (kind & FG_WIRE_IRQ) != 0;
    graph->caller = FG_FUNC_UNKNOWN;
    if (kind & FG_WIRE_HAS_START) {
        if (end - tail < 8)
            return NULL;
        graph->has_start = true;
        graph->start_ns = fg_load64(tail);
        tail += 8;
    }
    if (kind & FG_WIRE_HAS_CALLER) {
        if (end - tail < 8)
            return NULL;
        graph->caller_kind = fg_load32(tail) ? FG_CALLER_FUNCTION : FG_CALLER_NONE;
        graph->caller = fg_function_index(fg_load32(tail));
        graph->caller_place = fg_load32(tail + 4);
        tail += 8;
    }
    return tail;
}

static const uint8_t *decode_entry(const uint8_t *data, const uint8_t *end, struct fg_graph_data *graph)
{
    const struct fg_wire_funcgraph_entry *entry = (const struct fg_wire_funcgraph_entry *)data;

    if ((size_t)(end - data) < sizeof(*entry))
        return NULL;
    *graph = (struct fg_graph_data){.func = fg_function_index(entry->func), .depth = entry->depth};
    return decode_tail(graph, entry->kind, entry->tail, end);
}

static const uint8_t *decode_exit(const uint8_t *data, const uint8_t *end, struct fg_graph_data *graph)
{
    const struct fg_wire_funcgraph_exit *exit = (const struct fg_wire_funcgraph_exit *)data;

    if ((size_t)(end - data) < sizeof(*exit))
        return NULL;
    *graph = (struct fg_graph_data){
        .func = fg_function_index(exit->func),
        .depth = exit->depth,
        .calltime_ns = exit->calltime,
        .rettime_ns = exit->rettime,
        .overrun = exit->overrun,
    };
    return decode_tail(graph, exit->kind, exit->tail, end);
}

void fg_dat_graph_decode(struct fg_event *event, void *made)
{
    struct fg_graph_data *graph = made;
    const uint8_t *end = event->data + event->size;
    const uint8_t *values = event->type == FG_EVENT_funcgraph_entry ? decode_entry(event->data, end, graph)
                                                                    : decode_exit(event->data, end, graph);

    if (!values)
        return;
    memcpy(graph + 1, values, (size_t)(end - values));
    event->data = made;
    event->size = (uint32_t)(sizeof(*graph) + (size_t)(end - values));
}
