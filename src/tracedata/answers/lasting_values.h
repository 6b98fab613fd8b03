/* Recorded values of two runs. The same object has another address in each run; all else of a value lasts. */
#ifndef FG_LASTING_VALUES_H
#define FG_LASTING_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Values as they were recorded (record.h), without zeros before the first one. */
struct fg_lasting_values {
    const uint8_t *data;
    size_t bytes; /* 0: none was recorded */
};

/* Whether they are the same values in both, but for addresses of objects at any depth. 1, 1.0 and True are
 * three values; a NaN is itself. */
bool fg_lasting_values_equal(struct fg_lasting_values a, struct fg_lasting_values b);

#endif
