/* Entries and exits of calls as they lie in a trace.dat: the images of wire.h. */
#ifndef FG_DAT_GRAPH_IMAGE_H
#define FG_DAT_GRAPH_IMAGE_H

#include "tracedata/base/trace_event.h"

static inline uint32_t fg_dat_graph_fixed_bytes(const struct fg_event *event)
{
    return event->type == FG_EVENT_funcgraph_entry ? sizeof(struct fg_wire_funcgraph_entry)
                                                   : sizeof(struct fg_wire_funcgraph_exit);
}

/* The bytes of the image of an entry or exit. */
static inline uint32_t fg_dat_graph_bytes(const struct fg_event *event)
{
    const struct fg_graph_data *graph = fg_event_graph(event);

    return fg_dat_graph_fixed_bytes(event) + (graph->has_start ? 8 : 0) + (graph->caller_kind ? 8 : 0) +
           (uint32_t)(event->size - sizeof(*graph));
}

static inline uint8_t fg_dat_graph_kind(const struct fg_graph_data *graph)
{
    return (uint8_t)(graph->kind | (graph->has_start ? FG_WIRE_HAS_START : 0) |
                     (graph->caller_kind ? FG_WIRE_HAS_CALLER : 0) | (graph->is_irq ? FG_WIRE_IRQ : 0));
}

static inline void fg_dat_graph_put_tail(const struct fg_event *event, uint8_t *tail)
{
    const struct fg_graph_data *graph = fg_event_graph(event);

    if (graph->has_start) {
        memcpy(tail, &graph->start_ns, sizeof(graph->start_ns));
        tail += sizeof(graph->start_ns);
    }
    if (graph->caller_kind) {
        const uint32_t caller[2] = {
            graph->caller_kind == FG_CALLER_FUNCTION ? fg_function_address(graph->caller) : 0,
            graph->caller_place,
        };

        memcpy(tail, caller, sizeof(caller));
        tail += sizeof(caller);
    }
    if (event->size > sizeof(*graph))
        memcpy(tail, graph + 1, event->size - sizeof(*graph));
}

/* Writes the image to @image, of fg_dat_graph_bytes() bytes. */
static inline void fg_dat_graph_put(const struct fg_event *event, void *image)
{
    const struct fg_graph_data *graph = fg_event_graph(event);
    struct fg_wire_funcgraph_entry *entry = image;
    struct fg_wire_funcgraph_exit *exit = image;

    if (event->type == FG_EVENT_funcgraph_entry) {
        *entry = (struct fg_wire_funcgraph_entry){
            .common_type = FG_EVENT_funcgraph_entry,
            .common_pid = event->tid,
            .func = fg_function_address(graph->func),
            .depth = graph->depth,
            .kind = fg_dat_graph_kind(graph),
        };
        fg_dat_graph_put_tail(event, entry->tail);
    } else {
        *exit = (struct fg_wire_funcgraph_exit){
            .common_type = FG_EVENT_funcgraph_exit,
            .common_pid = event->tid,
            .func = fg_function_address(graph->func),
            .depth = graph->depth,
            .calltime = graph->calltime_ns,
            .rettime = graph->rettime_ns,
            .overrun = graph->overrun,
            .kind = fg_dat_graph_kind(graph),
        };
        fg_dat_graph_put_tail(event, exit->tail);
    }
}

#endif
