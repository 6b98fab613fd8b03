/* Which code of a process belongs together. */
#ifndef FG_INJECT_SPAN_H
#define FG_INJECT_SPAN_H

#include "inject/thread.h"
#include "inject/unwind/cfi.h"

/**
 * fg_span_at() - Find the code of a process that is described together with an instruction.
 * @address: the instruction's
 *
 * No thread is stopped: code and its descriptions do not change.
 *
 * Return: 0. -ENOENT: nothing sound describes it. Another negative errno: the memory cannot be read.
 */
int fg_span_at(const struct fg_process *process, const struct fg_code *code, uint64_t address,
               struct fg_span *span);

#endif
