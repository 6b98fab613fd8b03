/* A probe that hits an event: at the entry or the return of functions, as an fprobe of its own. */
#ifndef FG_PROBE_EVENT_H
#define FG_PROBE_EVENT_H

#include "engine/event/event.h"
#include "engine/probe/fprobe.h"

/* How an arch reads the values of an event's fields. Nothing here may run code of the traced program. */
struct fg_fetch_ops {
    /* Fills in the fields of an image, and what they refer to. @entry_data: of the call's entry; NULL at an
     * entry. Returns the image's bytes, at most FG_EVENT_MAX_BYTES. */
    uint32_t (*run)(const void *program, const struct ftrace_regs *regs, uint32_t func,
                    const uint8_t *entry_data, uint8_t *image);
    /* At the entry of a return probe: keeps what its fields need of the entry. */
    void (*run_entry)(const void *program, const struct ftrace_regs *regs, uint8_t *entry_data);
};

struct fg_probe_event {
    struct fprobe fp;
    struct fg_event *event;
    const struct fg_fetch_ops *ops;
    const void *program;
};

/**
 * fg_probe_event_init() - Set up a probe that is all zeros.
 * @is_return: hit the event at the return, else at the entry
 * @entry_bytes: of what a return probe keeps from the entry
 *
 * Then fprobe.h's functions register probe->fp.
 */
void fg_probe_event_init(struct fg_probe_event *probe, struct fg_event *event, const struct fg_fetch_ops *ops,
                         const void *program, bool is_return, uint32_t entry_bytes);

#endif
