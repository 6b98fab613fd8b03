/* The C API for other extensions (funcgraph.h): the table of functions in the capsule
 * funcgraph._engine._C_API. Checks arguments, and calls the engine. */
#include "binding/capi/capi.h"

#include <errno.h>

#include "arch/cpython/base/capabilities.h"
#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/register/users.h"
#include "binding/capi/capi_general.h"
#include "binding/core/native_patterns.h"
#include "engine/base/clock.h"
#include "engine/core/task.h"
#include "engine/graph/data.h"
#include "engine/graph/filter.h"
#include "engine/graph/user.h"
#include "engine/probe/kprobe_multi.h"
#include "engine/users/users.h"

/* Compiled modules of other people rely on these sizes, and on zeros where 1.1 had words of the engine. */
_Static_assert(sizeof(struct fgraph_ops) == 54 * sizeof(uint64_t), "as in 1.0");
_Static_assert(sizeof(struct fprobe) == 28 * sizeof(uint64_t), "as in 1.1");
_Static_assert(sizeof(struct kprobe_multi_link) == 31 * sizeof(uint64_t), "as in 1.1");

/* Imports the module only if it is not there: the program may have its own __import__. */
int fg_capi_be_here(void)
{
    PyObject *name = PyUnicode_FromString("funcgraph._engine");
    PyObject *module = name ? PyImport_GetModule(name) : NULL;

    if (name && !module && !PyErr_Occurred())
        module = PyImport_Import(name);
    Py_XDECREF(name);
    Py_XDECREF(module);
    return module ? 0 : -EIO;
}

int fg_capi_hook_native(const struct fg_patterns *patterns)
{
    return fg_native_hook(patterns) == 0 ? 0 : fg_native_errno();
}

/* FGRAPH_NOTRACE selects nothing. */
static int hook_native(const struct fgraph_ops *ops)
{
    const struct fg_patterns *sets = fg_user_of_const(ops)->filter.sets;
    int error = 0;

    for (int set = 0; set < FGRAPH_NR_FILTER_SETS && !error && (ops->flags & FTRACE_OPS_FL_NATIVE); set++)
        error = set == FGRAPH_NOTRACE ? 0 : fg_capi_hook_native(&sets[set]);
    return error;
}

/* Installing the hooks may raise. The caller gets the error number only, and keeps the exception that it
 * had. */
static int register_user(struct fgraph_ops *ops)
{
    fg_exception aside = fg_exception_set_aside();
    int error = fg_capi_be_here();

    if (!error)
        error = hook_native(ops);
    if (!error)
        error = fg_cpython_register(ops);
    fg_exception_put_back(aside); /* replaces an exception of the hooks */
    return error;
}

static int unregister_user(struct fgraph_ops *ops)
{
    fg_exception aside = fg_exception_set_aside();
    int error = fg_cpython_unregister(ops);

    fg_exception_put_back(aside);
    return error;
}

/* For a registered user, before its filter changes. */
static int hook_native_texts(const struct fgraph_ops *ops, enum fgraph_filter_set set,
                             const char *const patterns[], size_t n)
{
    struct fg_filter filter = {.c_calls = false};
    struct fg_pattern_error wrong;
    fg_exception aside;
    int error;

    if (fg_user_slot(ops) < 0 || !(ops->flags & FTRACE_OPS_FL_NATIVE) || set == FGRAPH_NOTRACE)
        return 0;
    aside = fg_exception_set_aside();
    error = fg_filter_add(&filter, set, patterns, n, &wrong);
    if (!error)
        error = fg_capi_hook_native(&filter.sets[set]);
    fg_filter_clear(&filter);
    fg_exception_put_back(aside);
    return error;
}

static int set_filter(struct fgraph_ops *ops, enum fgraph_filter_set set, const char *const patterns[],
                      size_t n, int reset)
{
    struct fg_pattern_error error;
    int failure;

    if ((unsigned)set >= FGRAPH_NR_FILTER_SETS)
        return -EINVAL;
    for (size_t i = 0; i < n; i++) {
        if (!patterns || !patterns[i])
            return -EINVAL;
    }
    failure = hook_native_texts(ops, set, patterns, n);
    if (!failure)
        failure = fgraph_edit_filter(ops, set, patterns, n, reset != 0, &error);
    return failure ? failure : fg_cpython_filter_changed(ops);
}

static int clear_filters(struct fgraph_ops *ops)
{
    if (fg_user_slot(ops) >= 0)
        return -EBUSY;
    fg_filter_clear(&fg_user_of(ops)->filter);
    return 0;
}

static int check_pattern(const char *text, const char **reason, size_t *column)
{
    struct fg_pattern pattern;
    const char *why;
    size_t where;
    int error = fg_pattern_parse(&pattern, text, reason ? reason : &why, column ? column : &where);

    if (!error)
        fg_pattern_clear(&pattern);
    return error;
}

static uint64_t nmissed(const struct fgraph_ops *ops)
{
    return fgraph_nmissed(ops);
}

static int slot(const struct fgraph_ops *ops, uint64_t *generation)
{
    if (generation)
        *generation = fg_user_of_const(ops)->generation;
    return fg_user_slot(ops);
}

static uint64_t *task_var(struct fg_task *task, const struct fgraph_ops *ops)
{
    return fgraph_task_var(task, ops);
}

