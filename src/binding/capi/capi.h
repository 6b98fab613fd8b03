/* The C API for other extensions. capi.c has the table, the other files of this room what is in it.
 * No function of the API sets a Python exception, and none clears an exception that is set. */
#ifndef FG_CAPI_H
#define FG_CAPI_H

#include "arch/cpython/base/compat/python.h"

#include "engine/core/function.h"
#include "engine/core/pattern.h"
#include "engine/core/public.h"

/* Adds the capsule to the module. Return: 0, or -1 with an exception. */
int fg_capi_add(PyObject *module);

/* As funcgraph.h says of the functions with the same names, but without the prefix fg_capi_. */
int fg_capi_register_fprobe(struct fprobe *fp, const char *filter, const char *notfilter);
int fg_capi_register_fprobe_ips(struct fprobe *fp, struct fg_func *const funcs[], size_t n);
int fg_capi_register_fprobe_syms(struct fprobe *fp, const char *const names[], size_t n);
int fg_capi_unregister_fprobe(struct fprobe *fp);
int fg_capi_unregister_fprobe_async(struct fprobe *fp);
int fg_capi_enable_fprobe(struct fprobe *fp);
int fg_capi_disable_fprobe(struct fprobe *fp);
int fg_capi_fprobe_is_registered(const struct fprobe *fp);
int fg_capi_fprobe_count_ips_from_filter(const char *filter, const char *notfilter);
int fg_capi_kprobe_multi_attach(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                                const uint64_t cookies[], size_t n);
int fg_capi_kprobe_multi_attach_filter(struct kprobe_multi_link *link, const char *filter);
int fg_capi_kprobe_multi_detach(struct kprobe_multi_link *link);
struct fg_func *fg_capi_func_of(PyObject *callable);
size_t fg_capi_funcs_named(const char *name, struct fg_func *funcs[], size_t room);
int fg_capi_register_kretprobe(struct kretprobe *rp);
int fg_capi_unregister_kretprobe(struct kretprobe *rp);
int fg_capi_enable_kretprobe(struct kretprobe *rp);
int fg_capi_disable_kretprobe(struct kretprobe *rp);
uint64_t fg_capi_kretprobe_nmissed(const struct kretprobe *rp);
int fg_capi_register_kprobe(struct kprobe *kp);
int fg_capi_unregister_kprobe(struct kprobe *kp);
int fg_capi_enable_kprobe(struct kprobe *kp);
int fg_capi_disable_kprobe(struct kprobe *kp);
uint64_t fg_capi_kprobe_nmissed(const struct kprobe *kp);
uint64_t fg_capi_kprobe_hits(const struct kprobe *kp);
PyObject *fg_capi_get_regs(const struct ftrace_regs *regs);
struct ftrace_pt_regs *fg_capi_partial_regs(const struct ftrace_regs *regs, struct ftrace_pt_regs *out);
int fg_capi_fill_perf_regs(const struct ftrace_regs *regs, struct ftrace_perf_regs *out);
size_t fg_capi_regs_get_callchain(const struct ftrace_regs *regs, struct ftrace_location places[],
                                  size_t room);
size_t fg_capi_get_ret_stack(struct fgraph_ret_frame frames[], size_t room);
struct fg_task *fg_capi_task_of(int tid);
int fg_capi_graph_get_ret_stack(const struct fg_task *task, unsigned idx, struct ftrace_ret_stack *call);

/**
 * fg_capi_be_here - make sure that the end of this interpreter will unregister what is registered here
 *
 * funcgraph's module does that. CPython 3.13 and later runs the init function of a module with single-phase
 * initialisation in the main interpreter, also for another one: then funcgraph_import() imported it there.
 *
 * Return: 0; -EIO with an exception: the module cannot be imported.
 */
int fg_capi_be_here(void);

/* Has native functions that patterns select hooked. Return: 0; -EOPNOTSUPP: those of an object that is meant
 * cannot be; -ENOMEM, or -EIO. */
int fg_capi_hook_native(const struct fg_patterns *patterns);

/* The interpreter ends: unregisters its kprobes. */
void fg_capi_kprobes_end(void);

#endif
