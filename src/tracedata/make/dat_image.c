/* See dat_image.h. */
#include "tracedata/make/dat_image.h"

/* An image has its fields, and a tail of what follows the event's data. */

static uint32_t caller_address(const struct fg_flat_data *call)
{
    uint32_t address = call->caller_kind == FG_CALLER_FUNCTION ? fg_function_address(call->caller) : 0;

    return address + (call->caller_place ? FG_WIRE_FUNC_INSIDE : 0);
}

static uint32_t place_bytes(const struct fg_flat_data *call)
{
    return call->caller_place ? sizeof(call->caller_place) : 0;
}

static uint32_t rest_bytes(const struct fg_event *event, size_t data_bytes)
{
    return (uint32_t)(event->size - data_bytes);
}

uint32_t fg_dat_other_bytes(const struct fg_event *event)
{
    switch (event->type) {
    case FG_EVENT_function:
        return (uint32_t)sizeof(struct fg_wire_function) + place_bytes(fg_event_function(event)) +
               rest_bytes(event, sizeof(struct fg_flat_data));
    case FG_EVENT_kernel_stack:
        return (uint32_t)sizeof(struct fg_wire_kernel_stack) +
               fg_event_kernel_stack(event)->nr_callers * (uint32_t)sizeof(uint64_t);
    case FG_EVENT_func_repeats:
        return (uint32_t)sizeof(struct fg_wire_func_repeats) +
               place_bytes(&fg_event_func_repeats(event)->call);
    case FG_EVENT_print: /* with the NUL at its end, as the kernel has it */
        return (uint32_t)sizeof(struct fg_wire_print) + rest_bytes(event, sizeof(struct fg_print_data)) + 1;
    case FG_EVENT_raw_data:
        return (uint32_t)sizeof(struct fg_wire_raw_data) + rest_bytes(event, sizeof(struct fg_raw_data));
    case FG_EVENT_recorder_wait:
        return sizeof(struct fg_wire_recorder_wait);
    case FG_EVENT_overrun:
        return sizeof(struct fg_wire_overrun);
    default:
        return 0;
    }
}

static void put_function(const struct fg_event *event, void *image)
{
    const struct fg_flat_data *call = fg_event_function(event);
    struct fg_wire_function *function = image;

    function->ip = fg_function_address(call->func);
    function->parent_ip = caller_address(call);
    memcpy(function->tail, &call->caller_place, place_bytes(call));
    memcpy(function->tail + place_bytes(call), call + 1, rest_bytes(event, sizeof(*call)));
}

static void put_stack(const struct fg_event *event, void *image)
{
    const struct fg_stack_data *data = fg_event_kernel_stack(event);
    struct fg_wire_kernel_stack *stack = image;

    stack->size = (int32_t)data->nr_callers;
    stack->padding = 0;
    for (uint32_t i = 0; i < data->nr_callers; i++)
        stack->caller[i] = fg_function_address(data->callers[i]);
}

static void put_repeats(const struct fg_event *event, void *image)
{
    const struct fg_repeats_data *data = fg_event_func_repeats(event);
    struct fg_wire_func_repeats *repeats = image;

    repeats->ip = fg_function_address(data->call.func);
    repeats->parent_ip = caller_address(&data->call);
    repeats->count = (uint16_t)data->count;
    repeats->top_delta_ts = (uint16_t)(data->last_ns >> 32);
    repeats->bottom_delta_ts = (uint32_t)data->last_ns;
    memcpy(repeats->tail, &data->call.caller_place, place_bytes(&data->call));
}

static void put_print(const struct fg_event *event, void *image)
{
    const struct fg_print_data *data = fg_event_print(event);
    struct fg_wire_print *print = image;
    uint32_t bytes = rest_bytes(event, sizeof(*data));

    print->ip = data->is_mark ? FG_WIRE_FUNC_MARK : fg_function_address(data->func);
    memcpy(print->buf, data->text, bytes);
    print->buf[bytes] = 0;
}

static void put_raw(const struct fg_event *event, void *image)
{
    const struct fg_raw_data *data = fg_event_raw_data(event);
    struct fg_wire_raw_data *raw = image;

    raw->id = data->id;
    memcpy(raw->buf, data->bytes, rest_bytes(event, sizeof(*data)));
}

void fg_dat_other_put(const struct fg_event *event, void *image)
{
    *(struct fg_wire_common *)image =
        (struct fg_wire_common){.common_type = (uint16_t)event->type, .common_pid = event->tid};
    switch (event->type) {
    case FG_EVENT_function:
        put_function(event, image);
        break;
    case FG_EVENT_kernel_stack:
        put_stack(event, image);
        break;
    case FG_EVENT_func_repeats:
        put_repeats(event, image);
        break;
    case FG_EVENT_print:
        put_print(event, image);
        break;
    case FG_EVENT_raw_data:
        put_raw(event, image);
        break;
    case FG_EVENT_recorder_wait:
        ((struct fg_wire_recorder_wait *)image)->duration_ns = fg_event_recorder_wait(event)->duration_ns;
        break;
    case FG_EVENT_overrun:
        ((struct fg_wire_overrun *)image)->total = fg_event_overrun(event)->total;
        break;
    }
}
