/* Reading a plan: a file that another program has written. Everything in it is checked before anything
 * of it is used, and a file that is damaged, or not this user's, is refused. */
#ifndef FG_PLAN_FILE_H
#define FG_PLAN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/native/plan.h"
#include "arch/native/refusal.h"

/* A plan in memory, which nobody else can change. */
struct fg_plan_file {
    const struct fg_plan_header *header;
    const struct fg_plan_function *functions; /* sorted by address */
    const struct fg_plan_fix_up *fix_ups;
    const uint8_t *code;
    const char *names;
    size_t bytes;
};

/**
 * fg_plan_file_open() - Read a plan.
 * @path: of the file: a regular file of this user or of root, which others cannot write
 * @machine: e_machine of the objects whose functions can be hooked
 * @plan: filled in
 * @refusal: filled in if it is refused
 *
 * Return: true; false: refused.
 */
bool fg_plan_file_open(const char *path, uint16_t machine, struct fg_plan_file *plan,
                       struct fg_native_refusal *refusal);
void fg_plan_file_close(struct fg_plan_file *plan);

/* Checks a plan of @bytes at @memory, as fg_plan_file_open() does. */
bool fg_plan_check(const void *memory, size_t bytes, uint16_t machine, struct fg_plan_file *plan,
                   struct fg_native_refusal *refusal);

#endif
