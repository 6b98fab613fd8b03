/* funcgraph for C and C++: users of the function graph whose entry and return functions run at native
 * speed, without any Python object made per call.
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
 * include/linux/ftrace.h). docs/reference/c-api.md describes each function and struct, and which thread
 * may call what.
 *
 * C11 or C++11, gcc or clang. Include Python.h first to use funcgraph_import(). */
#ifndef FUNCGRAPH_H
#define FUNCGRAPH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The major number changes when modules built before would break. The minor number grows when functions are
 * added at the end of struct funcgraph_api. A module needs the same major number, and at least the minor
 * number, that it was built with. */
#define FUNCGRAPH_API_MAJOR 1
#define FUNCGRAPH_API_MINOR 3
#define FUNCGRAPH_CAPSULE "funcgraph._engine._C_API"

#define FGRAPH_MAX_DATA_BYTES 256u /* a user may reserve at one entry: 32 words */
#define FPROBE_MAX_DATA_BYTES 120u /* an fprobe may keep from entry to exit: 15 words */

struct fg_func;     /* a traceable function: the kernel's dyn_ftrace */
struct fg_task;     /* an OS thread with its shadow stack */
struct ftrace_regs; /* the function's state at its entry or end; valid while the callback runs */
struct fgraph_ops;
struct _object; /* CPython's PyObject */

/* How a call ended. */
enum fg_end {
    FG_END_RETURN = 0, /* it returned */
    FG_END_RAISE = 1,  /* an exception left it */
    FG_END_CLOSE = 2   /* a suspended call was closed, cancelled or collected, or its end was not seen */
};

/* The argument of an entry or resume function; valid while it runs. */
struct ftrace_graph_ent {
    struct fg_func *func;
    struct fg_task *task;
    uint64_t calltime; /* clock ticks, for fgraph_ns(): when the call began, or was last resumed */
    uint64_t start;    /* ticks: when the call began */
    uint64_t *frame;   /* the call's frame on the shadow stack */
    uint32_t depth;    /* how many calls of this user are in progress below this one */
};

/* The argument of a return or suspend function; valid while it runs. */
struct ftrace_graph_ret {
    struct fg_func *func;
    struct fg_task *task;
    uint64_t calltime; /* clock ticks: when the call began, or was last resumed */
    uint64_t rettime;  /* ticks: now */
    uint64_t start;    /* ticks: when the call began */
    uint64_t *frame;
    uint32_t depth;
    enum fg_end end;
};

/* The entry function answers nonzero if the user wants the return. */
typedef int (*trace_func_graph_ent_t)(struct ftrace_graph_ent *trace, struct fgraph_ops *ops,
                                      struct ftrace_regs *regs);
typedef void (*trace_func_graph_ret_t)(struct ftrace_graph_ret *trace, struct fgraph_ops *ops,
                                       struct ftrace_regs *regs);
typedef void (*trace_func_graph_resume_t)(struct ftrace_graph_ent *trace, struct fgraph_ops *ops,
                                          struct ftrace_regs *regs);

/* For `flags` of a user or an fprobe: ftrace_get_regs() returns frames in calls of its functions. Since 1.2.
 * In calls of native functions ftrace_get_native_regs() has all registers. Since 1.3. */
#define FTRACE_OPS_FL_SAVE_REGS 1u

/* For `flags` of a user or an fprobe: it sees native functions, too, which its patterns with ":mod:" select
 * ("malloc:mod:libc"). Its callbacks may then run in any thread, with or without the GIL, in handlers of
 * signals, and while the program is in the middle of its allocator or holds any lock. In a call of a native
 * function they may use nothing of Python, allocate nothing, and wait for nothing; docs/reference/c-api.md
 * says what they may do. Set it before the registration. Since 1.3. */
#define FTRACE_OPS_FL_NATIVE 2u

/* For `flags` of an fprobe with FTRACE_OPS_FL_NATIVE: its handlers are compiled with -mgeneral-regs-only, and
 * so is all that they call. In a call of a native function the program's floating-point and vector registers
 * are then not saved for them, unless it has FTRACE_OPS_FL_SAVE_REGS: a handler that changes one changes it
 * for the program. docs/reference/c-api.md names the functions of this API that they may call. Set it before
 * the registration. Since 1.3. */
