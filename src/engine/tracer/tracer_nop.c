/* The nop tracer hooks no function. Only texts that the program puts in are recorded (instance_mark.h). */
#include "engine/tracer/tracer.h"

const struct fg_tracer fg_tracer_nop = {.name = "nop"};
