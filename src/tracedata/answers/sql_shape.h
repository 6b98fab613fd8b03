/* The shape of an SQL statement: its text without its literals. Statements of one shape are one query. */
#ifndef FG_SQL_SHAPE_H
#define FG_SQL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "tracedata/base/text.h"

/* Whether a text begins as a statement of SQL does: SELECT, INSERT, UPDATE, DELETE, REPLACE, WITH, CALL. */
bool fg_is_sql(const char *text, size_t bytes);

/**
 * fg_sql_shape() - Append the shape of a statement.
 *
 * Numbers, quoted texts and placeholders (?, %s, :name, $1) become `?`, a list of these becomes one `?`,
 * runs of blanks become one. A text that was cut off in the middle of a literal has the same shape.
 */
void fg_sql_shape(struct fg_text *shape, const char *text, size_t bytes);

#endif