static uint64_t task_overrun(const struct fg_task *task)
{
    return atomic_load_explicit(&task->overrun, memory_order_relaxed);
}

static const char *func_file(const struct fg_func *func)
{
    return func->file;
}

static const struct funcgraph_api api = {
    .major = FUNCGRAPH_API_MAJOR,
    .minor = FUNCGRAPH_API_MINOR,
    .bytes = sizeof(struct funcgraph_api),
    .register_ftrace_graph = register_user,
    .unregister_ftrace_graph = unregister_user,
    .set_filter = set_filter,
    .set_tids = fgraph_set_tids,
    .clear_filters = clear_filters,
    .check_pattern = check_pattern,
    .nmissed = nmissed,
    .slot = slot,
    .reserve_data = fgraph_reserve_data,
    .retrieve_data = fgraph_retrieve_data,
    .retrieve_parent_data = fgraph_retrieve_parent_data,
    .task_var = task_var,
    .current_task = fg_capi_current_task,
    .task_tid = fg_capi_task_tid,
    .task_overrun = task_overrun,
    .get_ret_stack = fg_capi_get_ret_stack,
    .ns = fg_clock_to_ns,
    .duration_ns = fg_clock_duration_ns,
    .func_name = fg_capi_func_name,
    .func_module = fg_capi_func_module,
    .func_qualname = fg_capi_func_qualname,
    .func_file = func_file,
    .func_line = fg_capi_func_line,
    .func_id = fg_capi_func_id,
    .regs_get_argument = fg_regs_argument,
    .regs_get_return_value = fg_regs_result,
    .regs_get_exception = fg_regs_exception,
    .regs_get_argument_by_name = fg_regs_argument_by_name,
    .regs_get_callable = fg_regs_callable,
    .regs_get_location = fg_regs_location,
    .regs_get_return_location = fg_regs_return_location,
    .regs_get_frame_pointer = fg_regs_frame_pointer,
    .regs_get_stack_pointer = fg_capi_regs_get_stack_pointer,
    .regs_query_register_offset = fg_regs_query_offset,
    .regs_get_stack_nth = fg_regs_stack_nth,
    .register_fprobe = fg_capi_register_fprobe,
    .register_fprobe_ips = fg_capi_register_fprobe_ips,
    .register_fprobe_syms = fg_capi_register_fprobe_syms,
    .unregister_fprobe = fg_capi_unregister_fprobe,
    .unregister_fprobe_async = fg_capi_unregister_fprobe_async,
    .enable_fprobe = fg_capi_enable_fprobe,
    .disable_fprobe = fg_capi_disable_fprobe,
    .fprobe_is_registered = fg_capi_fprobe_is_registered,
    .fprobe_count_ips_from_filter = fg_capi_fprobe_count_ips_from_filter,
    .fprobe_nmissed = fg_fprobe_nmissed,
    .kprobe_multi_attach = fg_capi_kprobe_multi_attach,
    .kprobe_multi_attach_filter = fg_capi_kprobe_multi_attach_filter,
    .kprobe_multi_detach = fg_capi_kprobe_multi_detach,
    .kprobe_multi_nmissed = fg_kprobe_multi_nmissed,
    .func_of = fg_capi_func_of,
    .funcs_named = fg_capi_funcs_named,
    .register_kretprobe = fg_capi_register_kretprobe,
    .unregister_kretprobe = fg_capi_unregister_kretprobe,
    .enable_kretprobe = fg_capi_enable_kretprobe,
    .disable_kretprobe = fg_capi_disable_kretprobe,
    .kretprobe_nmissed = fg_capi_kretprobe_nmissed,
    .register_kprobe = fg_capi_register_kprobe,
    .unregister_kprobe = fg_capi_unregister_kprobe,
    .enable_kprobe = fg_capi_enable_kprobe,
    .disable_kprobe = fg_capi_disable_kprobe,
    .kprobe_nmissed = fg_capi_kprobe_nmissed,
    .kprobe_hits = fg_capi_kprobe_hits,
    .get_regs = fg_capi_get_regs,
    .partial_regs = fg_capi_partial_regs,
    .fill_perf_regs = fg_capi_fill_perf_regs,
    .regs_get_callchain = fg_capi_regs_get_callchain,
    .task_of = fg_capi_task_of,
    .graph_get_ret_stack = fg_capi_graph_get_ret_stack,
    .capability = fg_capability,
    .func_is_native = fg_capi_func_is_native,
    .regs_get_argument_word = fg_capi_regs_get_argument_word,
    .regs_get_argument_double = fg_capi_regs_get_argument_double,
    .regs_get_return_word = fg_capi_regs_get_return_word,
    .regs_get_return_double = fg_capi_regs_get_return_double,
    .regs_get_instruction_pointer = fg_capi_regs_get_instruction_pointer,
    .regs_get_return_address = fg_capi_regs_get_return_address,
    .get_native_regs = fg_capi_get_native_regs,
};

int fg_capi_add(PyObject *module)
{
    /* The cast removes const: readers of the capsule do not write to the table. */
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&api, FUNCGRAPH_CAPSULE, NULL);
    int error = capsule ? PyModule_AddObjectRef(module, "_C_API", capsule) : -1;

    fg_clock_init(); /* callers may convert ticks before the first user is registered */
    Py_XDECREF(capsule);
    return error;
}
