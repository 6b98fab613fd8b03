/* funcgraph for C and C++: users of the function graph with entry and return functions at native speed.
 *
 *     #include <Python.h>
 *     #include <funcgraph.h>
 *
 *     static int count(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
 *     {
 *         ++*(uint64_t *)ops->private_data;
 *         return 0;
 *     }
 *
 *     static uint64_t calls;
 *     static const char *const patterns[] = {"shop.*"};
 *     static struct fgraph_ops ops = {.entryfunc = count, .name = "counter", .private_data = &calls};
 *
 *     if (funcgraph_import() != 0)
 *         return NULL;
 *     error = fgraph_set_filter(&ops, FGRAPH_FILTER, patterns, 1, 1);
 *     if (!error)
 *         error = register_ftrace_graph(&ops);
 *
 * The semantics are those of the Linux kernel's fgraph_ops (Documentation/trace/ftrace-uses.rst and
 * fgraph's own header). docs/c-api.md describes every function and struct, and who may call what in which
 * thread.
 *
 * C11 or C++11, gcc or clang. Python.h comes first where funcgraph_import() is used. */
#ifndef FUNCGRAPH_H
#define FUNCGRAPH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The first number changes when what was compiled against the header before would break; the second grows
 * with what is added at the end of struct funcgraph_api. A module asks for at least the numbers it was
 * built with. */
#define FUNCGRAPH_API_MAJOR 1
#define FUNCGRAPH_API_MINOR 1
#define FUNCGRAPH_CAPSULE "funcgraph._engine._C_API"

#define FGRAPH_MAX_DATA_BYTES 256u /* that one user may reserve at one entry: 32 words */
#define FPROBE_MAX_DATA_BYTES 120u /* that an fprobe may keep from entry to exit: 15 words */

struct fg_func;     /* a traceable function: the kernel's dyn_ftrace */
struct fg_task;     /* an OS thread with its shadow stack */
struct ftrace_regs; /* what a hook saw at a function's boundary; valid while the callback runs */
struct fgraph_ops;
struct _object; /* CPython's PyObject */

/* How a call ended. */
enum fg_end {
    FG_END_RETURN = 0, /* it returned */
    FG_END_RAISE = 1,  /* an exception left it */
    FG_END_CLOSE = 2   /* a suspended call was closed, cancelled or collected; or nobody told its end */
};

/* What an entry function is told; valid while it runs. */
struct ftrace_graph_ent {
    struct fg_func *func;
    struct fg_task *task;
    uint64_t calltime; /* clock ticks: fgraph_ns() makes nanoseconds of them */
    uint64_t start;    /* ticks at which the call first began; differs from calltime after a resume */
    uint64_t *frame;   /* where its frame lies on the shadow stack */
    uint32_t depth;    /* frames of this user that are in progress below this one */
};

/* What a return function is told; valid while it runs. */
struct ftrace_graph_ret {
    struct fg_func *func;
    struct fg_task *task;
    uint64_t calltime; /* clock ticks: of the call, or of its latest resume */
    uint64_t rettime;
    uint64_t start;
    uint64_t *frame;
    uint32_t depth;
    enum fg_end end;
};

/* Nonzero: this user wants the return. */
typedef int (*trace_func_graph_ent_t)(struct ftrace_graph_ent *trace, struct fgraph_ops *ops,
                                      struct ftrace_regs *regs);
typedef void (*trace_func_graph_ret_t)(struct ftrace_graph_ret *trace, struct fgraph_ops *ops,
                                       struct ftrace_regs *regs);
typedef void (*trace_func_graph_resume_t)(struct ftrace_graph_ent *trace, struct fgraph_ops *ops,
                                          struct ftrace_regs *regs);

#define FGRAPH_OPS_ENGINE_WORDS 48

/* A user. Its memory is the caller's; it must live, unmoved, until unregister_ftrace_graph has returned.
 * All that is not set must be zero. Any of the functions may be NULL: without an entryfunc all returns
 * are wanted, without a retfunc none are told. */
struct fgraph_ops {
    trace_func_graph_ent_t entryfunc;
    trace_func_graph_ret_t retfunc;
    /* Optional: a generator or coroutine that is in progress gives way (`end` says nothing), and runs
     * again. */
    trace_func_graph_ret_t suspendfunc;
    trace_func_graph_resume_t resumefunc;
    const char *name;   /* what users() and error messages call it; must live as long as the ops */
    void *private_data; /* the user's own */
    uint64_t engine[FGRAPH_OPS_ENGINE_WORDS]; /* the engine's own: zero, then hands off */
};

