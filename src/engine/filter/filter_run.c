/* Running an event filter, step by step. What compares an integer of the image is the fast path. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#include "engine/base/compiler.h"
#include "engine/core/task.h"
#include "engine/filter/filter.h"
#include "engine/filter/filter_step.h"
#include "engine/filter/text_glob.h"

/* Reads exactly the field. The image was written a moment ago, field by field: a processor waits when it
 * reads across several stores that are still in its store buffer. */
static inline uint64_t load_bits(const uint8_t *at, uint32_t size)
{
    uint64_t bits = 0;
    uint32_t four;
    uint16_t two;

    switch (size) {
    case 8:
        memcpy(&bits, at, 8);
        return bits;
    case 4:
        memcpy(&four, at, 4);
        return four;
    case 2:
        memcpy(&two, at, 2);
        return two;
    default:
        return *at;
    }
}

/* False: it is not in the image, or could not be read. */
static inline bool load_integer(const struct fg_filter_step *step, const uint8_t *image, uint32_t bytes,
                                uint64_t *number)
{
    uint32_t offset = step->field.offset, size = step->size, shift = 64 - 8 * size;
    uint64_t bits;

    if (fg_unlikely(offset + size > bytes || fg_field_is_fault(image, bytes, &step->field, 0)))
        return false;
    bits = load_bits(image + offset, size);
    *number = step->is_signed ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits << shift >> shift;
    return true;
}

static bool load_any_integer(const struct fg_filter_step *step, const uint8_t *image, uint32_t bytes,
                             uint64_t *number)
{
    if (step->from != FG_FILTER_FROM_CPU)
        return load_integer(step, image, bytes, number);
    *number = (uint64_t)sched_getcpu();
    return true;
}

static bool test_text(const struct fg_filter_step *step, const char *text, size_t bytes)
{
    if (step->test == FG_FILTER_TEXT)
        return bytes == step->bytes && memcmp(text, step->text, bytes) == 0;
    return fg_text_glob_match(step->text, step->bytes, text, bytes) != step->is_not;
}

/* The thread's name as traces have it: that of its Thread object, else the kernel's. */
static bool test_comm(const struct fg_filter_step *step)
{
    const struct fg_task *task = fg_task_self;
    char comm[16] = "";

    if (task && task->name[0])
        return test_text(step, task->name, strnlen(task->name, sizeof(task->name)));
    prctl(PR_GET_NAME, comm);
    return test_text(step, comm, strnlen(comm, sizeof(comm)));
}

static bool test_characters(const struct fg_filter_step *step, const uint8_t *image, uint32_t bytes)
{
    uint32_t offset = step->field.offset;
    const char *text = (const char *)image + offset;

    if (offset + step->field.count > bytes || fg_field_is_fault(image, bytes, &step->field, 0))
        return false;
    return test_text(step, text, strnlen(text, step->field.count));
}

static bool test_any_text(const struct fg_filter_step *step, const uint8_t *image, uint32_t bytes)
{
    struct fg_loaded loaded;

    if (step->from == FG_FILTER_FROM_COMM)
        return test_comm(step);
    if (step->from == FG_FILTER_FROM_CHARACTERS)
        return test_characters(step, image, bytes);
    loaded = fg_field_load(image, bytes, &step->field, 0);
    return loaded.kind == FG_LOADED_TEXT && test_text(step, loaded.text, loaded.bytes);
}

static FG_NOINLINE bool test_other(const struct fg_filter_step *step, const uint8_t *image, uint32_t bytes)
{
    uint64_t number;

    switch ((enum fg_filter_test)step->test) {
    case FG_FILTER_CPU_RANGE:
        return load_any_integer(step, image, bytes, &number) && number - step->low <= step->span;
    case FG_FILTER_MASK:
        return load_any_integer(step, image, bytes, &number) && (number & step->number) != 0;
    case FG_FILTER_SET:
        return load_any_integer(step, image, bytes, &number) && fg_filter_set_has(step, number);
    case FG_FILTER_REAL: {
        struct fg_loaded loaded = fg_field_load(image, bytes, &step->field, 0);

        return loaded.kind == FG_LOADED_FLOAT && fg_filter_compare_real(step, loaded.real);
    }
    case FG_FILTER_TEXT:
    case FG_FILTER_GLOB:
        return test_any_text(step, image, bytes);
    case FG_FILTER_VALUE:
        return fg_filter_compare_value(step, image, bytes);
    default:
        return false;
    }
}

static inline bool test_range(const struct fg_filter_step *step, const uint8_t *image, uint32_t bytes)
{
    uint64_t number;

    return load_integer(step, image, bytes, &number) && number - step->low <= step->span;
}

static FG_NOINLINE bool run(const struct fg_event_filter *filter, uint32_t at, const uint8_t *image,
                            uint32_t bytes)
{
    while (at < filter->nr_steps) {
        const struct fg_filter_step *step = &filter->steps[at];
        bool is_range = step->test == FG_FILTER_RANGE;

        at = step->exits[is_range ? test_range(step, image, bytes) : test_other(step, image, bytes)];
    }
    return at == FG_EVENT_FILTER_ACCEPT;
}

/* Most filters begin with a comparison of an integer, and many end there. These call nothing. */
bool fg_event_filter_matches(const struct fg_event_filter *filter, const uint8_t *image, uint32_t bytes)
{
    const struct fg_filter_step *first = filter->steps;
    uint32_t at = 0;

    if (fg_likely(first->test == FG_FILTER_RANGE)) {
        at = first->exits[test_range(first, image, bytes)];
        if (fg_likely(at >= FG_EVENT_FILTER_REJECT))
            return at == FG_EVENT_FILTER_ACCEPT;
    }
    return run(filter, at, image, bytes);
}
