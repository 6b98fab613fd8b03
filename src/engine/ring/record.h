/* The compact record, which tracers write into sub-buffers and readers decode.
 *
 * A record is a 16-byte head and `words` - 2 payload words after it:
 *
 *      63                                     0
 *     +----------------------------------------+
 *     | time: raw clock ticks (clock.h)        |
 *     +-------------------+--------------------+
 *     | info (bit fields) | func: function id  |
 *     +-------------------+--------------------+
 *     | payload words, by kind                 |
 *     | values (encoded bytes, zero padded)    |
 *     +----------------------------------------+
 *
 * info, from bit 0:  kind:4 | has_start:1 | has_values:1 | irq:1 | words:7 | depth:18
 *
 * irq: for a call's entry or end: the interpreter made the call to handle a signal.
 *
 * Times are absolute, so a record can be read without the one before it. The records that an overwrite or
 * a crash removes never make the others unreadable.
 */
#ifndef FG_RECORD_H
#define FG_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What a kind of record is: bits of the last column of FG_RECORD_KINDS. */
#define FG_KIND_BEGIN 1u        /* a call begins, or goes on */
#define FG_KIND_END 2u          /* a call ends, or gives way */
#define FG_KIND_OF_FUNCTION 4u  /* it is about its func: a call, a mark, or an event that was hit there */
#define FG_KIND_TIME 8u         /* its first payload word is a time, in ticks of the record's clock */
#define FG_KIND_HALVES 16u      /* its payload words are two numbers of 32 bits each */
#define FG_KIND_BYTES 32u       /* bytes follow its payload words that are no values */
#define FG_KIND_FUNC_IN_ROW 64u /* rows.h: its row names func, which nothing else tells */

#define FG_KIND_IS_BEGIN (FG_KIND_BEGIN | FG_KIND_OF_FUNCTION | FG_KIND_FUNC_IN_ROW)
#define FG_KIND_IS_END (FG_KIND_END | FG_KIND_OF_FUNCTION | FG_KIND_TIME)
#define FG_KIND_IS_OTHER (FG_KIND_OF_FUNCTION | FG_KIND_FUNC_IN_ROW)

/* X(kind, value, fixed payload words, meaning, FG_KIND_ bits). The payload has the fixed words first, then
 * `start` if has_start, then the values if has_values. */
#define FG_RECORD_KINDS(X)                                                                                   \
    X(ENTRY, 0, 0, "a call began", FG_KIND_IS_BEGIN)                                                         \
    X(RESUME, 1, 0, "a suspended call runs again; start says which", FG_KIND_IS_BEGIN)                       \
    X(RETURN, 2, 1, "a call returned; payload: calltime", FG_KIND_IS_END)                                    \
    X(RAISE, 3, 1, "a call ended by an exception; payload: calltime; values: the exception", FG_KIND_IS_END) \
    X(SUSPEND, 4, 1, "a generator or coroutine gave way; payload: calltime", FG_KIND_IS_END)                 \
    X(CLOSE, 5, 1, "a suspended call was closed, cancelled or collected; payload: calltime", FG_KIND_IS_END) \
    X(FUNCTION, 6, 1,                                                                                        \
      "the function tracer's record; payload: who called, as in CALL_AT, without a place if those are not "  \
      "recorded, or 0",                                                                                      \
      FG_KIND_IS_OTHER)                                                                                      \
    X(WAIT, 7, 1,                                                                                            \
      "the writer waited for the recorder; payload: ticks at which the wait began; time: its end; depth: 1 " \
      "if durations leave it out already, as all sleep",                                                     \
      FG_KIND_TIME)                                                                                          \
    X(LOST, 8, 1, "payload: how many records of this task were lost just before this one", 0)                \
    X(OVERRUN, 9, 1, "payload: calls of this task not traced so far because its shadow stack was full", 0)   \
    X(MARK, 10, 1,                                                                                           \
      "a text that the program put in; payload: low half its length in bytes, high half FG_MARK_RAW if it "  \
      "is no text but an id of 4 bytes and data; then its bytes; func: who, or 0",                           \
      FG_KIND_IS_OTHER | FG_KIND_BYTES)                                                                      \
    X(STACK, 11, 0,                                                                                          \
      "what the call before it was made from; values: function ids, u32 each, the nearest first; 0 ends "    \
      "them",                                                                                                \
      FG_KIND_FUNC_IN_ROW)                                                                                   \
    X(REPEATS, 12, 2,                                                                                        \
      "the function tracer's: the call before it came again; time: when last; payload: who called, as in "   \
      "FUNCTION; how often",                                                                                 \
      FG_KIND_FUNC_IN_ROW)                                                                                   \
    X(CALL_AT, 13, 1,                                                                                        \
      "a call began; payload: where it was made: low half the caller's function id, high half its line (in " \
      "native code: the offset behind the call)",                                                            \
      FG_KIND_IS_BEGIN | FG_KIND_HALVES)                                                                     \
    X(EVENT, 14, 2,                                                                                          \
      "an event; func: the function where it was hit, or 0; payload: its number in the low half and the "    \
      "bytes of its fields in the high half; who called, as in CALL_AT, or 0; then its fields (field.h)",    \
      FG_KIND_IS_OTHER | FG_KIND_HALVES | FG_KIND_BYTES)