/* The four sets of patterns of a user. */
enum fgraph_filter_set {
    FGRAPH_FILTER = 0,       /* only these functions; empty: all */
    FGRAPH_NOTRACE = 1,      /* never these */
    FGRAPH_GRAPH = 2,        /* only these and all that they call */
    FGRAPH_GRAPH_NOTRACE = 3 /* neither these nor anything that they call */
};
#define FGRAPH_NR_FILTER_SETS 4

/* ---- fprobes: handlers at the entry and the exit of many functions. All of an interpreter share one
 * user. */

struct fprobe;

/* `entry_ip` is the function; `ret_ip` the address of the instruction in its caller that it returns
 * behind, 0 if there is none: only to be compared, ftrace_regs_get_return_location() says where that is.
 * `entry_data` is zeroed at the entry and the same at the exit; NULL without an exit handler or with a
 * size of 0.
 *
 * Nonzero: the exit handler is not called for this call. */
typedef int (*fprobe_entry_cb)(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip,
                               struct ftrace_regs *regs, void *entry_data);
typedef void (*fprobe_exit_cb)(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip,
                               struct ftrace_regs *regs, void *entry_data);

#define FPROBE_ENGINE_WORDS 24

/* Its memory is the caller's; it must live, unmoved, until unregister_fprobe has returned. All that is
 * not set must be zero, and nothing may be changed while it is registered. Either handler may be NULL. */
struct fprobe {
    fprobe_entry_cb entry_handler;
    fprobe_exit_cb exit_handler;
    size_t entry_data_size;               /* bytes, at most FPROBE_MAX_DATA_BYTES */
    void *private_data;                   /* the caller's own */
    uint64_t engine[FPROBE_ENGINE_WORDS]; /* the engine's own: zero, then hands off */
};

/* ---- kprobe_multi: one program on many functions, with a cookie for each */

enum kprobe_multi_kind {
    KPROBE_MULTI_ENTRY = 0,
    KPROBE_MULTI_RETURN = 1,
    KPROBE_MULTI_SESSION = 2 /* both: the entry decides about the return, and shares a word with it */
};

struct kprobe_multi_link;

/* What the program is told; valid while it runs. */
struct kprobe_multi_ctx {
    struct kprobe_multi_link *link;
    struct fg_func *func;
    uintptr_t ret_ip; /* as an fprobe's */
    struct ftrace_regs *regs;
    uint64_t cookie;          /* this function's, as it was attached; 0 without cookies */
    uint64_t *session_cookie; /* of a session: zero at the entry, the same word at the return; else NULL */
    int is_return;
};

/* Nonzero at the entry of a session: no return. Else of no meaning. */
typedef int (*kprobe_multi_prog_t)(struct kprobe_multi_ctx *ctx);

/* Its memory is the caller's, as an fprobe's. */
struct kprobe_multi_link {
    kprobe_multi_prog_t prog;
    enum kprobe_multi_kind kind;
    void *private_data;
    struct fprobe fprobe; /* the library's own: zero, then hands off */
};

/* A place in a function's code. */
struct ftrace_location {
    struct fg_func *func; /* NULL: it was not met yet */
    struct _object *code; /* the code object, borrowed; NULL: the place is not known */
    int offset;           /* of the instruction, in bytes; -1: not known */
    int line;             /* -1: it has none */
};

/* One call in progress, as fgraph_get_ret_stack shows it. */
struct fgraph_ret_frame {
    struct fg_func *func;
    uint64_t calltime; /* clock ticks; 0: only fprobes watch it, and they need no times */
    uint64_t users;    /* bit i: the user in slot i wants the return */
};

/* What is behind the capsule. All functions that return int return 0 or a negative errno, and neither set
 * a Python exception nor lose one that is set. Those under "control" need the GIL (in a free-threaded
 * build: an attached thread state); the others need nothing. */
struct funcgraph_api {
    int major, minor;
    size_t bytes; /* sizeof(struct funcgraph_api) of the library */

    /* ---- control: anywhere but in signal handlers, in callbacks too */