#define FTRACE_OPS_FL_GENERAL_REGS 4u

#define FGRAPH_OPS_ENGINE_WORDS 47

/* A user. The caller owns its memory, which must neither move nor be freed until unregister_ftrace_graph()
 * has returned. Members that are not set must be zero. */
struct fgraph_ops {
    trace_func_graph_ent_t entryfunc; /* NULL: the user wants all returns */
    trace_func_graph_ret_t retfunc;   /* NULL: the user is not called at returns */
    /* Optional: the call of a generator or coroutine is suspended (`end` has no meaning), and resumed. */
    trace_func_graph_ret_t suspendfunc;
    trace_func_graph_resume_t resumefunc;
    const char *name;                         /* for users() and error messages; must outlive the ops */
    void *private_data;                       /* for the user */
    uint64_t flags;                           /* FTRACE_OPS_FL_*; 0 before 1.2 */
    uint64_t engine[FGRAPH_OPS_ENGINE_WORDS]; /* zero; only the engine uses it */
};

/* A user's four sets of patterns. */
enum fgraph_filter_set {
    FGRAPH_FILTER = 0,       /* only these functions; empty: all */
    FGRAPH_NOTRACE = 1,      /* not these functions */
    FGRAPH_GRAPH = 2,        /* only these functions and what they call, directly or not; empty: all calls */
    FGRAPH_GRAPH_NOTRACE = 3 /* neither these functions nor what they call */
};
#define FGRAPH_NR_FILTER_SETS 4

/* ---- fprobes: handlers at the entry and exit of many functions
 *
 * All fprobes of an interpreter share one user (docs/internals/fprobes.md). */

struct fprobe;

/* Handlers. `entry_ip` is the function. `ret_ip` is the address of the instruction in its caller after the
 * call, 0 if there is none; use it only for comparisons, and ftrace_regs_get_return_location() for the
 * place. `entry_data` is zeroed at the entry, and the same memory at the exit; it is NULL without an exit
 * handler or with a size of 0.
 *
 * An entry handler answers nonzero to skip the exit handler for this call. */
typedef int (*fprobe_entry_cb)(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip,
                               struct ftrace_regs *regs, void *entry_data);
typedef void (*fprobe_exit_cb)(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip,
                               struct ftrace_regs *regs, void *entry_data);

#define FPROBE_ENGINE_WORDS 23

/* The caller owns its memory, which must neither move nor be freed until unregister_fprobe() has returned.
 * Members that are not set must be zero, and none may change while the fprobe is registered. Either handler
 * may be NULL. */
struct fprobe {
    fprobe_entry_cb entry_handler;
    fprobe_exit_cb exit_handler;
    size_t entry_data_size;               /* bytes, at most FPROBE_MAX_DATA_BYTES */
    void *private_data;                   /* for the handlers */
    uint64_t flags;                       /* FTRACE_OPS_FL_*; 0 before 1.2 */
    uint64_t engine[FPROBE_ENGINE_WORDS]; /* zero; only the engine uses it */
};

/* ---- kprobe_multi: one program on many functions, with a cookie for each */

enum kprobe_multi_kind {
    KPROBE_MULTI_ENTRY = 0,
    KPROBE_MULTI_RETURN = 1,
    KPROBE_MULTI_SESSION = 2 /* both: the entry may skip the return, and shares a word with it */
};

struct kprobe_multi_link;

/* The argument of the program; valid while it runs. */
struct kprobe_multi_ctx {
    struct kprobe_multi_link *link;
    struct fg_func *func;
    uintptr_t ret_ip; /* as for an fprobe's handler */
    struct ftrace_regs *regs;
    uint64_t cookie;          /* of this function; 0 without cookies */
    uint64_t *session_cookie; /* in a session: a word that is zero at the entry, for the return; else NULL */
    int is_return;
};

/* The program. At the entry of a session it answers nonzero to skip the return. Other answers are ignored. */
typedef int (*kprobe_multi_prog_t)(struct kprobe_multi_ctx *ctx);

/* The caller owns its memory, as that of an fprobe. */
struct kprobe_multi_link {
    kprobe_multi_prog_t prog;
    enum kprobe_multi_kind kind;
    void *private_data;
    struct fprobe fprobe; /* zero, but its `flags` may be set; only the engine uses it */
};