enum fg_record_kind {
#define X(name, value, words, text, bits) FG_RECORD_##name = (value),
    FG_RECORD_KINDS(X)
#undef X
};

struct fg_record {
    uint64_t time;
    uint32_t func;
    uint32_t info;
};

#define FG_RECORD_HAS_START (1u << 4)
#define FG_RECORD_HAS_VALUES (1u << 5)
#define FG_RECORD_IRQ (1u << 6)
#define FG_RECORD_WORDS_SHIFT 7
#define FG_RECORD_DEPTH_SHIFT 14
#define FG_RECORD_MAX_WORDS 127u
#define FG_MARK_RAW (UINT64_C(1) << 32)
#define FG_MARK_ID_BYTES 4u                               /* of the id that raw data begins with */
#define FG_MARK_MAX_BYTES ((FG_RECORD_MAX_WORDS - 3) * 8) /* a longer text continues in the next record */
#define FG_EVENT_MAX_FIELD_BYTES ((FG_RECORD_MAX_WORDS - 4) * 8)
#define FG_RECORD_MAX_DEPTH ((1u << 18) - 1)

#define FG_RECORD_INFO(kind, words, depth)                                                                   \
    ((uint32_t)(kind) | ((uint32_t)(words) << FG_RECORD_WORDS_SHIFT) |                                       \
     ((uint32_t)(depth) << FG_RECORD_DEPTH_SHIFT))

static inline enum fg_record_kind fg_record_kind(uint32_t info)
{
    return (enum fg_record_kind)(info & 15u);
}

static inline uint32_t fg_record_words(uint32_t info)
{
    return (info >> FG_RECORD_WORDS_SHIFT) & FG_RECORD_MAX_WORDS;
}

static inline uint32_t fg_record_depth(uint32_t info)
{
    return info >> FG_RECORD_DEPTH_SHIFT;
}

/* The FG_KIND_ bits of a kind. */
static inline uint32_t fg_record_kind_bits(enum fg_record_kind kind)
{
    static const uint8_t kind_bits[16] = {
#define X(name, value, words, text, bits) [(value)] = (bits),
        FG_RECORD_KINDS(X)
#undef X
    };

    return kind_bits[kind];
}

/* How many payload words come before `start` and the values. */
static inline uint32_t fg_record_fixed_words(enum fg_record_kind kind)
{
    static const uint8_t fixed_words[16] = {
#define X(name, value, words, text, bits) [(value)] = (words),
        FG_RECORD_KINDS(X)
#undef X
    };

    return fixed_words[kind];
}

/* Values: the arguments at a call's entry, the result or exception at its end. They are a byte stream of
 * tagged values that ends with FG_VALUE_END, which the zero padding also reads as, or with the record. So
 * does FG_VALUE_DISCARDED end them: who does not know the tag reads the same values.
 * Integers are little-endian and unaligned. The length byte before a text or type name holds its length
 * in bytes. */
