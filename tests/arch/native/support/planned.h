/* A plan of the target library, made by hand: the tests of hooks need no decoder. */
#ifndef FG_PLANNED_H
#define FG_PLANNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/native/plan.h"

/* A plan's file in memory, for tests that damage it. */
struct planned {
    uint8_t *bytes;
    size_t size;
};

/* Makes the plan; its bytes are to be freed. @has_many: with the functions of target_many(), as many_0,
 * many_1 and so on. */
struct planned planned_make(bool has_many);
/* Makes the plan of a place: whole instructions that do the same anywhere else. */
struct planned planned_make_place(const char *function, uint32_t offset, uint8_t displaced,
                                  uint8_t instructions);
/* Sets the header's checksum. */
void planned_seal(struct planned *planned);
/* Writes it into a new file that only this user can read; returns the path, which is to be unlinked and
 * freed. */
char *planned_write(const struct planned *planned);

struct fg_plan_header *planned_header(struct planned *planned);
struct fg_plan_function *planned_function(struct planned *planned, const char *name);
struct fg_plan_fix_up *planned_fix_up(struct planned *planned, const struct fg_plan_function *function);

#endif
