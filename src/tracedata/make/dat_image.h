/* Events as they lie in a trace.dat: the images of wire.h. */
#ifndef FG_DAT_IMAGE_H
#define FG_DAT_IMAGE_H

#include "engine/base/compiler.h"
#include "tracedata/base/wire.h"

/* ---- entries and exits, of which there are many */

static inline uint32_t fg_dat_graph_has_caller(const struct fg_graph_data *graph)
{
    return graph->caller_kind != FG_CALLER_NOT_RECORDED;
}

static inline uint8_t fg_dat_graph_kind(const struct fg_graph_data *graph)
{
    return (uint8_t)(graph->kind | graph->has_start * FG_WIRE_HAS_START |
                     fg_dat_graph_has_caller(graph) * FG_WIRE_HAS_CALLER | graph->is_irq * FG_WIRE_IRQ);
}

/* The bytes of the image of one. */
static inline uint32_t fg_dat_graph_bytes(const struct fg_event *event)
{
    const struct fg_graph_data *graph = fg_event_graph(event);
    uint32_t fixed = event->type == FG_EVENT_funcgraph_entry ? sizeof(struct fg_wire_funcgraph_entry)
                                                             : sizeof(struct fg_wire_funcgraph_exit);

    return fixed + 8 * (graph->has_start + fg_dat_graph_has_caller(graph)) +
           (event->size - (uint32_t)sizeof(*graph));
}

/* The fields of the image of an entry or exit. */
static inline void fg_dat_put_entry(const struct fg_graph_data *graph, int32_t tid, uint8_t kind,
                                    struct fg_wire_funcgraph_entry *entry)
{
    *entry = (struct fg_wire_funcgraph_entry){
        .common_type = FG_EVENT_funcgraph_entry,
        .common_pid = tid,
        .func = fg_function_address(graph->func),
        .depth = graph->depth,
        .kind = kind,
    };
}

static inline void fg_dat_put_exit(const struct fg_graph_data *graph, int32_t tid, uint8_t kind,
                                   struct fg_wire_funcgraph_exit *exit)
{
    *exit = (struct fg_wire_funcgraph_exit){
        .common_type = FG_EVENT_funcgraph_exit,
        .common_pid = tid,
        .func = fg_function_address(graph->func),
        .depth = graph->depth,
        .calltime = graph->calltime_ns,
        .rettime = graph->rettime_ns,
        .overrun = graph->overrun,
        .kind = kind,
    };
}

static inline void fg_dat_put_tail(const struct fg_graph_data *graph, uint32_t values_bytes, uint8_t *tail)
{
    if (graph->has_start) {
        memcpy(tail, &graph->start_ns, sizeof(graph->start_ns));
        tail += sizeof(graph->start_ns);
    }
    if (fg_unlikely(graph->caller_kind)) {
        const uint32_t caller[2] = {
            graph->caller_kind == FG_CALLER_FUNCTION ? fg_function_address(graph->caller) : 0,
            graph->caller_place,
        };

        memcpy(tail, caller, sizeof(caller));
        tail += sizeof(caller);
    }
    if (values_bytes)
        memcpy(tail, graph + 1, values_bytes);
}

/* Writes the image of an entry or exit to @image, of fg_dat_graph_bytes() bytes. */
static inline void fg_dat_graph_put(const struct fg_event *event, void *image)
{
    const struct fg_graph_data *graph = fg_event_graph(event);
    uint8_t kind = fg_dat_graph_kind(graph), *tail;

    if (event->type == FG_EVENT_funcgraph_entry) {
        fg_dat_put_entry(graph, event->tid, kind, image);
        tail = ((struct fg_wire_funcgraph_entry *)image)->tail;
    } else {
        fg_dat_put_exit(graph, event->tid, kind, image);
        tail = ((struct fg_wire_funcgraph_exit *)image)->tail;
    }
    fg_dat_put_tail(graph, event->size - (uint32_t)sizeof(*graph), tail);
}

/* ---- all others of FG_EVENTS */

/* The bytes of the image of one; 0: the event is of another type. */
uint32_t fg_dat_other_bytes(const struct fg_event *event);
/* Writes it to @image, of as many bytes. */
void fg_dat_other_put(const struct fg_event *event, void *image);

#endif
