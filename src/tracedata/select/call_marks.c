/* See call_marks.h. */
#include "tracedata/select/call_marks.h"

#include <stdlib.h>

#include "engine/base/array.h"

void fg_call_marks_free(struct fg_call_marks *marks)
{
    for (size_t i = 0; i < marks->nr_threads; i++)
        free(marks->threads[i].bits);
    free(marks->threads);
    *marks = (struct fg_call_marks){0};
}

int fg_call_marks_add(struct fg_call_marks *marks, uint32_t thread, uint64_t number, uint8_t mark)
{
    struct fg_thread_marks *of;
    int error = 0;

    if (thread >= marks->nr_threads) {
        error = fg_array_reserve_zeroed(&marks->threads, &marks->capacity, (size_t)thread + 1);
        if (error)
            return error;
        marks->nr_threads = (size_t)thread + 1;
    }
    of = &marks->threads[thread];
    if (number / 4 >= of->bytes) {
        error = fg_array_reserve_zeroed(&of->bits, &of->capacity, number / 4 + 1);
        if (error)
            return error;
        of->bytes = number / 4 + 1;
    }
    of->bits[number / 4] |= (uint8_t)(mark << (number % 4 * 2));
    return 0;
}
