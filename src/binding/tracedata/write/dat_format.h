/* Arguments that say which trace.dat is to be written. */
#ifndef FG_BINDING_TRACEDATA_DAT_FORMAT_H
#define FG_BINDING_TRACEDATA_DAT_FORMAT_H

#include <stdbool.h>

#include "tracedata/make/assemble.h"

/* @compression: the name of a codec; NULL: version 7 has the best there is. Return: false with an exception
 * set. */
bool fg_dat_format_parse(int version, const char *compression, struct fg_trace_dat_format *format);

#endif
