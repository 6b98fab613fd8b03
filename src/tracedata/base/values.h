/* Prints recorded values (FG_VALUE_TAGS in record.h) like Python.
 *
 * A number in parentheses is always a length:
 *
 *     None  True  False  42  -1  0.5  1e+100  inf     as Python's repr
 *     int(70 bits)  -int(70 bits)                     an int of more than 64 bits
 *     'abc'  b'abc'                                   whole text
 *     'abc'...(1200)  b'abc'...(1200)                 the beginning, and the length in characters or bytes
 *     [1, 'a']  (1,)  {1, 2}  {'a': 1}                a container with its items, if parts were recorded
 *     [1, 2, ...](1200)                               its first items, and their number
 *     deque([1, 2])  frozenset({1})                   the same of another type
 *     Point(x=1, y=2)  ValueError('no')               an instance's attributes, an exception's arguments
 *     Point(x=1, ...)                                 the first of them
 *     Decimal('1.50')  date('2026-11-28')             what a text stands for, as str() shows it
 *     Color.RED  <class Point>  <function f>          what has a name: a member of an enumeration, a class
 *     <redacted>                                      a value that was left out for its name
 *     (fault)                                         a value that could not be read
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
    bool negative;      /* BIGINT */
    uint8_t size_bytes; /* WORD: of its type */
    uint8_t form;       /* OPEN: enum fg_value_form */
    /* STR, BYTES, SHOWN: the beginning; MEMBER: all of it; SIZED, OBJECT, OPEN: the type's name */
    uint32_t text_bytes;
    const char *text;
    const char *type; /* SHOWN: the type's name */
    uint8_t type_bytes;
    const uint8_t *parts, *parts_end; /* OPEN: the values in it, and names before them */
};

/* Takes the next value from [*data, end), with its parts. A long text has the tag of a short one. False: no
 * value is left, or the next one is cut off or has an unknown tag. */
bool fg_value_next(const uint8_t **data, const uint8_t *end, struct fg_value *value);

/* Takes a value, or where parts begin or end, or a part's name: the values in a value, too. */
bool fg_value_token(const uint8_t **data, const uint8_t *end, struct fg_value *value);

/* Takes the next attribute of a value: a part that has a name. @at: value->parts first. @begin is where @part
 * begins; it ends at @at. False: none is left, or the value is no instance of which attributes were
 * recorded. */
bool fg_value_next_attribute(const struct fg_value *value, const uint8_t **at, struct fg_value *name,
                             const uint8_t **begin, struct fg_value *part);

/* What a recording without parts has of a value that has some: of a container its type and length, of an
 * instance its type, without an address. Other values stay as they are. */
struct fg_value fg_value_without_parts(const struct fg_value *value);

/* Sets the addresses of objects to zero, at any depth: values that differ in these alone are equal then. */
void fg_values_clear_addresses(uint8_t *values, size_t bytes);

/* How many bytes the values have: a record is padded with zeros after the last one. */
size_t fg_values_bytes(const uint8_t *values, const uint8_t *end);

/* Whether the caller throws away the result that ends at @at, as far as its record says. */
bool fg_values_are_discarded(const uint8_t *at, const uint8_t *end);

/* The negative error number that a WORD is: one of the last 4095 values of its type (the kernel's
 * IS_ERR_VALUE). 0: it is none. */
int64_t fg_word_error(const struct fg_value *value);

/* With `hex`, integers print as 0x2a, and words never as an error number. */
void fg_value_print(struct fg_text *text, const struct fg_value *value, bool hex);

#endif