/* ---- kretprobe: a handler at the return of one function, with data from its entry. Since 1.2. */

struct kretprobe;

/* One call of the probed function; valid while a handler runs. */
struct kretprobe_instance {
    struct kretprobe *rp;
    struct fg_func *func;
    uintptr_t ret_addr; /* as an fprobe's ret_ip */
    void *data;         /* data_size bytes, zeroed at the entry; NULL with a data_size of 0 */
};

/* The entry handler answers nonzero to skip the handler for this call. The handler's answer is ignored. */
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *ri, struct ftrace_regs *regs);

/* The caller owns its memory, as that of an fprobe. */
struct kretprobe {
    const char *symbol_name; /* the whole name of the function, or NULL: `func` is given */
    struct fg_func *func;
    kretprobe_handler_t handler;
    kretprobe_handler_t entry_handler; /* may be NULL */
    size_t data_size;                  /* bytes, at most FPROBE_MAX_DATA_BYTES */
    int maxactive;                     /* ignored: calls in progress have no limit */
    void *private_data;
    uint64_t flags;       /* FTRACE_OPS_FL_* */
    struct fprobe fprobe; /* zero; only the engine uses it */
};

/* ---- kprobe: a handler at a place within a function. Since 1.2. */

struct kprobe;

/* `regs` have the full frame: its variables by ftrace_regs_query_register_offset() and
 * ftrace_regs_get_stack_nth(), the frame object by ftrace_get_regs(). They have neither arguments nor a
 * result. The answer is ignored. */
typedef int (*kprobe_pre_handler_t)(struct kprobe *kp, struct ftrace_regs *regs);

#define KPROBE_ENGINE_WORDS 8

/* The caller owns its memory, as that of an fprobe. */
struct kprobe {
    const char *symbol_name; /* the whole name of the function, or NULL: `func` is given */
    struct fg_func *func;
    int line;        /* of the source; 0: `offset` is given */
    unsigned offset; /* of an instruction, in bytes; 0 is the function's start */
    kprobe_pre_handler_t pre_handler;
    void *private_data;
    uint64_t engine[KPROBE_ENGINE_WORDS]; /* zero; only the engine uses it */
};

/* A place in a function's code. */
struct ftrace_location {
    struct fg_func *func; /* NULL: funcgraph has no record of the function yet */
    struct _object *code; /* the code object, borrowed; NULL: the place is unknown */
    int offset;           /* of the instruction, in bytes; -1: unknown */
    int line;             /* -1: the instruction has none */
};

/* One call in progress, for fgraph_get_ret_stack(). */
struct fgraph_ret_frame {
    struct fg_func *func;
    uint64_t calltime; /* clock ticks; 0: not measured, as only fprobes are attached */
    uint64_t users;    /* bit i: the user in slot i wants the return */
};

/* One call in progress, for ftrace_graph_get_ret_stack(). Since 1.2. */
struct ftrace_ret_stack {
    struct fg_func *func;
    uint64_t calltime; /* as in struct fgraph_ret_frame */
    uint64_t users;
    struct ftrace_location location; /* where the call is now; `code` is NULL: unknown */
    struct ftrace_location parent;   /* where it returns to; `code` is NULL: it has no caller */
};

#define FTRACE_PT_REGS_ARGUMENTS 6

/* A register set made from partial regs, for code that takes one and keeps it. It never has what a full
 * frame has beyond that. Since 1.2. */
struct ftrace_pt_regs {
    struct ftrace_location location; /* `code` is NULL: unknown */
    uintptr_t ip, sp, fp;            /* addresses, as in struct ftrace_perf_regs; 0: unknown */
    unsigned nr_arguments;           /* at an entry: how many of `arguments` are set */
    unsigned nr_words;               /* of a native call: how many of `words` are set. Since 1.3 */
    union {
        struct _object *arguments[FTRACE_PT_REGS_ARGUMENTS]; /* the first ones, borrowed; NULL: unbound */
        /* At an entry: arguments that are integers or pointers, from registers; at a return: words of the
         * result. Since 1.3. */
        uint64_t words[FTRACE_PT_REGS_ARGUMENTS];
    };
    struct _object *return_value; /* at a return: borrowed; NULL: there is none */
    struct _object *exception;    /* the exception that ended the call, borrowed, or NULL */
};