#define FG_VALUE_TAGS(X)                                                                                     \
    X(END, 0, "no more values")                                                                              \
    X(NONE, 1, "None")                                                                                       \
    X(TRUE, 2, "True")                                                                                       \
    X(FALSE, 3, "False")                                                                                     \
    X(INT8, 4, "int: i8")                                                                                    \
    X(INT64, 5, "int: i64")                                                                                  \
    X(BIGINT, 6, "int of more than 64 bits: u8 negative, u32 bits")                                          \
    X(FLOAT, 7, "float: f64")                                                                                \
    X(STR, 8, "str: u64 length in characters, u8 n, n bytes of UTF-8: its beginning")                        \
    X(BYTES, 9, "bytes: u64 length in bytes, u8 n, n bytes: its beginning")                                  \
    X(SIZED, 10, "container: u64 length in items, u8 n, n bytes of type name")                               \
    X(OBJECT, 11, "any other object: u64 address, u8 n, n bytes of type name")                               \
    X(UNBOUND, 12, "an argument that has no value")                                                          \
    X(MORE, 13, "further values were left out")                                                              \
    X(WORD, 14, "a machine word of native code: u8 bytes of its type, u64")                                  \
    X(TEXT, 15, "str: u64 length in characters, u16 n, n bytes of UTF-8: its beginning")                     \
    X(DATA, 16, "bytes: u64 length in bytes, u16 n, n bytes: its beginning")                                 \
    X(SHOWN, 17,                                                                                             \
      "an object that a text stands for: u8 n, n bytes of type name; then as STR or TEXT, which follows")    \
    X(MEMBER, 18, "what has a name, as a member of an enumeration: u8 n, n bytes of it")                     \
    X(OPEN, 19,                                                                                              \
      "its parts follow until CLOSE: u8 form, u64 length in items, u8 n, n bytes of type name, 0 of a "      \
      "built-in type that its form tells")                                                                   \
    X(CLOSE, 20, "the end of the parts")                                                                     \
    X(NAME, 21, "the name of the part that follows: u8 n, n bytes of UTF-8")                                 \
    X(HIDDEN, 22, "a value that was left out for its name")                                                  \
    X(FAULT, 23, "a value that could not be read")                                                           \
    X(DISCARDED, 24, "no more values, and the caller throws away the one before it, a result other than None")

enum fg_value_tag {
#define X(name, value, text) FG_VALUE_##name = (value),
    FG_VALUE_TAGS(X)
#undef X
};

/* The forms of what has parts. Those of a dict are keys and values in turn. */
#define FG_VALUE_FORMS(X)                                                                                    \
    X(CALL, 0, "Type(a, name=b)")                                                                            \
    X(LIST, 1, "[a, b]")                                                                                     \
    X(TUPLE, 2, "(a, b)")                                                                                    \
    X(SET, 3, "{a, b}")                                                                                      \
    X(DICT, 4, "{a: b}")

enum fg_value_form {
#define X(name, value, text) FG_FORM_##name = (value),
    FG_VALUE_FORMS(X)
#undef X
};

#define FG_VALUE_WORD_BYTES 10u     /* of a WORD, with its tag */
#define FG_VALUE_DISCARDED_BYTES 1u /* of a DISCARDED */

/* Writes a WORD; returns FG_VALUE_WORD_BYTES. @size_bytes: of its type. */
static inline size_t fg_value_put_word(uint8_t *at, uint64_t word, uint8_t size_bytes)
{
    at[0] = FG_VALUE_WORD;
    at[1] = size_bytes;
    memcpy(at + 2, &word, sizeof(word));
    return FG_VALUE_WORD_BYTES;
}

/* The bytes of the type of what a function returned in a register. Nobody knows the type. As the kernel does,
 * one whose upper half is zero counts as an int, whose error numbers are below zero. */
static inline uint8_t fg_result_bytes(uint64_t word)
{
    return word >> 32 ? 8 : 4;
}

#define FG_VALUE_MAX_TEXT 48u /* bytes of a str or bytes value that are kept */
#define FG_VALUE_MAX_TYPE 32u /* bytes of a type's name that are kept */

#endif
