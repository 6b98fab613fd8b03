/* The C API: where a Python call is, for capi_general.c, which is compiled without vector registers and so
 * cannot include Python.h. */
#include "arch/cpython/read/regs.h"
#include "binding/capi/capi_general.h"

uintptr_t fg_capi_python_instruction_pointer(const struct ftrace_regs *regs)
{
    return fg_regs_instruction_address(regs);
}

uintptr_t fg_capi_python_stack_pointer(const struct ftrace_regs *regs)
{
    return fg_regs_stack_pointer(regs);
}
