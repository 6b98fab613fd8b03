/* The steps a[n], a["key"] and len: items and lengths of built-in containers, read from their structures.
 * Of a subclass they are read if it has not replaced the method that would be called; else it is a fault. */
#ifndef FG_CPYTHON_FETCH_ITEM_H
#define FG_CPYTHON_FETCH_ITEM_H

#include "arch/cpython/fetch/step.h"
#include "arch/cpython/value/fetched.h"

/* Item @n of a sequence; negative: from its end. @getitem: the name "__getitem__". */
struct fg_fetched fg_fetch_nth(struct fg_fetched from, int64_t n, const struct fg_fetch_operand *getitem);
/* The steps "index" and "key": an item of a sequence or a dict. */
struct fg_fetched fg_fetch_item(struct fg_fetched from, const struct fg_fetch_step *step);
struct fg_fetched fg_fetch_len(struct fg_fetched from);

#endif
