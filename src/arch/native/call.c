/* The slow path of native calls: see call.h. Whatever a call may need here, the program's own code
 * waits for it: it may be in the middle of the allocator or hold any lock. So nothing here allocates
 * with the C library or waits for what the program holds. */
#include "arch/native/call.h"

#include <errno.h>

#include "arch/native/domain.h"
#include "arch/native/regs.h"
#include "arch/native/unwind.h"
#include "engine/core/regs.h"
#include "engine/core/task.h"
#include "engine/graph/call.h"
#include "engine/graph/end.h"
#include "engine/graph/frame.h"
#include "engine/graph/user_list.h"

/* As far below a new call as one can lie on the same stack. What lies farther away is taken for another
 * stack's. */
#define FAR_BYTES (1u << 20)

struct fg_native_text fg_native_own_text;
void (*fg_native_take_off)(void);

/* ---- returns */

struct search {
    uintptr_t fp;
    const struct fg_func *func;     /* of the frame, if it is found */
    bool is_found, is_below_others; /* frames of other domains lie above it */
};

static bool search_frame(const struct fg_frame_info *frame, void *arg)
{
    struct search *search = arg;

    search->is_found = frame->fp == search->fp;
    search->func = frame->func;
    if (!search->is_found && frame->func->domain != &fg_native_domain)
        search->is_below_others = true;
    return !search->is_found;
}

/* Ends the call in the trace. Frames of an interpreter above it stay, and it with them: only the
 * interpreter can say that its calls have ended, or that they are suspended. */
static void trace_return(struct fg_task *task, struct fg_native_entry *entry, uint64_t counter,
                         enum fg_end end, struct fg_native_regs *regs)
{
    struct search search = {.fp = (uintptr_t)entry};
    struct fg_ending ending;

    if (!fg_task_is_quiet(task))
        return;
    fg_walk(task, search_frame, &search);
    if (!search.is_found || search.is_below_others)
        return;
    ending = fg_return_begin(task);
    if (ending.counter && counter)
        ending.counter = counter;
    fg_task_begin_native(task);
    regs->func = search.func;
    regs->regs.value = (void *)regs->registers; /* the result is there; NULL: the call has none */
    regs->fp = search.fp;
    fg_return_at(task, search.fp, ending, &regs->regs, end);
    fg_task_end_native(task);
}

/* Takes the entry out of the calls in progress. False: it is not among them. */
static bool unlink_entry(struct fg_native_calls *calls, const struct fg_native_entry *entry)
{
    struct fg_native_entry **at = &calls->newest;

    while (*at && *at != entry)
        at = &(*at)->next;
    if (!*at)
        return false;
    *at = entry->next;
    return true;
}

static void end_call(struct fg_native_entry *entry, uint64_t counter, enum fg_end end, bool is_traced,
                     struct fg_native_regs *regs)
{
    struct fg_task *task = fg_task_self;

    if (!task || entry->owner != &task->native) {
        /* Another thread began the call, on a stack that runs here now. */
        atomic_store_explicit(&entry->stack, 0, memory_order_relaxed);
        return;
    }
    if (is_traced)
        trace_return(task, entry, counter, end, regs);
    unlink_entry(&task->native, entry);
    fg_native_entry_give_back(&task->native, entry);
}

/* What the engine does here must not be seen by the program: neither errno nor its own calls. */
struct slow_section {
    int error;
    bool is_first;
};

static struct slow_section slow_begin(void)
{
    struct slow_section section = {.is_first = !fg_native_holds};

    fg_native_hide();
    section.error = errno;
    return section;
}

static void slow_end(struct slow_section section)
{
    errno = section.error;
    fg_native_show();
}

/* A program has kept a copy of a stack, and has run it twice. The entry still has the address, as nobody has
 * used it since. The next time another call may have it. */
static void returned_again(const struct fg_native_entry *entry)
{
    fg_kill("a native call returned to %#zx a second time", (size_t)entry->return_address);
}

uint64_t fg_native_leave_slow(struct fg_native_entry *entry, uint64_t counter, const void *vectors,
                              const struct fg_machine_registers *registers)
{
    struct slow_section section = slow_begin();
    struct fg_native_regs full;
    struct fg_native_regs regs = {.regs = {.ops = &fg_native_regs_ops},
                                  .full = &full,
                                  .registers = registers,
                                  .vectors = vectors,
                                  .return_address = entry->return_address,
                                  .point = FG_NATIVE_RETURN};

    if (atomic_load_explicit(&entry->stack, memory_order_relaxed))
        end_call(entry, counter, FG_END_RETURN, section.is_first, &regs);
    else
        returned_again(entry);
    slow_end(section);
    return 0;
}

