/* What users keep on the frames of the shadow stack: reserved words, objects, marks. */
#include "engine/graph/data.h"

#include <string.h>

uint64_t *fg_data_push(struct fg_task *task, const uint64_t *frame, uint32_t idx, enum fg_data_kind kind,
                       uint32_t size_words)
{
    uint64_t *data = fg_data_place(task, frame, idx, kind, size_words);

    if (data)
        memset(data, 0, size_words * sizeof(*data));
    return data;
}

uint64_t *fg_data_find(uint64_t *top, uint32_t idx, enum fg_data_kind kind, uint32_t *size_words)
{
    for (uint64_t *at = top - 1; fg_is_data(*at); at -= fg_data_size_words(*at) + 1) {
        if (fg_data_idx(*at) != idx || fg_data_kind(*at) != kind)
            continue;
        if (size_words)
            *size_words = fg_data_size_words(*at);
        return at - fg_data_size_words(*at);
    }
    return NULL;
}

FG_COLD static void drop_object(const uint64_t *descriptor)
{
    struct fg_func *func = fg_frame_func(descriptor - fg_descriptor_offset(*descriptor));

    fg_domain_drop_object(func->domain, (void *)(uintptr_t)descriptor[-1]);
}

void fg_data_drop(uint64_t *from, uint64_t *top)
{
    for (uint64_t *at = top - 1; at >= from && fg_is_data(*at); at -= fg_data_size_words(*at) + 1) {
        if (fg_unlikely(fg_data_kind(*at) == FG_DATA_OBJECT))
            drop_object(at);
    }
}

/* True if the user has reserved data of @kind at this entry. While its entryfunc runs, only this user can
 * have pushed the newest data. */
static bool has_reserved(const struct fg_task *task, uint32_t idx, enum fg_data_kind kind)
{
    const uint64_t *at = task->top - 1;

    for (; fg_is_data(*at) && fg_data_idx(*at) == idx; at -= fg_data_size_words(*at) + 1) {
        if (fg_data_kind(*at) == kind)
            return true;
    }
    return false;
}

static uint32_t slot_of(const struct fgraph_ops *ops)
{
    return (uint32_t)fg_user_of_const(ops)->idx;
}

void *fgraph_reserve_data(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops, size_t bytes)
{
    uint32_t idx = slot_of(ops), size_words = (uint32_t)((bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    uint64_t *data;

    if (!bytes || bytes > FGRAPH_MAX_DATA_BYTES || has_reserved(trace->task, idx, FG_DATA_WORDS))
        return NULL;
    data = fg_data_push(trace->task, trace->frame, idx, FG_DATA_WORDS, size_words);
    if (data)
        data[size_words] |= (size_words * sizeof(uint64_t) - bytes) << FG_DATA_SLACK_SHIFT;
    return data;
}

bool fgraph_reserve_object(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops, void *object)
{
    uint32_t idx = slot_of(ops);
    uint64_t *word = has_reserved(trace->task, idx, FG_DATA_OBJECT)
                         ? NULL
                         : fg_data_push(trace->task, trace->frame, idx, FG_DATA_OBJECT, 1);

    if (word)
        *word = (uint64_t)(uintptr_t)object;
    return word != NULL;
}

static void *find_words(uint64_t *top, uint32_t idx, size_t *bytes)
{
    uint32_t size_words = 0;
    uint64_t *data = fg_data_find(top, idx, FG_DATA_WORDS, &size_words);

    if (bytes)
        *bytes = data ? size_words * sizeof(uint64_t) -
                            (data[size_words] >> FG_DATA_SLACK_SHIFT & FG_DATA_SLACK_MASK)
                      : 0;
    return data;
}

void *fgraph_retrieve_data(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops, size_t *bytes)
{
    return find_words(trace->task->top, slot_of(ops), bytes);
}

void *fgraph_retrieve_object(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops)
{
    const uint64_t *word = fg_data_find(trace->task->top, slot_of(ops), FG_DATA_OBJECT, NULL);

    return word ? (void *)(uintptr_t)*word : NULL;
}

/* True if the frame is one of the user's own: the user saw its entry. */
static bool is_frame_of(const uint64_t *frame, uint64_t *top, const struct fgraph_ops *ops)
{
    uint32_t idx = slot_of(ops);

    return frame[FRAME_BITMAP] >> idx & 1 && fg_frame_user(frame, idx) == ops &&
           !fg_data_find(top, idx, FG_DATA_HIDES, NULL) && !fg_data_find(top, idx, FG_DATA_ROOT, NULL);
}

void *fgraph_retrieve_parent_data(const struct fg_task *task, const uint64_t *frame,
                                  const struct fgraph_ops *ops, unsigned depth, size_t *bytes)
{
    for (uint64_t *top = task->top, *at; top > task->stack; top = at) {
        at = fg_newest_frame(task, top);
        if (!at)
            return NULL;
        if (at <= frame && (at == frame || is_frame_of(at, top, ops)) && depth-- == 0)
            return find_words(top, slot_of(ops), bytes);
    }
    return NULL;
}
