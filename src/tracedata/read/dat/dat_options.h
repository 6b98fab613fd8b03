/* Reads the options of a trace.dat that versions 6 and 7 have alike. */
#ifndef FG_DAT_OPTIONS_H
#define FG_DAT_OPTIONS_H

#include "tracedata/read/dat/dat_head.h"
#include "tracedata/read/dat/header_walk.h"

/* Reads the option that begins here, if it is one of these; else nothing. The caller skips to its end. */
void fg_walk_dat_option(struct fg_header_walk *walk, struct fg_dat_head *head, uint16_t id, uint32_t bytes);

/* Reads the name of a clock as it stands after the lanes of a buffer of version 6: u64 size, text. */
void fg_walk_dat_clock(struct fg_header_walk *walk, struct fg_dat_head *head);

#endif
