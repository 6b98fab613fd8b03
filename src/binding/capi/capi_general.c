/* The C API: what handlers that use general registers only (FTRACE_OPS_FL_GENERAL_REGS) may call in calls of
 * native functions, while the program's vector registers are as it left them. Compiled without these. */
#include "binding/capi/capi_general.h"

#include <string.h>

#include "engine/core/function.h"
#include "engine/core/task.h"

/* ---- registers of native calls */

/* An argument on the stack is where the caller has put it. */
int fg_capi_regs_get_argument_word(const struct ftrace_regs *regs, unsigned n, uint64_t *word)
{
    uint64_t at;

    if (fg_regs_word(regs, FG_WORD_ARGUMENT, n, word))
        return 1;
    if (!fg_regs_word(regs, FG_WORD_ARGUMENT_AT, n, &at))
        return 0;
    *word = *(const uint64_t *)(uintptr_t)at;
    return 1;
}

int fg_capi_regs_get_return_word(const struct ftrace_regs *regs, unsigned n, uint64_t *word)
{
    return fg_regs_word(regs, FG_WORD_RESULT, n, word);
}

static int get_double(const struct ftrace_regs *regs, enum fg_word which, unsigned n, double *value)
{
    uint64_t word;

    if (!fg_regs_word(regs, which, n, &word))
        return 0;
    memcpy(value, &word, sizeof(word));
    return 1;
}

int fg_capi_regs_get_argument_double(const struct ftrace_regs *regs, unsigned n, double *value)
{
    return get_double(regs, FG_WORD_REAL_ARGUMENT, n, value);
}

int fg_capi_regs_get_return_double(const struct ftrace_regs *regs, unsigned n, double *value)
{
    return get_double(regs, FG_WORD_REAL_RESULT, n, value);
}

uintptr_t fg_capi_regs_get_instruction_pointer(const struct ftrace_regs *regs)
{
    uint64_t word;

    return fg_regs_word(regs, FG_WORD_IP, 0, &word) ? (uintptr_t)word
                                                    : fg_capi_python_instruction_pointer(regs);
}

uintptr_t fg_capi_regs_get_stack_pointer(const struct ftrace_regs *regs)
{
    uint64_t word;

    return fg_regs_word(regs, FG_WORD_SP, 0, &word) ? (uintptr_t)word : fg_capi_python_stack_pointer(regs);
}

uintptr_t fg_capi_regs_get_return_address(const struct ftrace_regs *regs)
{
    return fg_regs_return_address(regs);
}

struct ftrace_native_regs *fg_capi_get_native_regs(const struct ftrace_regs *regs,
                                                   struct ftrace_native_regs *out)
{
    return fg_regs_all(regs, out) ? out : NULL;
}

/* ---- functions and tasks */

struct fg_task *fg_capi_current_task(void)
{
    return fg_task_self;
}

int fg_capi_task_tid(const struct fg_task *task)
{
    return task->tid;
}

const char *fg_capi_func_name(const struct fg_func *func)
{
    return func->name;
}

const char *fg_capi_func_module(const struct fg_func *func)
{
    return func->module;
}

const char *fg_capi_func_qualname(const struct fg_func *func)
{
    return func->qualname;
}

uint32_t fg_capi_func_line(const struct fg_func *func)
{
    return func->line;
}

uint32_t fg_capi_func_id(const struct fg_func *func)
{
    return func->id;
}

int fg_capi_func_is_native(const struct fg_func *func)
{
    return (func->flags & FG_FUNC_NATIVE) != 0;
}
