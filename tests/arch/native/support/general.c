/* See general.h. Compiled with -mgeneral-regs-only. */
#include "support/general.h"

#include "arch/native/regs.h"
#include "engine/core/regs.h"

struct general general;

static int on_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *data)
{
    uint64_t *words = data;

    (void)fp, (void)func;
    general.entries++;
    general.saved += fg_native_regs_of(regs) != NULL;
    general.wrong += ret_ip == 0 || ret_ip != fg_regs_return_address(regs);
    general.wrong += !fg_regs_word(regs, FG_WORD_IP, 0, &general.ip);
    general.wrong += !fg_regs_word(regs, FG_WORD_SP, 0, &general.sp);
    for (uint32_t i = 0; i < 6; i++)
        general.wrong += !fg_regs_word(regs, FG_WORD_ARGUMENT, i, &general.arguments[i]);
    for (uint32_t i = 0; i < 8; i++)
        general.wrong += !fg_regs_word(regs, FG_WORD_REAL_ARGUMENT, i, &general.reals[i]);
    if (words)
        words[0] = general.entries;
    if (general.calls)
        general.calls();
    return general.skips;
}

static void on_exit_of(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                       void *data)
{
    const uint64_t *words = data;

    (void)fp, (void)func;
    general.exits++;
    general.saved += fg_native_regs_of(regs) != NULL;
    general.wrong += ret_ip == 0 || ret_ip != fg_regs_return_address(regs) || (words && !words[0]);
    for (uint32_t i = 0; i < 2; i++) {
        general.wrong += !fg_regs_word(regs, FG_WORD_RESULT, i, &general.results[i]);
        general.wrong += !fg_regs_word(regs, FG_WORD_REAL_RESULT, i, &general.real_results[i]);
    }
    if (general.calls_at_exit)
        general.calls_at_exit();
}

void general_probe(struct fprobe *fp, size_t entry_data_size)
{
    general = (struct general){.entries = 0};
    *fp = (struct fprobe){.entry_handler = on_entry,
                          .exit_handler = on_exit_of,
                          .entry_data_size = entry_data_size,
                          .flags = FTRACE_OPS_FL_NATIVE | FTRACE_OPS_FL_GENERAL_REGS};
}

static int on_entry_of_nothing(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                               struct ftrace_regs *regs, void *data)
{
    (void)fp, (void)func, (void)ret_ip, (void)regs, (void)data;
    return 0;
}

static void on_exit_of_nothing(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                               struct ftrace_regs *regs, void *data)
{
    (void)fp, (void)func, (void)ret_ip, (void)regs, (void)data;
}

void general_probe_nothing(struct fprobe *fp)
{
    *fp = (struct fprobe){.entry_handler = on_entry_of_nothing,
                          .exit_handler = on_exit_of_nothing,
                          .flags = FTRACE_OPS_FL_NATIVE | FTRACE_OPS_FL_GENERAL_REGS};
}
