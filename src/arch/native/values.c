/* See values.h. */
#include "arch/native/values.h"

#include <stdbool.h>
#include <string.h>

#include "arch/native/machine.h"
#include "engine/core/value_style.h"
#include "engine/ring/record.h"

static size_t put(const struct ftrace_regs *regs, enum fg_word kind, uint32_t n, bool is_hidden, uint8_t *out,
                  size_t room)
{
    uint64_t word;

    if (room < FG_VALUE_WORD_BYTES || !fg_regs_word(regs, kind, n, &word))
        return 0;
    if (!is_hidden)
        return fg_value_put_word(out, word, kind == FG_WORD_RESULT ? fg_result_bytes(word) : sizeof(word));
    *out = FG_VALUE_HIDDEN;
    return 1;
}

size_t fg_native_encode_arguments(const struct ftrace_regs *regs, const struct fg_value_style *style,
                                  uint8_t *out, size_t room)
{
    const char *name = fg_machine_argument_names;
    size_t used = 0, bytes;

    for (uint32_t n = 0; *name; n++, name += bytes + (name[bytes] == ',')) {
        bytes = strcspn(name, ",");
        used +=
            put(regs, FG_WORD_ARGUMENT, n, fg_value_style_hides(style, name, bytes), out + used, room - used);
    }
    return used;
}

size_t fg_native_encode_result(const struct ftrace_regs *regs, const char *function,
                               const struct fg_value_style *style, uint8_t *out, size_t room)
{
    bool is_hidden = fg_value_style_hides(style, function, strlen(function));

    return put(regs, FG_WORD_RESULT, 0, is_hidden, out, room);
}
