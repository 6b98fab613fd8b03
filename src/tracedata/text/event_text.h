/* An event that a program or its user defined, as the kernel prints it:
 *
 *     co: (shop.checkout) amount=3 user="x"      at a function's entry, or within it
 *     cor: (app.main <- shop.checkout) ret=0     at its return: the caller, and the function
 *     paid: amount=3                             of no function */
#ifndef FG_EVENT_TEXT_H
#define FG_EVENT_TEXT_H

#include "tracedata/base/event_table.h"
#include "tracedata/base/text.h"
#include "tracedata/read/name_table.h"

/* What is known of an event whose kind the trace does not name. */
#define FG_UNKNOWN_EVENT_TEXT "an event of a kind that the trace does not name"

/* The event's kind is @type. */
void fg_put_event(struct fg_text *text, const struct fg_name_table *names, const struct fg_event_type *type,
                  const struct fg_event *event);

#endif
