/* The fast path of native calls of functions with one fprobe whose handlers use general registers only: see
 * call.h. Compiled as call_fast.c; it calls these handlers, and nothing else. */
#include "arch/native/call.h"
#include "arch/native/domain.h"
#include "arch/native/regs.h"
#include "engine/base/mutex.h"
#include "engine/core/task.h"
#include "engine/probe/probed_call.h"

/* In handlers of signals the slow path decides. What the handler calls is not traced. The caller has found no
 * holds: a store is quicker than a count. */
static inline bool section_begin(struct fg_task *task)
{
    if (fg_unlikely(task->context != FG_CONTEXT_NORMAL || !fg_guard_enter(task)))
        return false;
    fg_native_holds = 1;
    task->in_native = true;
    return true;
}

static inline void section_end(struct fg_task *task)
{
    task->in_native = false;
    fg_native_holds = 0;
    fg_guard_leave_normal(task);
}

/* Member by member: the compiler would zero the whole with an instruction that takes longer than all the rest
 * (rep stos). */
static inline void set_regs(struct fg_native_regs *regs, const struct fg_machine_registers *registers,
                            uintptr_t return_address, enum fg_native_point point)
{
    regs->regs.ops = &fg_native_regs_ops;
    regs->regs.frame = regs->regs.value = regs->regs.thread = NULL;
    regs->registers = registers;
    regs->vectors = NULL;
    regs->return_address = return_address;
    regs->point = point;
}

/* The function's fprobe, if its handlers can be called here. Fprobes of several interpreters may be on a
 * function, and come and go: it must be of the user that the function has. */
static inline const struct fg_fprobe_ref *find_ref(struct fg_func *func, uint32_t probed)
{
    const struct fg_fprobe_ref *ref = fg_likely(probed) ? fg_probed_ref(func) : NULL;

    return fg_likely(ref && ref->is_general) &&
                   atomic_load_explicit(&fg_root.slots[fg_probed_idx(probed)].ops, memory_order_relaxed) ==
                       ref->ops
               ? ref
               : NULL;
}

/* The answer of fg_native_enter(), and FG_NATIVE_SLOW if nothing was done. */
static inline struct fg_native_entry *enter(struct fg_task *task, struct fg_func *func,
                                            struct fg_native_entry *entry, struct fg_native_regs *regs)
{
    uint32_t probed = fg_func_probed(func);
    const struct fg_fprobe_ref *ref = find_ref(func, probed);
    const uint64_t *top = task->top;

    if (fg_unlikely(!ref || !fg_probed_enter(task, func, ref, probed, (uintptr_t)entry, regs->return_address,
                                             &regs->regs)))
        return FG_NATIVE_SLOW;
    return task->top == top ? FG_NATIVE_UNTRACED : entry;
}

struct fg_native_entry *fg_native_enter_probed(struct fg_task *task, struct fg_func *func,
                                               const uintptr_t *stack,
                                               const struct fg_machine_registers *registers)
{
    struct fg_native_entry *entry = fg_native_entry_take(task->native), *answer = FG_NATIVE_SLOW;
    struct fg_native_regs regs;

    if (fg_unlikely(!entry))
        return FG_NATIVE_SLOW;
    set_regs(&regs, registers, *stack, FG_NATIVE_ENTRY);
    regs.ip = fg_native_address_of(func);
    regs.fp = (uintptr_t)entry;
    if (fg_likely(section_begin(task))) {
        answer = enter(task, func, entry, &regs);
        section_end(task);
    }
    if (fg_likely(answer == entry))
        fg_native_entry_begin(task->native, entry, stack);
    else
        fg_native_entry_give_back(task->native, entry);
    return answer;
}

/* If a user has left while the handler ran, the hooks may have to go with this call. The slow path looks: it
 * ends the frame, and finds nobody to call. */
static inline bool leave(struct fg_task *task, struct fg_native_entry *entry, struct fg_native_regs *regs)
{
    struct fg_probed call;
    struct fprobe *probe;

    if (!fg_probed_find(task, (uintptr_t)entry, &call) || fg_func_has_pending_returns(call.func))
        return false;
    probe = fg_live_fprobe(call.piece[0]);
    if (fg_unlikely(probe && !(probe->flags & FTRACE_OPS_FL_GENERAL_REGS)))
        return false;
    regs->ip = fg_native_address_of(call.func);
    fg_probed_exit(&call, probe, entry->return_address, &regs->regs);
    if (fg_unlikely(fg_func_has_pending_returns(call.func))) {
        call.user->depth++;
        call.piece[0] = fg_live_no_word(call.piece[0]);
        return false;
    }
    task->top = call.frame;
    return true;
}

bool fg_native_leave_probed(struct fg_task *task, struct fg_native_entry *entry,
                            const struct fg_machine_registers *registers)
{
    struct fg_native_regs regs;
    bool is_done;

    if (fg_unlikely(!section_begin(task)))
        return false;
    set_regs(&regs, registers, entry->return_address, FG_NATIVE_RETURN);
    regs.fp = (uintptr_t)entry;
    is_done = leave(task, entry, &regs);
    section_end(task);
    if (fg_likely(is_done))
        fg_native_entry_end(task->native, entry);
    return is_done;
}
