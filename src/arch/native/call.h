/* The entry and the return of native calls, as the machine's code reports them.
 *
 * The fast functions are what nearly every call of a recording takes, and every call of a function with one
 * fprobe whose handlers use general registers only. Their files are compiled without vector registers, and
 * call nothing but such handlers. If they cannot do a step, they change nothing, and the slow ones do it,
 * with all registers saved.
 *
 * A step is not traced
 *
 *     - while this thread is in a slow function, or in a handler of the fast path: the engine, or what it
 *       calls, makes the call;
 *     - while it holds one of the engine's mutexes;
 *     - if this library makes the call itself. At a place within a function nobody knows who called it. */
#ifndef FG_NATIVE_CALL_H
#define FG_NATIVE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/native/entry.h"
#include "arch/native/machine.h"
#include "arch/native/site.h"

/* What fg_native_enter() returns instead of an entry. */
#define FG_NATIVE_UNTRACED ((struct fg_native_entry *)0)
#define FG_NATIVE_SLOW ((struct fg_native_entry *)1)

/**
 * fg_native_enter() - A function is called.
 * @site: of its trampoline
 * @stack: where the return address is
 * @vectors: where the machine has saved the caller's vector registers; NULL: they are as the caller left them
 * @registers: where it has saved the others (machine.h)
 *
 * Return: the entry that keeps the return address; FG_NATIVE_UNTRACED: the return is not traced;
 * FG_NATIVE_SLOW: call fg_native_enter_slow(), which returns one of the other two.
 */
struct fg_native_entry *fg_native_enter(const struct fg_native_site *site, const uintptr_t *stack,
                                        const struct fg_machine_registers *registers);
struct fg_native_entry *fg_native_enter_slow(const struct fg_native_site *site, const uintptr_t *stack,
                                             const void *vectors,
                                             const struct fg_machine_registers *registers);

/* The call of an entry returns. 0: done; else call fg_native_leave_slow() with the time that this is. */
uint64_t fg_native_leave(struct fg_native_entry *entry, const struct fg_machine_registers *registers);
uint64_t fg_native_leave_slow(struct fg_native_entry *entry, uint64_t counter, const void *vectors,
                              const struct fg_machine_registers *registers);

/* Their parts for functions with one fprobe (call_probed.c). They return what the two fast ones above do. The
 * order of the arguments keeps them in the registers in which the callers got theirs. */
struct fg_native_entry *fg_native_enter_probed(struct fg_func *func, const uintptr_t *stack,
                                               const struct fg_machine_registers *registers,
                                               struct fg_task *task);
uint64_t fg_native_leave_probed(struct fg_native_entry *entry, const struct fg_machine_registers *registers,
                                struct fg_task *task);

/* A thread comes to a place within a function. Called from trampolines only: fg_native_place() if the first
 * says that it has users. @stack: the function's stack pointer. */
bool fg_native_place_has_users(const struct fg_native_site *site);
void fg_native_place(const struct fg_native_site *site, const uintptr_t *stack, const void *vectors,
                     const struct fg_machine_registers *registers);

/* True if a call is not made inside that of @entry, provided that it is on the same stack. A function
 * that ends with a jump to another one gives it its own return address. */
static inline bool fg_native_is_passed(const struct fg_native_entry *entry, const uintptr_t *stack)
{
    uintptr_t old = atomic_load_explicit(&entry->stack, memory_order_relaxed);
    size_t distance = (size_t)((const char *)entry - (const char *)fg_native_entries);

    return old < (uintptr_t)stack ||
           (old == (uintptr_t)stack && *stack != (uintptr_t)fg_machine_first_return + distance);
}

/* Takes all hooks off, once the kill switch was thrown. The program may hold any of its locks. */
extern void (*fg_native_take_off)(void);

/* Where this library's own code is. */
struct fg_native_text {
    uintptr_t begin, bytes;
};
extern struct fg_native_text fg_native_own_text __attribute__((visibility("hidden")));

#endif
