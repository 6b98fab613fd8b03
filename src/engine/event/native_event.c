/* See native_event.h. */
#include "engine/event/native_event.h"

#include "engine/fetch/native_run.h"

static uint32_t run(const void *program, const struct ftrace_regs *regs, uint32_t func,
                    const uint8_t *entry_data, uint8_t *image)
{
    return fg_fetch_native(program, regs, func, entry_data, image);
}

static void run_entry(const void *program, const struct ftrace_regs *regs, uint8_t *entry_data)
{
    fg_fetch_native_entry(program, regs, entry_data);
}

static const struct fg_fetch_ops fetch_ops = {run, run_entry};

void fg_native_event_init(struct fg_probe_event *probe, struct fg_event *event,
                          const struct fg_native_program *program)
{
    fg_probe_event_init(probe, event, &fetch_ops, program, program->layout.is_return,
                        fg_native_entry_bytes(program));
    probe->fp.flags |= FTRACE_OPS_FL_NATIVE;
}