    /* -EBUSY: registered already. -ENOSPC: every slot is taken. -ENOMEM. -EIO: no hook of CPython's is
     * free. */
    int (*register_ftrace_graph)(struct fgraph_ops *ops);
    /* Returns when none of its functions runs any more, other than the caller itself; the GIL is given
     * away for as long as that takes. -EINVAL: not registered. */
    int (*unregister_ftrace_graph)(struct fgraph_ops *ops);
    /* Adds patterns to one of the sets, or (reset) makes them the set; n = 0 with reset empties it. All
     * or nothing. -EINVAL: no such set, or a bad pattern. At any time, also before the registration. */
    int (*set_filter)(struct fgraph_ops *ops, enum fgraph_filter_set set, const char *const patterns[],
                      size_t n, int reset);
    /* Only calls in these threads (their OS ids); NULL: in all. */
    int (*set_tids)(struct fgraph_ops *ops, const int tids[], size_t n);
    /* Frees what the filters of an ops hold: the last thing done to one whose memory goes. -EBUSY:
     * registered. */
    int (*clear_filters)(struct fgraph_ops *ops);
    /* 0, or -EINVAL with what is wrong (a static text) and where (counted from 0); either may be NULL. */
    int (*check_pattern)(const char *pattern, const char **reason, size_t *column);
    /* Calls of its functions that a callback made: they are not traced. */
    uint64_t (*nmissed)(const struct fgraph_ops *ops);
    /* Its slot, or -1 if it is not registered; the generation tells it from others that had the slot. */
    int (*slot)(const struct fgraph_ops *ops, uint64_t *generation);

    /* ---- in callbacks */

    /* In an entry function, once: up to FGRAPH_MAX_DATA_BYTES zeroed bytes, aligned to 8, that the same
     * user finds at the return. NULL: no room, too many, none, or asked twice. */
    void *(*reserve_data)(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops, size_t bytes);
    /* In a return or suspend function: what was reserved at this entry, or NULL. `bytes`, which may be
     * NULL, gets its size. */
    void *(*retrieve_data)(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops, size_t *bytes);
    /* The data of this user's frame that lies `depth` of its own frames further down; 0 is this one. */
    void *(*retrieve_parent_data)(const struct fg_task *task, const uint64_t *frame,
                                  const struct fgraph_ops *ops, unsigned depth, size_t *bytes);
    /* One word for each task and registered user; zero for a new task, and at each registration. */
    uint64_t *(*task_var)(struct fg_task *task, const struct fgraph_ops *ops);

    /* ---- anywhere, also in signal handlers */

    /* The calling thread's task; NULL: nothing was traced in it yet. */
    struct fg_task *(*current_task)(void);
    int (*task_tid)(const struct fg_task *task);          /* its OS id */
    uint64_t (*task_overrun)(const struct fg_task *task); /* calls that found no room on its shadow stack */
    /* The calls in progress of the calling thread, newest first. Returns how many were written. */
    size_t (*get_ret_stack)(struct fgraph_ret_frame frames[], size_t room);

    /* Ticks as CLOCK_MONOTONIC, and the length of a number of ticks, in nanoseconds. Half a microsecond
     * each: keep ticks in callbacks, and convert what is shown. */
    uint64_t (*ns)(uint64_t ticks);
    uint64_t (*duration_ns)(uint64_t ticks);

    /* Of a function. Texts are UTF-8 and live as long as it does: copy what is kept longer. The id is
     * never another function's; `line` is the first one. */
    const char *(*func_name)(const struct fg_func *func); /* "module.qualname" */
    const char *(*func_module)(const struct fg_func *func);
    const char *(*func_qualname)(const struct fg_func *func);
    const char *(*func_file)(const struct fg_func *func);
    uint32_t (*func_line)(const struct fg_func *func);
    uint32_t (*func_id)(const struct fg_func *func);

    /* ---- what a callback's regs hold */

    /* Borrowed; NULL where there is none: argument n at entry, in the order of the code object's
     * variables; the result at a return, the yielded value at a suspend; the exception at an end by one. */
    struct _object *(*regs_get_argument)(const struct ftrace_regs *regs, unsigned n);
    struct _object *(*regs_get_return_value)(const struct ftrace_regs *regs);
    struct _object *(*regs_get_exception)(const struct ftrace_regs *regs);

    /* ==== since 1.1 */