/* All general registers of a native call, named and ordered as in the kernel's struct pt_regs. Another
 * machine has others. Since 1.3. */
struct ftrace_native_regs
#ifdef __x86_64__
{
    uint64_t r15, r14, r13, r12, bp, bx;
    uint64_t r11, r10, r9, r8, ax, cx, dx, si, di;
    uint64_t orig_ax; /* of a system call: here always -1 */
    uint64_t ip;      /* the instruction that runs next: of the function, or at a return of its caller */
    uint64_t cs;
    uint64_t flags; /* CF, PF, AF, ZF, SF and OF are 0: they have no meaning at an entry or a return */
    uint64_t sp;    /* at an entry the return address is there; at a return it was popped */
    uint64_t ss;
}
#endif
;

/* The registers of a sample, as a profiler takes them. Since 1.2. */
struct ftrace_perf_regs {
    uintptr_t ip;   /* address of the instruction */
    uintptr_t sp;   /* as ftrace_regs_get_stack_pointer(); 0: unknown */
    uintptr_t fp;   /* as ftrace_regs_get_frame_pointer() */
    uint64_t flags; /* of the code, as co_flags; of a native call 0, as in the kernel */
};

/* The table behind the capsule.
 *
 * Functions that return int return 0 or a negative errno, unless said otherwise. They set no Python
 * exception, and keep one that is set. Control functions need the GIL (in a free-threaded build: an attached
 * thread state); all others need nothing. */
struct funcgraph_api {
    int major, minor;
    size_t bytes; /* sizeof(struct funcgraph_api) of the library */

    /* ---- control: anywhere except in signal handlers; also in callbacks */

    /* -EBUSY: registered already; -ENOSPC: all slots are taken; -ENODEV: the kill switch has
     * tripped; -ENOMEM; -EIO: CPython has no hook left; -EOPNOTSUPP: native functions of an object that a
     * pattern names cannot be hooked. */
    int (*register_ftrace_graph)(struct fgraph_ops *ops);
    /* Returns when none of the user's functions runs any longer, other than the caller itself. Releases the
     * GIL while it waits. -EINVAL: not registered. */
    int (*unregister_ftrace_graph)(struct fgraph_ops *ops);
    /* Adds patterns to a set, or (reset) replaces the set by them; n = 0 with reset empties it. On an error
     * nothing has changed. Also before the registration. -EINVAL: no such set, or a bad pattern; -ENOMEM;
     * -EOPNOTSUPP: as register_ftrace_graph. */
    int (*set_filter)(struct fgraph_ops *ops, enum fgraph_filter_set set, const char *const patterns[],
                      size_t n, int reset);
    /* Limits the user to calls in these threads (OS ids); NULL: all threads. */
    int (*set_tids)(struct fgraph_ops *ops, const int tids[], size_t n);
    /* Frees an ops's patterns and thread ids, before its memory is freed. -EBUSY: registered. */
    int (*clear_filters)(struct fgraph_ops *ops);
    /* -EINVAL: sets *reason to a static text, and *column (from 0). Either pointer may be NULL. */
    int (*check_pattern)(const char *pattern, const char **reason, size_t *column);
    /* How many calls of the user's functions were not traced because a callback made them. */
    uint64_t (*nmissed)(const struct fgraph_ops *ops);
    /* The user's slot; -1: not registered. *generation tells it from other users that had the slot. */
    int (*slot)(const struct fgraph_ops *ops, uint64_t *generation);

    /* ---- in callbacks */

    /* In an entry function, once: up to FGRAPH_MAX_DATA_BYTES zeroed bytes, aligned to 8, that the return
     * function finds. NULL: no room, `bytes` is 0 or too large, or reserved before in this entry. */
    void *(*reserve_data)(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops, size_t bytes);
    /* In a return or suspend function: the data reserved at the call's entry, or NULL. Sets *bytes to its
     * size, if `bytes` is not NULL. */
    void *(*retrieve_data)(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops, size_t *bytes);
    /* The data of the user's call `depth` of its own calls further out; 0 is this call. */
    void *(*retrieve_parent_data)(const struct fg_task *task, const uint64_t *frame,
                                  const struct fgraph_ops *ops, unsigned depth, size_t *bytes);
    /* One word per thread and registered user. It is zero in a new thread, and at each registration. */
    uint64_t *(*task_var)(struct fg_task *task, const struct fgraph_ops *ops);

