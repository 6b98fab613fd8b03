/* The nop tracer: no function is hooked; what the program itself writes into the trace is recorded. */
#include "engine/tracer/tracer.h"

const struct fg_tracer fg_tracer_nop = {.name = "nop"};
