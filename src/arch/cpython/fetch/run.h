/* Running a fetch program at a hook. Nothing here runs code of the program, allocates, raises or takes
 * locks: it reads the interpreter's own structures. A field that cannot be read so is a fault: "(fault)",
 * FG_VALUE_UNBOUND, or 0 with its bit set among the faults; and is counted.
 *
 * With the GIL all is read with borrowed references, as no other code runs meanwhile. Builds without it
 * (Py_GIL_DISABLED) read only what cannot change under them: variables of the call's own frame, and
 * immutable objects that those own. Attributes, lists and dicts are faults there. */
#ifndef FG_CPYTHON_FETCH_RUN_H
#define FG_CPYTHON_FETCH_RUN_H

#include "arch/cpython/fetch/program.h"
#include "engine/core/regs.h"

/**
 * fg_fetch_run() - Fill in the fields of an event's image, and the texts after them.
 * @regs: at an entry; at a return, for a program for returns; a kprobe's; or those of struct fg_event_values
 * @func: id of the function, for the source `symbol`
 * @entry_data: what fg_fetch_entry() wrote; NULL: there is none, and the fields read at the entry are
 *   faults
 * @image: FG_EVENT_MAX_BYTES. The bytes before fields_at are not touched.
 *
 * Return: how many bytes the image has.
 * Context: the GIL, in the thread of the call.
 */
uint32_t fg_fetch_run(const struct fg_fetch_program *program, const struct ftrace_regs *regs, uint32_t func,
                      const uint8_t *entry_data, uint8_t *image);

/**
 * fg_fetch_entry() - At an entry, read what a program for returns keeps.
 * @entry_data: entry_bytes of the program
 *
 * Context: as fg_fetch_run().
 */
void fg_fetch_entry(const struct fg_fetch_program *program, const struct ftrace_regs *regs,
                    uint8_t *entry_data);

#endif