    /* ---- anywhere, also in signal handlers */

    /* The calling thread's task; NULL: nothing was traced in this thread yet. */
    struct fg_task *(*current_task)(void);
    int (*task_tid)(const struct fg_task *task);          /* its OS id */
    uint64_t (*task_overrun)(const struct fg_task *task); /* calls not traced: its shadow stack was full */
    /* The calling thread's calls in progress, newest first. Returns how many it wrote. */
    size_t (*get_ret_stack)(struct fgraph_ret_frame frames[], size_t room);

    /* Nanoseconds: a point in time as CLOCK_MONOTONIC, and a duration. Each takes half a microsecond: keep
     * ticks in callbacks, and convert what is shown. */
    uint64_t (*ns)(uint64_t ticks);
    uint64_t (*duration_ns)(uint64_t ticks);

    /* Of a function. Texts are UTF-8 and live as long as the function: copy a text that is kept longer. No
     * two functions ever have the same id. */
    const char *(*func_name)(const struct fg_func *func); /* "module.qualname" */
    const char *(*func_module)(const struct fg_func *func);
    const char *(*func_qualname)(const struct fg_func *func);
    const char *(*func_file)(const struct fg_func *func);
    uint32_t (*func_line)(const struct fg_func *func); /* the first */
    uint32_t (*func_id)(const struct fg_func *func);

    /* ---- in callbacks: the state of the call */

    /* Borrowed references; NULL: there is none. Argument n at an entry, in the order of the code object's
     * variables; the result at a return, or the yielded value at a suspend; the exception that ended the
     * call. */
    struct _object *(*regs_get_argument)(const struct ftrace_regs *regs, unsigned n);
    struct _object *(*regs_get_return_value)(const struct ftrace_regs *regs);
    struct _object *(*regs_get_exception)(const struct ftrace_regs *regs);

    /* ==== since 1.1 */

    /* Borrowed; `name` is UTF-8. NULL: there is no such argument, or it is unbound. */
    struct _object *(*regs_get_argument_by_name)(const struct ftrace_regs *regs, const char *name);
    /* The called Python or C function object, borrowed; NULL: unknown. */
    struct _object *(*regs_get_callable)(const struct ftrace_regs *regs);
    /* Where the function is (at its first instruction, or the one at which it ends or is suspended), and
     * where it returns to. These return nonzero if the place is known. */
    int (*regs_get_location)(const struct ftrace_regs *regs, struct ftrace_location *location);
    int (*regs_get_return_location)(const struct ftrace_regs *regs, struct ftrace_location *location);
    /* Addresses of the interpreter's frame, and of the top of its evaluation stack; 0: unknown. */
    uintptr_t (*regs_get_frame_pointer)(const struct ftrace_regs *regs);
    uintptr_t (*regs_get_stack_pointer)(const struct ftrace_regs *regs);
    /* The number of a variable's place in the frame, for regs_get_stack_nth; -1: no such variable. */
    int (*regs_query_register_offset)(const struct ftrace_regs *regs, const char *name);
    /* The object in the frame's n-th place, borrowed: arguments come first, then other variables, cells, and
     * the evaluation stack. NULL: the place is empty, or there is no such place. */
    struct _object *(*regs_get_stack_nth)(const struct ftrace_regs *regs, unsigned n);

    /* ---- fprobes: control
     *
     * A registered fprobe sees each call that begins after the registration has returned. Errors of a
     * registration: -EINVAL: nothing given, or a bad pattern; -ENOENT: no function matches, notfilter
     * removes all that do, or none has one of the names; -EOPNOTSUPP: native functions that are meant
     * cannot be hooked, or the fprobe has no FTRACE_OPS_FL_NATIVE; -E2BIG: entry_data_size is too large;
     * -EEXIST: registered already; -ENOSPC, -ENODEV, -ENOMEM, -EIO: as register_ftrace_graph. Then the
     * fprobe is not registered. */

