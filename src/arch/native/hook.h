/* Hooks: a function of an object begins with a jump to its trampoline while it has users. */
#ifndef FG_NATIVE_HOOK_H
#define FG_NATIVE_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/native/refusal.h"
#include "engine/core/pattern.h"

struct fg_native_object;

/**
 * fg_native_start() - Get ready to hook functions.
 * @own: an address of the library that this is part of, whose own calls are not the program's; NULL: none
 * @refusal: filled in if native functions cannot be hooked in this process
 *
 * Return: true, also if it was called before; false: refused.
 */
bool fg_native_start(const void *own, struct fg_native_refusal *refusal);

/**
 * fg_native_open() - Take a plan for an object that is loaded.
 * @path: the plan's file
 * @name: of the object, as patterns have it; copied
 * @refusal: filled in if it is refused
 *
 * Return: the object, which stays for good; the same one for the same plan. NULL: refused.
 */
struct fg_native_object *fg_native_open(const char *path, const char *name,
                                        struct fg_native_refusal *refusal);
const char *fg_native_name(const struct fg_native_object *object);

/**
 * fg_native_meet() - Make records of an object's functions.
 * @object: the object
 * @patterns: of functions: each is one with ":mod:"
 *
 * Users whose filters match are attached, and the functions hooked. A function with several names has the
 * one for which it was selected first.
 *
 * Return: how many functions match and can be hooked; -ENOMEM.
 */
long fg_native_meet(struct fg_native_object *object, const struct fg_patterns *patterns);

/* A function with a record. */
struct fg_native_state {
    struct fg_func *func;
    const char *object, *name;
    uintptr_t address;
    bool is_hooked;
    const char *refusal; /* why it is not hooked although it has users; NULL: it need not be, or it is */
};

/* Calls @visit for each function with a record. Takes the lock of hooks. */
void fg_native_for_each(void (*visit)(const struct fg_native_state *state, void *arg), void *arg);

#endif
