/* A call as the image of an event (ring/field.h), for the event filters of `--where`.
 *
 *     +---------------------------+ 0
 *     | struct fg_event_common    |  common_pid: its thread
 *     +---------------------------+ 8
 *     | FG_CALL_FIELDS            |
 *     +---------------------------+ FG_CALL_FAULTS_AT
 *     | faults                    |
 *     +---------------------------+ FG_CALL_ATTRIBUTES_AT
 *     | attributes, VALUE each    |  those that the filter names
 *     +---------------------------+ FG_CALL_ARGUMENTS_AT
 *     | arguments, VALUE each     |
 *     +---------------------------+
 *     | values                    |
 *     +---------------------------+
 *
 * What has parts, or stands for an object, becomes what filters compare: a text, or a type and a length. */
#ifndef FG_CALL_IMAGE_H
#define FG_CALL_IMAGE_H

#include "engine/ring/field.h"
#include "tracedata/base/text.h"

/* X(field, its name in a filter, type, offset, its bit among the faults or 0). A function's own argument of
 * that name goes first. */
#define FG_CALL_FIELDS(X)                                                                                    \
    X(RET, "ret", VALUE, 8, 0)                                                                               \
    X(EXC, "exc", VALUE, 12, 0)                                                                              \
    X(RAISED, "raised", BOOL, 16, 0)                                                                         \
    X(DURATION, "duration", F64, 17, 8 * FG_CALL_FAULTS_AT) /* microseconds */                               \
    X(OWN, "own", F64, 25, 8 * FG_CALL_FAULTS_AT)           /* of these without callees */

#define FG_CALL_FAULTS_AT 33u
#define FG_CALL_ATTRIBUTES_AT 34u
#define FG_CALL_MOST_ATTRIBUTES 32u /* of a filter */
#define FG_CALL_ARGUMENTS_AT (FG_CALL_ATTRIBUTES_AT + 4 * FG_CALL_MOST_ATTRIBUTES)
#define FG_CALL_MOST_ARGUMENTS 100u /* further ones have no field */
#define FG_CALL_IMAGE_BYTES 0xffffu
#define FG_CALL_MOST_OTHERS 16u /* names of other attributes that are kept */

/* Of which value an attribute is: an argument has its number. */
enum fg_call_attribute_of { FG_CALL_OF_RESULT = -1, FG_CALL_OF_EXCEPTION = -2 };

/* An attribute that a filter names: `cart.user`, `ret.total`. */
struct fg_call_attribute {
    int32_t of;
    uint32_t name_bytes;
    char *name; /* without that of the value */
    /* What fg_call_image() has met. Until a value has the attribute, the names of those that it has: each a
     * u32, its bytes, and these. */
    bool has_owner, is_found;
    uint32_t nr_others;
    struct fg_text others;
};

/* What a filter compares of a call beside its fields. */
struct fg_call_attributes {
    struct fg_call_attribute *items;
    uint32_t n; /* at most FG_CALL_MOST_ATTRIBUTES */
};

/* What is known of a call that is over, or in progress at the end of the trace. */
struct fg_call_facts {
    int32_t tid;
    bool raised;
    bool is_timed; /* it ended, and is whole */
    uint64_t ran_ns, self_ns;
    const uint8_t *arguments, *arguments_end; /* as recorded: fg_value_next() */
    const uint8_t *outcome, *outcome_end;     /* the result or the exception */
};

/* @attributes: in the order of their fields; what is met of them is noted. Return: how many bytes the image
 * has, at most FG_CALL_IMAGE_BYTES. What has no room could not be read. */
uint32_t fg_call_image(uint8_t image[FG_CALL_IMAGE_BYTES], const struct fg_call_facts *call,
                       struct fg_call_attributes *attributes);

#endif
