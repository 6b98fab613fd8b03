/* What of the C API uses general registers only: see capi_general.c. Without Python.h, whose inline functions
 * have results of type double. As funcgraph.h says of the functions with the same names. */
#ifndef FG_CAPI_GENERAL_H
#define FG_CAPI_GENERAL_H

#include <stdint.h>

#include "engine/core/public.h"
#include "engine/core/regs.h"

int fg_capi_regs_get_argument_word(const struct ftrace_regs *regs, unsigned n, uint64_t *word);
int fg_capi_regs_get_argument_double(const struct ftrace_regs *regs, unsigned n, double *value);
int fg_capi_regs_get_return_word(const struct ftrace_regs *regs, unsigned n, uint64_t *word);
int fg_capi_regs_get_return_double(const struct ftrace_regs *regs, unsigned n, double *value);
uintptr_t fg_capi_regs_get_instruction_pointer(const struct ftrace_regs *regs);
uintptr_t fg_capi_regs_get_stack_pointer(const struct ftrace_regs *regs);
uintptr_t fg_capi_regs_get_return_address(const struct ftrace_regs *regs);
struct ftrace_native_regs *fg_capi_get_native_regs(const struct ftrace_regs *regs,
                                                   struct ftrace_native_regs *out);
struct fg_task *fg_capi_current_task(void);
int fg_capi_task_tid(const struct fg_task *task);
const char *fg_capi_func_name(const struct fg_func *func);
const char *fg_capi_func_module(const struct fg_func *func);
const char *fg_capi_func_qualname(const struct fg_func *func);
uint32_t fg_capi_func_line(const struct fg_func *func);
uint32_t fg_capi_func_id(const struct fg_func *func);
int fg_capi_func_is_native(const struct fg_func *func);

/* The same of Python calls; in capi_python_regs.c. */
uintptr_t fg_capi_python_instruction_pointer(const struct ftrace_regs *regs);
uintptr_t fg_capi_python_stack_pointer(const struct ftrace_regs *regs);

#endif
