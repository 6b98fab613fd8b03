/* One lane whose imports are folded: the imports in progress, and from them what becomes of each event. */
#ifndef FG_FOLD_LANE_H
#define FG_FOLD_LANE_H

#include "engine/base/compiler.h"
#include "tracedata/base/folded.h"
#include "tracedata/read/name_table.h"

/* Bits of fg_fold_rules.functions. */
enum fg_fold_mark {
    FG_FOLD_MACHINERY = 1, /* a function of the import machinery */
    FG_FOLD_NAMES = 2,     /* its first argument is the name of the module that is imported */
    FG_FOLD_OWN = 4,       /* the program's own */
};

struct fg_fold_rules {
    const uint8_t *functions; /* by index: enum fg_fold_mark, or-ed */
    uint32_t nr_functions;
    struct fg_name_table *names;
};

#define FG_FOLD_NO_DEPTH UINT32_MAX

/* An import in progress: the outermost call of the import machinery. Depths are as recorded. */
struct fg_fold_import {
    uint32_t func, depth;
    uint32_t shown_depth; /* at which it is shown */
    uint32_t index;       /* of the import, as of a function */
    uint32_t own_depth;   /* of the program's own call in progress in it, or FG_FOLD_NO_DEPTH */
    bool is_named;        /* its name is final: it is known, or an event in it is shown already */
    struct fg_folded folded;
};

struct fg_fold_lane {
    struct fg_fold_import *imports; /* from the outermost one on */
    size_t nr_imports, capacity;
    uint32_t *open; /* by depth: the function of the folded call in progress */
    size_t open_capacity;
    uint32_t open_depth;
    int32_t tid; /* of the imports in progress */
};

/* What becomes of an event. */
enum fg_fold_step {
    FG_FOLD_PASS,  /* it stays as it is */
    FG_FOLD_SHOW,  /* it is shown at another depth */
    FG_FOLD_SKIP,  /* it is folded into the innermost import */
    FG_FOLD_BEGIN, /* it becomes the beginning of an import */
    FG_FOLD_END,   /* it becomes the end of an import */
    FG_FOLD_LEAVE, /* an import is over whose end is not in the trace: the event is to be taken again */
};

struct fg_fold_place {
    uint32_t depth;               /* SHOW: of the call */
    struct fg_fold_import import; /* BEGIN, END, LEAVE: which one */
};

void fg_fold_lane_free(struct fg_fold_lane *lane);

static inline uint8_t fg_fold_marks(const struct fg_fold_rules *rules, uint32_t func)
{
    return func < rules->nr_functions ? rules->functions[func] : 0;
}

/* Whether no import is in progress in the lane, and the event begins none: it would stay as it is. */
static inline bool fg_fold_lane_is_outside(const struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                                           const struct fg_event *event)
{
    if (lane->nr_imports)
        return false;
    return event->type != FG_EVENT_funcgraph_entry || !fg_event_is_whole(event) ||
           !(fg_fold_marks(rules, fg_event_graph(event)->func) & FG_FOLD_MACHINERY);
}

/* Takes in the lane's next event. Return: enum fg_fold_step, or -ENOMEM. */
int fg_fold_lane_take(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                      const struct fg_event *event, struct fg_fold_place *place);

/* The lane, or its task, has no further event. Return: whether an import was in progress; *@place has the
 * innermost one, which is over now. */
bool fg_fold_lane_leave(struct fg_fold_lane *lane, struct fg_fold_place *place);

#endif