    /* Patterns separated by spaces, for known functions, called or not, and those loaded later. `notfilter`
     * may be NULL. */
    int (*register_fprobe)(struct fprobe *fp, const char *filter, const char *notfilter);
    int (*register_fprobe_ips)(struct fprobe *fp, struct fg_func *const funcs[], size_t n);
    int (*register_fprobe_syms)(struct fprobe *fp, const char *const names[], size_t n);
    /* Returns when none of its handlers runs any longer, other than the caller itself. -EINVAL: not
     * registered. */
    int (*unregister_fprobe)(struct fprobe *fp);
    /* Does not wait. The fprobe's memory must live until a later unregister_fprobe of another fprobe, or any
     * later registration, has returned. */
    int (*unregister_fprobe_async)(struct fprobe *fp);
    /* A disabled fprobe stays attached; its handlers are not called. -EINVAL: not registered. */
    int (*enable_fprobe)(struct fprobe *fp);
    int (*disable_fprobe)(struct fprobe *fp);
    int (*fprobe_is_registered)(const struct fprobe *fp);
    /* How many functions match now, or an error of register_fprobe. */
    int (*fprobe_count_ips_from_filter)(const char *filter, const char *notfilter);
    /* How many calls its handlers missed: a callback made the call, or the shadow stack was full. */
    uint64_t (*fprobe_nmissed)(const struct fprobe *fp);

    /* ---- kprobe_multi: control. Errors as for fprobes. `cookies` is NULL, or has n of them. */

    int (*kprobe_multi_attach)(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                               const uint64_t cookies[], size_t n);
    int (*kprobe_multi_attach_filter)(struct kprobe_multi_link *link, const char *filter);
    int (*kprobe_multi_detach)(struct kprobe_multi_link *link);
    uint64_t (*kprobe_multi_nmissed)(const struct kprobe_multi_link *link);

    /* The function of a Python function, method, code object or C function, called or not; NULL: it is none
     * of these, or no memory. */
    struct fg_func *(*func_of)(struct _object *callable);
    /* All functions with this whole name (UTF-8), called or not. Since 1.3 also native functions, by a
     * pattern with ":mod:"; only fprobes with FTRACE_OPS_FL_NATIVE can have them. Writes up to `room` of
     * them to `funcs`, and returns how many there are. */
    size_t (*funcs_named)(const char *name, struct fg_func *funcs[], size_t room);

    /* ==== since 1.2 */

    /* ---- kretprobes: control. Errors as for fprobes; -EINVAL also: no handler, or not exactly one of
     * symbol_name and func is given. */

    int (*register_kretprobe)(struct kretprobe *rp);
    int (*unregister_kretprobe)(struct kretprobe *rp);
    int (*enable_kretprobe)(struct kretprobe *rp);
    int (*disable_kretprobe)(struct kretprobe *rp);
    uint64_t (*kretprobe_nmissed)(const struct kretprobe *rp);

    /* ---- kprobes: control */

    /* Attaches the probe, also to calls in progress, and enables it. -EINVAL: no handler, not exactly one of
     * symbol_name and func or of line and offset, no code at that line, or no probe is possible at that
     * offset; -ENOENT: no Python function has that name, or it is gone; -EADDRNOTAVAIL: several functions
     * have that name and place; -EILSEQ: no instruction begins at the offset; -EEXIST: registered already;
     * -ENODEV, -ENOMEM, -EIO: as register_ftrace_graph. Then nothing has changed. */
    int (*register_kprobe)(struct kprobe *kp);
    /* Returns when its handler runs no longer, other than the caller itself. -EINVAL: not registered. */
    int (*unregister_kprobe)(struct kprobe *kp);
    /* -EINVAL: not registered, or its function is gone. */
    int (*enable_kprobe)(struct kprobe *kp);
    int (*disable_kprobe)(struct kprobe *kp);
    /* Since the registration, also after its end: how often a callback reached the place, and how often the
     * handler ran. */
    uint64_t (*kprobe_nmissed)(const struct kprobe *kp);
    uint64_t (*kprobe_hits)(const struct kprobe *kp);

    /* ---- in callbacks: the state of the call */