    /* Borrowed; NULL: there is none of this name, or it is unbound. UTF-8. */
    struct _object *(*regs_get_argument_by_name)(const struct ftrace_regs *regs, const char *name);
    /* The called object, borrowed: the Python function, or the C function. NULL: not known. */
    struct _object *(*regs_get_callable)(const struct ftrace_regs *regs);
    /* Where the function is: at its start, or at the instruction that it ends or gives way at. And where
     * it returns to. Nonzero: known. */
    int (*regs_get_location)(const struct ftrace_regs *regs, struct ftrace_location *location);
    int (*regs_get_return_location)(const struct ftrace_regs *regs, struct ftrace_location *location);
    /* Addresses: of the interpreter's frame, of the top of its evaluation stack; 0: not known. */
    uintptr_t (*regs_get_frame_pointer)(const struct ftrace_regs *regs);
    uintptr_t (*regs_get_stack_pointer)(const struct ftrace_regs *regs);
    /* The number of a variable's place in the frame, for regs_get_stack_nth; -1: there is none of this
     * name. */
    int (*regs_query_register_offset)(const struct ftrace_regs *regs, const char *name);
    /* What lies in the frame's n-th place: arguments first, then other variables, cells, the evaluation
     * stack. Borrowed; NULL: nothing, or no such place. */
    struct _object *(*regs_get_stack_nth)(const struct ftrace_regs *regs, unsigned n);

    /* ---- fprobes: control. On success an fprobe sees every call that begins after the return.
     *
     * -EINVAL: nothing given, or a bad pattern; -ENOENT: no function matches, or one of the names is
     * nobody's; -E2BIG: too much entry data; -EEXIST: registered already; -ENOSPC, -ENOMEM, -EIO as
     * register_ftrace_graph. Then nothing is registered. */

    /* Patterns, separated by spaces: the functions that are there, called or not, and those that come.
     * `notfilter` may be NULL. */
    int (*register_fprobe)(struct fprobe *fp, const char *filter, const char *notfilter);
    int (*register_fprobe_ips)(struct fprobe *fp, struct fg_func *const funcs[], size_t n);
    int (*register_fprobe_syms)(struct fprobe *fp, const char *const names[], size_t n);
    /* Returns when none of its handlers runs any more, other than the caller itself. -EINVAL: not
     * registered. */
    int (*unregister_fprobe)(struct fprobe *fp);
    /* Does not wait: its memory must live on until unregister_fprobe of another, or any registration, has
     * returned. */
    int (*unregister_fprobe_async)(struct fprobe *fp);
    /* Soft: it stays where it is, its handlers are not called. -EINVAL: not registered. */
    int (*enable_fprobe)(struct fprobe *fp);
    int (*disable_fprobe)(struct fprobe *fp);
    int (*fprobe_is_registered)(const struct fprobe *fp);
    /* How many functions there are that match, or as register_fprobe. */
    int (*fprobe_count_ips_from_filter)(const char *filter, const char *notfilter);
    /* Handlers that could not run: calls that a handler made itself, or no room on the shadow stack. */
    uint64_t (*fprobe_nmissed)(const struct fprobe *fp);

    /* ---- kprobe_multi: control. Errors as fprobes'. `cookies` has n of them, or is NULL. */

    int (*kprobe_multi_attach)(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                               const uint64_t cookies[], size_t n);
    int (*kprobe_multi_attach_filter)(struct kprobe_multi_link *link, const char *filter);
    int (*kprobe_multi_detach)(struct kprobe_multi_link *link);
    uint64_t (*kprobe_multi_nmissed)(const struct kprobe_multi_link *link);

    /* The record of a Python function, method, code object or C function, made if need be; NULL: it is
     * none, or memory is short. And all functions of this name (UTF-8), called or not: how many there
     * are; `funcs` gets `room` of them. */
    struct fg_func *(*func_of)(struct _object *callable);
    size_t (*funcs_named)(const char *name, struct fg_func *funcs[], size_t room);
};

#ifndef FUNCGRAPH_ENGINE /* the engine has functions of these names itself */

/* One for all files of a module: a single funcgraph_import() serves them all. Hidden, so that each module
 * has its own; weak, so that each file may bring it. */
extern const struct funcgraph_api *funcgraph_api_ __attribute__((weak, visibility("hidden")));
const struct funcgraph_api *funcgraph_api_;

#ifdef Py_PYTHON_H

/* Before anything else, with the GIL: imports funcgraph. -1 with an ImportError: it is not there, or too
 * old. */
