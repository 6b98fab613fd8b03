/* Whole names, by their last component: "checkout" of "shop.cart.Cart.checkout".
 *
 * A search for whole names looks at every function of the process. The last component of the qualified name
 * rules out nearly all of them, before their module is looked up and their name is made. */
#ifndef FG_CPYTHON_NAME_TAILS_H
#define FG_CPYTHON_NAME_TAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash_table.h"
#include "engine/core/pattern.h"

/* Zeroed: no names. */
struct fg_name_tails {
    struct fg_hash_table hashes;
    uint64_t last_characters; /* a bit for each, modulo 64 */
};

/* Return: 0, or -ENOMEM. */
int fg_name_tails_add(struct fg_name_tails *tails, const char *name);
/* The whole names among patterns. */
int fg_name_tails_add_patterns(struct fg_name_tails *tails, const struct fg_patterns *patterns);

/* False: none of the names ends in the last component of this name. `name` need not end in a NUL. */
bool fg_name_tails_may_have(const struct fg_name_tails *tails, const char *name, size_t length);

void fg_name_tails_clear(struct fg_name_tails *tails);

#endif
