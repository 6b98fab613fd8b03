/* The synthetic addresses of a trace's functions: in the images of events that programs define, and in a
 * trace.dat. Function i of the trace has the address FG_FUNC_ADDRESS_BASE + FG_FUNC_ADDRESS_STEP * i.
 * Address 0 is no function. */
#ifndef FG_FUNCTION_ADDRESS_H
#define FG_FUNCTION_ADDRESS_H

#include <stdint.h>

#include "tracedata/base/trace_event.h"

#define FG_FUNC_ADDRESS_BASE 0x10000000u
#define FG_FUNC_ADDRESS_STEP 16u
/* The address of an unknown function: its symbol found no room, or the file is damaged. */
#define FG_FUNC_ADDRESS_UNKNOWN (FG_FUNC_ADDRESS_BASE - FG_FUNC_ADDRESS_STEP)

/* A function's index from its address; FG_FUNC_UNKNOWN if the address is no function's. */
static inline uint32_t fg_function_index(uint64_t address)
{
    return address < FG_FUNC_ADDRESS_BASE || address > UINT32_MAX
               ? FG_FUNC_UNKNOWN
               : ((uint32_t)address - FG_FUNC_ADDRESS_BASE) / FG_FUNC_ADDRESS_STEP;
}

/* The address of a function; FG_FUNC_ADDRESS_UNKNOWN of FG_FUNC_UNKNOWN. */
static inline uint32_t fg_function_address(uint32_t index)
{
    return FG_FUNC_ADDRESS_BASE + FG_FUNC_ADDRESS_STEP * index;
}
_Static_assert((uint32_t)(FG_FUNC_ADDRESS_BASE + FG_FUNC_ADDRESS_STEP * FG_FUNC_UNKNOWN) ==
                   FG_FUNC_ADDRESS_UNKNOWN,
               "the address of an unknown function is that before the first one's");

#endif
