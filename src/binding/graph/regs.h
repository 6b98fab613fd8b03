/* FtraceRegs: what the hook saw at the function's boundary. */
#ifndef FG_BINDING_REGS_H
#define FG_BINDING_REGS_H

#include "binding/graph/regs_parts.h"

extern PyType_Spec fg_regs_spec;

#endif
