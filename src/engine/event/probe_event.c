/* See probe_event.h. */
#include "engine/event/probe_event.h"

static inline struct fg_probe_event *probe_of(struct fprobe *fp)
{
    return fg_container_of(fp, struct fg_probe_event, fp);
}

static void hit(const struct fg_probe_event *probe, struct fg_event_site site, const struct ftrace_regs *regs,
                const uint8_t *entry_data)
{
    uint8_t image[FG_EVENT_MAX_BYTES];
    uint32_t bytes = probe->ops->run(probe->program, regs, site.func, entry_data, image);

    fg_event_hit(probe->event, &site, image, bytes);
}

static int at_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *entry_data)
{
    const struct fg_probe_event *probe = probe_of(fp);

    (void)ret_ip, (void)entry_data;
    if (fg_event_is_enabled(probe->event))
        hit(probe, (struct fg_event_site){.task = fg_task_self, .func = func->id, .regs = regs}, regs, NULL);
    return 1;
}

/* Nobody wants the event now: nobody gets its return either, whose entry nobody saw. */
static int keep_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                      void *entry_data)
{
    const struct fg_probe_event *probe = probe_of(fp);

    (void)func, (void)ret_ip;
    if (!fg_event_is_enabled(probe->event))
        return 1;
    if (entry_data)
        probe->ops->run_entry(probe->program, regs, entry_data);
    return 0;
}

static void at_return(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                      void *entry_data)
{
    const struct fg_probe_event *probe = probe_of(fp);
    const struct fg_func *caller;

    (void)ret_ip;
    if (!fg_event_is_enabled(probe->event))
        return;
    caller = fg_regs_calling_func(regs);
    hit(probe,
        (struct fg_event_site){.task = fg_task_self,
                               .func = func->id,
                               .caller = {.func = caller ? caller->id : 0},
                               .regs = regs},
        regs, entry_data);
}

void fg_probe_event_init(struct fg_probe_event *probe, struct fg_event *event, const struct fg_fetch_ops *ops,
                         const void *program, bool is_return, uint32_t entry_bytes)
{
    probe->event = event;
    probe->ops = ops;
    probe->program = program;
    probe->fp.entry_handler = is_return ? keep_entry : at_entry;
    probe->fp.exit_handler = is_return ? at_return : NULL;
    probe->fp.entry_data_size = is_return ? entry_bytes : 0;
}