static inline int funcgraph_import(void)
{
    /* PyCapsule_Import imports no submodule: it would miss it in a process that has not loaded the engine
     * yet. */
    PyObject *module = PyImport_ImportModule("funcgraph._engine");
    void *table = module ? PyCapsule_Import(FUNCGRAPH_CAPSULE, 0) : NULL;
#ifdef __cplusplus
    const struct funcgraph_api *api = static_cast<const struct funcgraph_api *>(table);
#else
    const struct funcgraph_api *api = table;
#endif

    Py_XDECREF(module);
    if (!api)
        return -1;
    if (api->major != FUNCGRAPH_API_MAJOR || api->minor < FUNCGRAPH_API_MINOR) {
        PyErr_Format(PyExc_ImportError,
                     "funcgraph's C API is version %d.%d, and this module was built for %d.%d", api->major,
                     api->minor, FUNCGRAPH_API_MAJOR, FUNCGRAPH_API_MINOR);
        return -1;
    }
    funcgraph_api_ = api;
    return 0;
}

#endif /* Py_PYTHON_H */

static inline int register_ftrace_graph(struct fgraph_ops *ops)
{
    return funcgraph_api_->register_ftrace_graph(ops);
}

static inline int unregister_ftrace_graph(struct fgraph_ops *ops)
{
    return funcgraph_api_->unregister_ftrace_graph(ops);
}

static inline int fgraph_set_filter(struct fgraph_ops *ops, enum fgraph_filter_set set,
                                    const char *const patterns[], size_t n, int reset)
{
    return funcgraph_api_->set_filter(ops, set, patterns, n, reset);
}

static inline int fgraph_set_tids(struct fgraph_ops *ops, const int tids[], size_t n)
{
    return funcgraph_api_->set_tids(ops, tids, n);
}

static inline int fgraph_clear_filters(struct fgraph_ops *ops)
{
    return funcgraph_api_->clear_filters(ops);
}

static inline int fgraph_check_pattern(const char *pattern, const char **reason, size_t *column)
{
    return funcgraph_api_->check_pattern(pattern, reason, column);
}

static inline uint64_t fgraph_nmissed(const struct fgraph_ops *ops)
{
    return funcgraph_api_->nmissed(ops);
}

static inline int fgraph_slot(const struct fgraph_ops *ops, uint64_t *generation)
{
    return funcgraph_api_->slot(ops, generation);
}

static inline void *fgraph_reserve_data(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops,
                                        size_t bytes)
{
    return funcgraph_api_->reserve_data(trace, ops, bytes);
}

static inline void *fgraph_retrieve_data(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops,
                                         size_t *bytes)
{
    return funcgraph_api_->retrieve_data(trace, ops, bytes);
}

static inline void *fgraph_retrieve_parent_data(const struct fg_task *task, const uint64_t *frame,
                                                const struct fgraph_ops *ops, unsigned depth, size_t *bytes)
{
    return funcgraph_api_->retrieve_parent_data(task, frame, ops, depth, bytes);
}

static inline uint64_t *fgraph_get_task_var(struct fg_task *task, const struct fgraph_ops *ops)
{
    return funcgraph_api_->task_var(task, ops);
}

static inline struct fg_task *fgraph_current_task(void)
{
    return funcgraph_api_->current_task();
}

static inline int fgraph_task_tid(const struct fg_task *task)
{
    return funcgraph_api_->task_tid(task);
}

static inline uint64_t fgraph_task_overrun(const struct fg_task *task)
{
    return funcgraph_api_->task_overrun(task);
}

static inline size_t fgraph_get_ret_stack(struct fgraph_ret_frame frames[], size_t room)
{
    return funcgraph_api_->get_ret_stack(frames, room);
}

static inline uint64_t fgraph_ns(uint64_t ticks)
{
    return funcgraph_api_->ns(ticks);
}

static inline uint64_t fgraph_duration_ns(uint64_t ticks)
{
    return funcgraph_api_->duration_ns(ticks);
}

static inline const char *fgraph_func_name(const struct fg_func *func)
{
    return funcgraph_api_->func_name(func);
}

static inline const char *fgraph_func_module(const struct fg_func *func)
{
    return funcgraph_api_->func_module(func);
}

static inline const char *fgraph_func_qualname(const struct fg_func *func)
{
    return funcgraph_api_->func_qualname(func);
}

static inline const char *fgraph_func_file(const struct fg_func *func)
{
    return funcgraph_api_->func_file(func);
}

static inline uint32_t fgraph_func_line(const struct fg_func *func)
{
    return funcgraph_api_->func_line(func);
}

static inline uint32_t fgraph_func_id(const struct fg_func *func)
{
    return funcgraph_api_->func_id(func);
}

static inline struct _object *ftrace_regs_get_argument(const struct ftrace_regs *regs, unsigned n)
{
    return funcgraph_api_->regs_get_argument(regs, n);
}

