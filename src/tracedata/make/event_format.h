/* The format text of an event that has no trace yet: the kernel's file events/SYSTEM/EVENT/format. */
#ifndef FG_EVENT_FORMAT_H
#define FG_EVENT_FORMAT_H

#include <stdint.h>

#include "tracedata/base/event_table.h"
#include "tracedata/base/text.h"

/**
 * fg_event_format() - Make the format text that a trace.dat would have of an event.
 * @words: what the event is
 * @id: its number
 * @text: empty; the text follows FG_EVENT_FORMAT_AT bytes
 *
 * A trace.dat has numbers for a field whose values are all numbers. Here no values are known: they are texts.
 *
 * Return: 0; -EINVAL: @words describe no event; -ENOMEM.
 */
int fg_event_format(const struct fg_event_words *words, uint32_t id, struct fg_text *text);

#define FG_EVENT_FORMAT_AT sizeof(uint64_t) /* the size of the text, as in a trace.dat */

#endif
