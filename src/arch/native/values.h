/* Values of native calls in records: what the registers of arguments and of the result have. */
#ifndef FG_NATIVE_VALUES_H
#define FG_NATIVE_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "engine/core/regs.h"

/* fg_encode_func. Nobody knows how many arguments the function has: all registers that may have one are
 * recorded, as words. A word has a name in fg_machine_argument_names, by which it can be redacted. */
size_t fg_native_encode_arguments(const struct ftrace_regs *regs, const struct fg_value_style *style,
                                  uint8_t *out, size_t room);
/* The same of the result, which the function's name redacts. */
size_t fg_native_encode_result(const struct ftrace_regs *regs, const char *function,
                               const struct fg_value_style *style, uint8_t *out, size_t room);

#endif
