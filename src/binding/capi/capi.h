/* The C API for other extensions. capi.c has the table; capi_fprobe.c has fprobes and finding functions.
 * No function of the API sets a Python exception, and none clears an exception that is set. */
#ifndef FG_CAPI_H
#define FG_CAPI_H

#include "arch/cpython/base/compat/python.h"
#include "engine/core/function.h"
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

#endif
