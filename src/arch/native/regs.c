/* See regs.h. */
#include "arch/native/regs.h"

#include "arch/native/domain.h"
#include "arch/native/entry.h"
#include "arch/native/machine.h"
#include "arch/native/values.h"
#include "engine/core/task.h"
#include "engine/graph/frame.h"

static const struct fg_native_regs *native_of(const struct ftrace_regs *regs)
{
    return (const struct fg_native_regs *)regs;
}

static uintptr_t return_address(const struct ftrace_regs *regs)
{
    return native_of(regs)->return_address;
}

static uintptr_t return_address_of_entry(const struct ftrace_regs *regs)
{
    return ((const struct fg_native_entry *)native_of(regs)->fp)->return_address;
}

static bool word_at(const struct ftrace_regs *regs, const void *vectors, enum fg_native_point point,
                    enum fg_word word, uint32_t n, uint64_t *out)
{
    if (word == FG_WORD_IP) {
        *out = fg_native_address_of(native_of(regs)->func);
        return true;
    }
    return fg_machine_word(native_of(regs)->registers, vectors, point, word, n, out);
}

static bool word(const struct ftrace_regs *regs, enum fg_word word, uint32_t n, uint64_t *out)
{
    return word_at(regs, native_of(regs)->vectors, native_of(regs)->point, word, n, out);
}

static bool word_of_entry(const struct ftrace_regs *regs, enum fg_word word, uint32_t n, uint64_t *out)
{
    return word_at(regs, NULL, FG_NATIVE_ENTRY, word, n, out);
}

static bool word_of_return(const struct ftrace_regs *regs, enum fg_word word, uint32_t n, uint64_t *out)
{
    return word_at(regs, NULL, FG_NATIVE_RETURN, word, n, out);
}

struct search {
    uintptr_t fp; /* of the call itself */
    struct fg_caller *callers;
    size_t found, n;
};

static bool add_caller(const struct fg_frame_info *frame, void *arg)
{
    struct search *search = arg;

    if (frame->fp != search->fp && frame->func->id)
        search->callers[search->found++] = (struct fg_caller){.func = frame->func->id};
    return search->found < search->n;
}

/* The functions in progress that are traced, native ones and others, from this thread's own shadow stack. It
 * can be walked at any instruction; an interpreter's frames cannot. */
static size_t callers(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n)
{
    struct search search = {.fp = native_of(regs)->fp, .callers = callers, .n = n};
    const struct fg_task *task = fg_task_self;

    if (task && n)
        fg_walk(task, add_caller, &search);
    return search.found;
}

/* Other users of the same call get @regs as they are. The call's frame and function may have become known
 * since the last time. */
static struct ftrace_regs *full(struct ftrace_regs *regs)
{
    struct fg_native_regs *copy = native_of(regs)->full;

    *copy = *native_of(regs);
    copy->regs.ops = &fg_native_full_regs_ops;
    return &copy->regs;
}

/* After a return the caller goes on at the return address. */
static void all(const struct ftrace_regs *regs, struct ftrace_native_regs *out)
{
    const struct fg_native_regs *native = native_of(regs);
    uintptr_t ip =
        native->point == FG_NATIVE_RETURN ? native->return_address : fg_native_address_of(native->func);

    fg_machine_all(native->registers, native->point, ip, out);
}

static size_t encode_result(const struct ftrace_regs *regs, const struct fg_value_style *style, uint8_t *out,
                            size_t room)
{
    return fg_native_encode_result(regs, native_of(regs)->func->qualname, style, out, room);
}

const struct ftrace_regs_ops fg_native_regs_ops = {
    .encode_arguments = fg_native_encode_arguments,
    .encode_value = encode_result,
    .return_address = return_address,
    .callers = callers,
    .word = word,
    .full = full,
};
const struct ftrace_regs_ops fg_native_full_regs_ops = {
    .return_address = return_address, .callers = callers, .word = word, .all = all};
const struct ftrace_regs_ops fg_native_entry_regs_ops = {
    .return_address = return_address_of_entry, .callers = callers, .word = word_of_entry};
const struct ftrace_regs_ops fg_native_return_regs_ops = {
    .return_address = return_address_of_entry, .callers = callers, .word = word_of_return};