static inline struct _object *ftrace_regs_get_return_value(const struct ftrace_regs *regs)
{
    return funcgraph_api_->regs_get_return_value(regs);
}

static inline struct _object *ftrace_regs_get_exception(const struct ftrace_regs *regs)
{
    return funcgraph_api_->regs_get_exception(regs);
}

static inline struct _object *ftrace_regs_get_argument_by_name(const struct ftrace_regs *regs,
                                                               const char *name)
{
    return funcgraph_api_->regs_get_argument_by_name(regs, name);
}

static inline struct _object *ftrace_regs_get_callable(const struct ftrace_regs *regs)
{
    return funcgraph_api_->regs_get_callable(regs);
}

static inline int ftrace_regs_get_location(const struct ftrace_regs *regs, struct ftrace_location *location)
{
    return funcgraph_api_->regs_get_location(regs, location);
}

static inline int ftrace_regs_get_return_location(const struct ftrace_regs *regs,
                                                  struct ftrace_location *location)
{
    return funcgraph_api_->regs_get_return_location(regs, location);
}

static inline uintptr_t ftrace_regs_get_frame_pointer(const struct ftrace_regs *regs)
{
    return funcgraph_api_->regs_get_frame_pointer(regs);
}

static inline uintptr_t ftrace_regs_get_stack_pointer(const struct ftrace_regs *regs)
{
    return funcgraph_api_->regs_get_stack_pointer(regs);
}

static inline int ftrace_regs_query_register_offset(const struct ftrace_regs *regs, const char *name)
{
    return funcgraph_api_->regs_query_register_offset(regs, name);
}

static inline struct _object *ftrace_regs_get_stack_nth(const struct ftrace_regs *regs, unsigned n)
{
    return funcgraph_api_->regs_get_stack_nth(regs, n);
}

static inline int register_fprobe(struct fprobe *fp, const char *filter, const char *notfilter)
{
    return funcgraph_api_->register_fprobe(fp, filter, notfilter);
}

static inline int register_fprobe_ips(struct fprobe *fp, struct fg_func *const funcs[], size_t n)
{
    return funcgraph_api_->register_fprobe_ips(fp, funcs, n);
}

static inline int register_fprobe_syms(struct fprobe *fp, const char *const names[], size_t n)
{
    return funcgraph_api_->register_fprobe_syms(fp, names, n);
}

static inline int unregister_fprobe(struct fprobe *fp)
{
    return funcgraph_api_->unregister_fprobe(fp);
}

static inline int unregister_fprobe_async(struct fprobe *fp)
{
    return funcgraph_api_->unregister_fprobe_async(fp);
}

static inline int enable_fprobe(struct fprobe *fp)
{
    return funcgraph_api_->enable_fprobe(fp);
}

static inline int disable_fprobe(struct fprobe *fp)
{
    return funcgraph_api_->disable_fprobe(fp);
}

static inline int fprobe_is_registered(const struct fprobe *fp)
{
    return funcgraph_api_->fprobe_is_registered(fp);
}

static inline int fprobe_count_ips_from_filter(const char *filter, const char *notfilter)
{
    return funcgraph_api_->fprobe_count_ips_from_filter(filter, notfilter);
}

static inline uint64_t fprobe_nmissed(const struct fprobe *fp)
{
    return funcgraph_api_->fprobe_nmissed(fp);
}

static inline int kprobe_multi_attach(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                                      const uint64_t cookies[], size_t n)
{
    return funcgraph_api_->kprobe_multi_attach(link, funcs, cookies, n);
}

static inline int kprobe_multi_attach_filter(struct kprobe_multi_link *link, const char *filter)
{
    return funcgraph_api_->kprobe_multi_attach_filter(link, filter);
}

static inline int kprobe_multi_detach(struct kprobe_multi_link *link)
{
    return funcgraph_api_->kprobe_multi_detach(link);
}

static inline uint64_t kprobe_multi_nmissed(const struct kprobe_multi_link *link)
{
    return funcgraph_api_->kprobe_multi_nmissed(link);
}

static inline struct fg_func *fgraph_func_of(struct _object *callable)
{
    return funcgraph_api_->func_of(callable);
}

static inline size_t fgraph_funcs_named(const char *name, struct fg_func *funcs[], size_t room)
{
    return funcgraph_api_->funcs_named(name, funcs, room);
}

#endif /* FUNCGRAPH_ENGINE */

#ifdef __cplusplus
}
#endif

#endif