    /* The frame object of the call, a new reference; in a kprobe's handler, or if a user or fprobe in C that
     * is attached to the function has FTRACE_OPS_FL_SAVE_REGS. NULL without an exception: nobody has, the
     * call is of a C function, its frame is gone, or memory is short. */
    struct _object *(*get_regs)(const struct ftrace_regs *regs);
    /* Fills a register set with what is known. Returns it. */
    struct ftrace_pt_regs *(*partial_regs)(const struct ftrace_regs *regs, struct ftrace_pt_regs *out);
    /* Fills the registers of a sample; nonzero: they are known, 0: all are 0. */
    int (*fill_perf_regs)(const struct ftrace_regs *regs, struct ftrace_perf_regs *out);
    /* The sample's stack: the place of the call, then its callers outwards. A C function has no place: its
     * caller comes first. Returns how many it wrote. */
    size_t (*regs_get_callchain)(const struct ftrace_regs *regs, struct ftrace_location places[],
                                 size_t room);

    /* ---- threads; with the GIL (in a free-threaded build: an attached thread state) */

    /* The task of the thread with this OS id; NULL: nothing was traced in it. */
    struct fg_task *(*task_of)(int tid);
    /* Call number `idx` in progress in a thread, 0 is the newest; NULL for @task is the calling thread.
     * -ENOENT: there are not so many; -ESRCH: the thread has ended; -EOPNOTSUPP: without a GIL only the
     * calling thread's calls can be read. */
    int (*graph_get_ret_stack)(const struct fg_task *task, unsigned idx, struct ftrace_ret_stack *call);

    /* ---- anywhere, also in signal handlers */

    /* What this Python can tell, as funcgraph.capabilities(): 1 or 0; -EINVAL: there is no such name. */
    int (*capability)(const char *name);

    /* ==== since 1.3 */

    /* Nonzero if the function is native: its module is the name of its object, its line the size of its code
     * in bytes. Anywhere, also in signal handlers. */
    int (*func_is_native)(const struct fg_func *func);

    /* ---- in callbacks: the registers of a native call
     *
     * Partial: what the hook has saved. They return nonzero and set *word or *value if the hook has it, at an
     * entry for arguments, at a return for results. They need no GIL. */

    /* Argument n of those that are integers or pointers. One that is passed on the stack is read from there:
     * the function must have so many. */
    int (*regs_get_argument_word)(const struct ftrace_regs *regs, unsigned n, uint64_t *word);
    /* Argument n of those that are floating-point numbers and are passed in registers. */
    int (*regs_get_argument_double)(const struct ftrace_regs *regs, unsigned n, double *value);
    /* Word n, 0 or 1, of a result that is an integer, a pointer or a small struct of these. */
    int (*regs_get_return_word)(const struct ftrace_regs *regs, unsigned n, uint64_t *word);
    /* Word n, 0 or 1, of a result that is a floating-point number, or a small struct of these. */
    int (*regs_get_return_double)(const struct ftrace_regs *regs, unsigned n, double *value);
    /* Addresses of the function and of the instruction after the call; 0: unknown. For a call of Python they
     * are of the interpreter's instructions. */
    uintptr_t (*regs_get_instruction_pointer)(const struct ftrace_regs *regs);
    uintptr_t (*regs_get_return_address)(const struct ftrace_regs *regs);
    /* The kernel's ftrace_get_regs(): stores all registers of the call in *out and returns `out`; NULL: the
     * user or fprobe whose callback this is has no FTRACE_OPS_FL_SAVE_REGS, the call is not of a native
     * function, or it ended without a return. */
    struct ftrace_native_regs *(*get_native_regs)(const struct ftrace_regs *regs,
                                                  struct ftrace_native_regs *out);
};

#ifndef FUNCGRAPH_ENGINE /* the engine defines functions with these names itself */

/* One for all files of a module, which a single funcgraph_import() sets. It is hidden, so that each module
 * has its own, and weak, so that several files of a module may define it. */
extern const struct funcgraph_api *funcgraph_api_ __attribute__((weak, visibility("hidden")));
const struct funcgraph_api *funcgraph_api_;

#ifdef Py_PYTHON_H

/* Imports funcgraph: to be called first, with the GIL. Returns 0; or -1 with an ImportError: funcgraph is not
 * installed, or its version does not fit. */
