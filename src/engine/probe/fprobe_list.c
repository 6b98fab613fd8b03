/* See fprobe_list.h. */
#include "engine/probe/fprobe_list.h"

#include <stdlib.h>

#include "engine/graph/data.h"

static bool is_live(const struct fg_fprobe_ref *ref)
{
    return fg_live_is_registered(ref->live, ref->word);
}

void fg_fprobe_ref_set_slot(struct fg_fprobe_ref *ref, uint32_t idx)
{
    ref->piece_descriptor =
        fg_data_descriptor(FG_FRAME_WORDS + ref->piece_words, idx, FG_DATA_WORDS, ref->piece_words);
}

void fg_fprobe_list_set_only(struct fg_fprobe_list *list)
{
    const struct fg_fprobe_ref *ref = &list->refs[0];

    if (list->n != 1)
        return;
    if (ref->has_exit)
        list->only.probed = fg_task_user_offset(fg_data_idx(ref->piece_descriptor));
    if (ref->is_general)
        list->only.general_probed = list->only.probed;
}

void fg_fprobe_list_publish(struct fg_func *func, struct fg_fprobe_list *list)
{
    /* release: a callback that sees the list sees its contents */
    atomic_store_explicit(&func->fprobes, list, memory_order_release);
}

void fg_fprobe_list_retire(struct fg_fprobe_list *list)
{
    if (list)
        fg_retire(FG_RETIRED_OTHER, &list->retired);
}

struct fg_fprobe_list *fg_fprobe_list_new(uint32_t room)
{
    struct fg_fprobe_list *list = malloc(sizeof(*list) + room * sizeof(list->refs[0]));

    if (!list)
        return NULL;
    list->n = 0;
    list->only = (struct fg_fprobe_only){FG_NOT_PROBED, FG_NOT_PROBED};
    return list;
}

struct fg_fprobe_list *fg_fprobe_list_copy(const struct fg_fprobe_list *old, uint32_t more)
{
    struct fg_fprobe_list *list = fg_fprobe_list_new((old ? old->n : 0) + more);

    for (uint32_t i = 0; list && old && i < old->n; i++) {
        if (is_live(&old->refs[i]))
            list->refs[list->n++] = old->refs[i];
    }
    if (list && !more)
        fg_fprobe_list_set_only(list);
    return list;
}

bool fg_fprobe_list_has(const struct fg_fprobe_list *list, uint64_t word)
{
    for (uint32_t i = 0; list && i < list->n; i++) {
        if (list->refs[i].word == word)
            return true;
    }
    return false;
}

bool fg_fprobe_list_wants(const struct fg_fprobe_list *list, const struct fgraph_ops *ops)
{
    bool wants = false;

    for (uint32_t i = 0; list && i < list->n; i++)
        wants |= list->refs[i].ops == ops;
    return wants;
}

bool fg_fprobe_list_wants_returns(const struct fg_fprobe_list *list, const struct fgraph_ops *ops)
{
    bool wants = false;

    for (uint32_t i = 0; list && i < list->n; i++)
        wants |= list->refs[i].ops == ops && list->refs[i].has_exit;
    return wants;
}

static uint32_t nr_live(const struct fg_fprobe_list *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->n; i++)
        n += is_live(&list->refs[i]);
    return n;
}

void fg_fprobe_list_remove_dead(struct fg_func *func)
{
    struct fg_fprobe_list *old = atomic_load_explicit(&func->fprobes, memory_order_relaxed);
    bool is_empty = !nr_live(old);
    struct fg_fprobe_list *list = is_empty ? NULL : fg_fprobe_list_copy(old, 0);

    if (!list && !is_empty)
        return;
    fg_fprobe_list_publish(func, list);
    fg_fprobe_list_retire(old);
}
