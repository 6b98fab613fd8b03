/* Running a fetch program at the hook of a native function. Safe wherever native functions are called: in any
 * thread, in a handler of a signal, in the middle of an allocator. A field that cannot be read is a fault:
 * "(fault)", or 0 with its bit set among the faults; and is counted. */
#ifndef FG_NATIVE_RUN_H
#define FG_NATIVE_RUN_H

#include "engine/core/regs.h"
#include "engine/fetch/native_program.h"

/**
 * fg_fetch_native() - Fill in the fields of an event's image, and the texts after them.
 * @regs: of the hook
 * @func: id of the function
 * @entry_data: what fg_fetch_native_entry() wrote; NULL: there is none
 * @image: FG_EVENT_MAX_BYTES. The bytes before fields_at are not touched.
 *
 * Return: how many bytes the image has. Changes errno.
 */
uint32_t fg_fetch_native(const struct fg_native_program *program, const struct ftrace_regs *regs,
                         uint32_t func, const uint8_t *entry_data, uint8_t *image);

/* At an entry, reads what a program for returns keeps: fg_native_entry_bytes(). */
void fg_fetch_native_entry(const struct fg_native_program *program, const struct ftrace_regs *regs,
                           uint8_t *entry_data);

#endif