static inline int funcgraph_import(void)
{
    /* PyCapsule_Import does not import submodules: it would fail in a process without the engine. */
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

static inline int register_kretprobe(struct kretprobe *rp)
{
    return funcgraph_api_->register_kretprobe(rp);
}

static inline int unregister_kretprobe(struct kretprobe *rp)
{
    return funcgraph_api_->unregister_kretprobe(rp);
}

static inline int enable_kretprobe(struct kretprobe *rp)
{
    return funcgraph_api_->enable_kretprobe(rp);
}

static inline int disable_kretprobe(struct kretprobe *rp)
{
    return funcgraph_api_->disable_kretprobe(rp);
}

static inline uint64_t kretprobe_nmissed(const struct kretprobe *rp)
{
    return funcgraph_api_->kretprobe_nmissed(rp);
}

static inline int register_kprobe(struct kprobe *kp)
{
    return funcgraph_api_->register_kprobe(kp);
}

static inline int unregister_kprobe(struct kprobe *kp)
{
    return funcgraph_api_->unregister_kprobe(kp);
}

static inline int enable_kprobe(struct kprobe *kp)
{
    return funcgraph_api_->enable_kprobe(kp);
}

static inline int disable_kprobe(struct kprobe *kp)
{
    return funcgraph_api_->disable_kprobe(kp);
}

static inline uint64_t kprobe_nmissed(const struct kprobe *kp)
{
    return funcgraph_api_->kprobe_nmissed(kp);
}

static inline uint64_t kprobe_hits(const struct kprobe *kp)
{
    return funcgraph_api_->kprobe_hits(kp);
}

static inline struct _object *ftrace_get_regs(const struct ftrace_regs *regs)
{
    return funcgraph_api_->get_regs(regs);
}

static inline struct ftrace_pt_regs *ftrace_partial_regs(const struct ftrace_regs *regs,
                                                         struct ftrace_pt_regs *out)
{
    return funcgraph_api_->partial_regs(regs, out);
}

static inline int ftrace_fill_perf_regs(const struct ftrace_regs *regs, struct ftrace_perf_regs *out)
{
    return funcgraph_api_->fill_perf_regs(regs, out);
}

static inline size_t ftrace_regs_get_callchain(const struct ftrace_regs *regs,
                                               struct ftrace_location places[], size_t room)
{
    return funcgraph_api_->regs_get_callchain(regs, places, room);
}

static inline struct fg_task *fgraph_task_of(int tid)
{
    return funcgraph_api_->task_of(tid);
}

static inline int ftrace_graph_get_ret_stack(const struct fg_task *task, unsigned idx,
                                             struct ftrace_ret_stack *call)
{
    return funcgraph_api_->graph_get_ret_stack(task, idx, call);
}

static inline int fgraph_capability(const char *name)
{
    return funcgraph_api_->capability(name);
}

static inline int fgraph_func_is_native(const struct fg_func *func)
{
    return funcgraph_api_->func_is_native(func);
}

static inline int ftrace_regs_get_argument_word(const struct ftrace_regs *regs, unsigned n, uint64_t *word)
{
    return funcgraph_api_->regs_get_argument_word(regs, n, word);
}

static inline int ftrace_regs_get_argument_double(const struct ftrace_regs *regs, unsigned n, double *value)
{
    return funcgraph_api_->regs_get_argument_double(regs, n, value);
}

static inline int ftrace_regs_get_return_word(const struct ftrace_regs *regs, unsigned n, uint64_t *word)
{
    return funcgraph_api_->regs_get_return_word(regs, n, word);
}

static inline int ftrace_regs_get_return_double(const struct ftrace_regs *regs, unsigned n, double *value)
{
    return funcgraph_api_->regs_get_return_double(regs, n, value);
}

static inline uintptr_t ftrace_regs_get_instruction_pointer(const struct ftrace_regs *regs)
{
    return funcgraph_api_->regs_get_instruction_pointer(regs);
}

static inline uintptr_t ftrace_regs_get_return_address(const struct ftrace_regs *regs)
{
    return funcgraph_api_->regs_get_return_address(regs);
}

static inline struct ftrace_native_regs *ftrace_get_native_regs(const struct ftrace_regs *regs,
                                                                struct ftrace_native_regs *out)
{
    return funcgraph_api_->get_native_regs(regs, out);
}

#endif /* FUNCGRAPH_ENGINE */

#ifdef __cplusplus
}
#endif

#endif