void fg_native_unwound(struct fg_native_entry *entry, bool is_exception)
{
    struct slow_section section = slow_begin();
    struct fg_native_regs nothing = {.func = NULL};

    end_call(entry, 0, is_exception ? FG_END_RAISE : FG_END_CLOSE, section.is_first, &nothing);
    slow_end(section);
}

/* ---- entries */

/* True if the call most likely has ended unseen, by longjmp(). If it has not, only the trace is wrong:
 * its entry stays as it is. */
static bool is_over(const struct fg_native_entry *entry, const uintptr_t *stack)
{
    return entry && fg_native_is_passed(entry, stack) &&
           (uintptr_t)stack - atomic_load_explicit(&entry->stack, memory_order_relaxed) < FAR_BYTES;
}

static void close_those_over(struct fg_task *task, const uintptr_t *stack)
{
    while (is_over(task->native.newest, stack)) {
        struct fg_native_entry *entry = task->native.newest;
        struct fg_native_regs nothing = {.func = NULL};

        trace_return(task, entry, 0, FG_END_CLOSE, &nothing);
        task->native.newest = entry->next;
    }
}

/* True if the call has a frame, and its return is awaited. */
static bool trace_entry(struct fg_task *task, struct fg_func *func, uintptr_t fp, struct fg_native_regs *regs)
{
    const uint64_t *top = task->top;

    fg_task_begin_native(task);
    regs->fp = fp;
    fg_enter(task, func, fp, &regs->regs);
    fg_task_end_native(task);
    return task->top > top && fg_top_is(task, fp);
}

static struct fg_native_entry *find_entry(struct fg_task *task)
{
    struct fg_native_entry *entry = fg_native_entry_take(&task->native);

    return entry || !fg_native_entries_more(task) ? entry : fg_native_entry_take(&task->native);
}

/* NULL: the thread is not traced. One that is apart has a task that is not its current one. The call may be
 * made within the program's allocator. Where a task takes memory of that, a thread gets its task from another
 * arch, and native calls before that are not traced. */
static struct fg_task *current_task(void)
{
    struct fg_task *task = fg_task_self || !fg_task_creation_allocates() ? fg_task_current() : NULL;

    return task && task == fg_task_self && !task->exiting ? task : NULL;
}

static struct fg_native_entry *enter(struct fg_func *func, const uintptr_t *stack,
                                     struct fg_native_regs *regs)
{
    struct fg_task *task = current_task();
    struct fg_native_entry *entry;

    if (!task)
        return FG_NATIVE_UNTRACED;
    close_those_over(task, stack);
    if (!fg_func_has_users(func))
        return FG_NATIVE_UNTRACED;
    entry = find_entry(task);
    if (!entry) {
        fg_count_overrun(task);
        return FG_NATIVE_UNTRACED;
    }
    if (trace_entry(task, func, (uintptr_t)entry, regs)) {
        fg_native_entry_begin(&task->native, entry, stack);
        return entry;
    }
    fg_native_entry_give_back(&task->native, entry);
    return FG_NATIVE_UNTRACED;
}

struct fg_native_entry *fg_native_enter_slow(const struct fg_native_site *site, const uintptr_t *stack,
                                             const void *vectors,
                                             const struct fg_machine_registers *registers)
{
    struct slow_section section = slow_begin();
    struct fg_native_regs full;
    struct fg_native_regs regs = {.regs = {.ops = &fg_native_regs_ops},
                                  .full = &full,
                                  .registers = registers,
                                  .vectors = vectors,
                                  .func = site->func,
                                  .return_address = *stack};
    struct fg_native_entry *entry = FG_NATIVE_UNTRACED;

    if (fg_is_killed())
        fg_native_take_off();
    else if (section.is_first)
        entry = enter(site->func, stack, &regs);
    slow_end(section);
    return entry;
}

/* ---- places */

/* Users of places want no returns. Should one have wanted it, its frame goes at once. */
static void hit(struct fg_func *func, const uintptr_t *stack, struct fg_native_regs *regs)
{
    struct fg_task *task = current_task();
    struct fg_native_regs nothing = {.func = NULL};

    if (!task)
        return;
    close_those_over(task, stack);
    if (trace_entry(task, func, (uintptr_t)regs, regs))
        fg_return_at(task, (uintptr_t)regs, fg_return_begin(task), &nothing.regs, FG_END_CLOSE);
}

void fg_native_place(const struct fg_native_site *site, const uintptr_t *stack, const void *vectors,
                     const struct fg_machine_registers *registers)
{
    struct slow_section section = slow_begin();
    struct fg_native_regs full;
    struct fg_native_regs regs = {.regs = {.ops = &fg_native_regs_ops},
                                  .full = &full,
                                  .registers = registers,
                                  .vectors = vectors,
                                  .func = site->func,
                                  .point = FG_NATIVE_PLACE};

    if (!fg_is_killed())
        hit(site->func, stack, &regs);
    else
        fg_native_take_off();
    slow_end(section);
}
