/* The fast path of native calls of functions with one fprobe whose handlers use general registers only: see
 * call.h. Compiled as call_fast.c; it calls these handlers, and nothing else. */
#include "arch/native/call.h"
#include "arch/native/regs.h"
#include "engine/base/clock.h"
#include "engine/core/task.h"
#include "engine/probe/probed_call.h"

/* Member by member: what the ops do not read is not set. */
static inline void set_regs(struct fg_native_regs *regs, const struct ftrace_regs_ops *ops,
                            const struct fg_machine_registers *registers, const struct fg_func *func,
                            const struct fg_native_entry *entry)
{
    regs->regs.ops = ops;
    regs->registers = registers;
    regs->func = func;
    regs->fp = (uintptr_t)entry;
}

/* The handler wants no exit, so the return is not traced. */
FG_COLD static struct fg_native_entry *cancel(struct fg_task *task, struct fg_native_entry *entry)
{
    fg_probed_cancel(task);
    fg_native_entry_end(&task->native, entry);
    return FG_NATIVE_UNTRACED;
}

/* The entry, with a piece of data of a known size. The call is in progress before its handler runs, so little
 * has to be kept meanwhile. */
static inline struct fg_native_entry *enter_with(struct fg_task *task, struct fg_probed_entry call,
                                                 uint32_t piece_words, const uintptr_t *stack,
                                                 const struct fg_machine_registers *registers)
{
    struct fg_native_entry *entry;
    struct fg_native_regs regs;
    uint64_t *piece;

    call.descriptor = fg_probed_descriptor(task, piece_words);
    if (fg_unlikely(!call.descriptor))
        return FG_NATIVE_SLOW;
    entry = fg_native_entry_take(&task->native);
    if (fg_unlikely(!entry))
        return FG_NATIVE_SLOW;
    piece = fg_probed_push(task, &call, piece_words, (uintptr_t)entry);
    fg_native_entry_begin(&task->native, entry, stack);
    set_regs(&regs, &fg_native_entry_regs_ops, registers, call.func, entry);
    return fg_likely(!fg_probed_cancels_exit(call.ref->fp, call.func, *stack, &regs.regs,
                                             fg_piece_data(piece, piece_words)))
               ? entry
               : cancel(task, entry);
}

static inline struct fg_probed_entry find(struct fg_func *func)
{
    uint32_t probed = fg_func_probed(func);

    return (struct fg_probed_entry){func, probed, fg_probed_ref(func, probed, true), 0};
}

/* Out of line: while the size varies, the processor has too few registers for all that is known. */
FG_NOINLINE static struct fg_native_entry *enter_with_data(struct fg_task *task, struct fg_func *func,
                                                           const uintptr_t *stack,
                                                           const struct fg_machine_registers *registers)
{
    struct fg_probed_entry call = find(func);

    return call.ref ? enter_with(task, call, call.ref->piece_words, stack, registers) : FG_NATIVE_SLOW;
}

/* The answer of fg_native_enter(); FG_NATIVE_SLOW: nothing was done. */
static inline struct fg_native_entry *enter(struct fg_task *task, struct fg_func *func,
                                            const uintptr_t *stack,
                                            const struct fg_machine_registers *registers)
{
    struct fg_probed_entry call = find(func);

    if (fg_unlikely(!call.ref))
        return FG_NATIVE_SLOW;
    return fg_likely(call.ref->piece_words == 1) ? enter_with(task, call, 1, stack, registers)
                                                 : enter_with_data(task, func, stack, registers);
}

struct fg_native_entry *fg_native_enter_probed(struct fg_func *func, const uintptr_t *stack,
                                               const struct fg_machine_registers *registers,
                                               struct fg_task *task)
{
    struct fg_native_entry *answer;

    if (fg_unlikely(!fg_guard_enter_native(task)))
        return fg_task_is_in_native(task) ? FG_NATIVE_UNTRACED : FG_NATIVE_SLOW;
    answer = enter(task, func, stack, registers);
    fg_guard_leave_native(task);
    return answer;
}

/* A user has left in the middle of the call, and the hooks may have to go with it. The slow path ends the
 * frame, and finds nobody to call. */
FG_COLD static bool leave_rest(struct fg_task *task, uint64_t *frame)
{
    task->users[fg_data_idx(task->top[-1])].depth++;
    frame[FG_FRAME_WORDS] = fg_live_no_word(frame[FG_FRAME_WORDS]);
    return false;
}

/* False: nothing was done, or only the frame is left to end. */
static inline bool leave(struct fg_task *task, struct fg_native_entry *entry,
                         const struct fg_machine_registers *registers)
{
    struct fg_native_regs regs;
    struct fg_probed call;

    if (fg_unlikely(!fg_probed_find(task, (uintptr_t)entry, true, &call)))
        return false;
    set_regs(&regs, &fg_native_return_regs_ops, registers, call.func, entry);
    fg_probed_exit(task, &call, entry->return_address, &regs.regs);
    if (fg_unlikely(fg_func_has_pending_returns(call.func)))
        return leave_rest(task, call.frame);
    task->top = call.frame;
    fg_native_entry_end(&task->native, entry);
    return true;
}

uint64_t fg_native_leave_probed(struct fg_native_entry *entry, const struct fg_machine_registers *registers,
                                struct fg_task *task)
{
    bool is_done;

    if (fg_unlikely(!fg_guard_enter_native(task)))
        return fg_clock_counter() | 1;
    is_done = leave(task, entry, registers);
    fg_guard_leave_native(task);
    return fg_likely(is_done) ? 0 : fg_clock_counter() | 1;
}
