/* Prints recorded values (FG_VALUE_TAGS in record.h) like Python.
 *
 * A number in parentheses is always a length:
 *
 *     None  True  False  42  -1  0.5  1e+100  inf     as Python's repr
 *     int(70 bits)  -int(70 bits)                     an int of more than 64 bits
 *     'abc'  b'abc'                                   whole text
 *     'abc'...(1200)  b'abc'...(1200)                 the beginning, and the length in characters or bytes
 *     list(3)  dict(0)  numpy.ndarray(8)              a container: type and number of items
 *     <Foo at 0x7f0012345678>                         any other object: type and address
 *     <unbound>                                       an argument without a value
 *     ...                                             further values were not recorded
 *     0xff110000008c1e80  -2                          a machine word as the kernel prints it: in base 16, or
 *                                                     as a negative error number */
#ifndef FG_VALUES_H
#define FG_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/text.h"

struct fg_value {
    uint32_t tag; /* enum fg_value_tag */
    union {
        int64_t integer;  /* INT8, INT64 */
        double real;      /* FLOAT */
        uint64_t length;  /* STR: characters, BYTES: bytes, SIZED: items, BIGINT: bits */
        uint64_t address; /* OBJECT */
        uint64_t word;    /* WORD, sign-extended */
    };
    bool negative;       /* BIGINT */
    uint8_t size_bytes;  /* WORD: of its type */
    uint32_t text_bytes; /* STR, BYTES: the beginning; SIZED, OBJECT: the type's name */
    const char *text;
};

/* Takes the next value from [*data, end). False: no value is left, or the next one is cut off or has an
 * unknown tag. */
bool fg_value_next(const uint8_t **data, const uint8_t *end, struct fg_value *value);

/* With `hex`, integers print as 0x2a, and words never as an error number. */
void fg_value_print(struct fg_text *text, const struct fg_value *value, bool hex);

#endif
