/* A simulated arch: functions, calls, exceptions and generators without any interpreter, on real threads. */
#ifndef FG_SIM_ARCH_H
#define FG_SIM_ARCH_H

#include <pthread.h>
#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/task.h"
#include "engine/graph/users.h"

/* The engine with this arch. Once in a program, first. */
void sim_begin(void);

/* The arch stands twice in the program. The first has an ordinary domain, the second a global one. */
#define SIM_NR_ARCHES 2
extern struct fg_domain sim_domains[SIM_NR_ARCHES];

/* What the engine asked of one of the two. Each checks that it is asked about functions of its own only,
 * and that each sync of a function is between one sync_begin and one sync_end. */
struct sim_arch_calls {
    _Atomic uint64_t syncs, brackets, drops, irq_asked;
};
const struct sim_arch_calls *sim_arch_calls(int arch);

struct fg_func *sim_function_in(struct fg_domain *domain, const char *module, const char *qualname);
/* A function of the first domain that can be called. sim_functions makes `n` of them: module "m", named
 * f0, f1 ... */
struct fg_func *sim_function(const char *module, const char *qualname);
void sim_functions(struct fg_func **funcs, uint32_t n);
/* The function is gone. */
void sim_free(struct fg_func *func);
/* How often the engine asked for this function's hooks to be made to match. */
uint32_t sim_syncs(const struct fg_func *func);
/* The arch tells of its calls and their ends, by the last sync. */
bool sim_is_hooked(const struct fg_func *func);

/* It tells of their ends too, by the last sync. */
bool sim_hears_ends(const struct fg_func *func);
/* Calls this before a function's hooks are made to match; NULL: nothing. */
void sim_before_sync(void (*call)(struct fg_func *func));

/* A call begins in this thread; what is returned says which. */
uintptr_t sim_call(struct fg_func *func);
/* The same, made in a function, which need not be traced. */
uintptr_t sim_call_from(struct fg_func *caller, struct fg_func *func);
/* The same, made by the interpreter for a signal; calls of this thread are as long as it is on. */
uintptr_t sim_call_for_signal(struct fg_func *func);
void sim_irq(bool on);
void sim_return(uintptr_t call);
void sim_raise(uintptr_t call);
/* A generator gives way, runs again (in whatever thread), is closed or collected while it is suspended. */
void sim_suspend(uintptr_t call);
void sim_resume(uintptr_t call);
void sim_close(uintptr_t call);
/* A call and its return. */
void sim_call_return(struct fg_func *func);

/* How many objects were let go of. An object is a counter: it counts how often. */
uint64_t sim_dropped(void);

/* The name of this thread, as the arch will say. */
void sim_name_thread(const char *name);
/* Calls this before a thread's name is said, as when a task is given its next sub-buffer; NULL: nothing. */
void sim_before_name(void (*call)(void));

/* This thread works for so long. */
void sim_work(uint64_t ns);

/* Runs `run` in a thread of its own, to its end. */
void sim_in_thread(void *(*run)(void *arg), void *arg);
void sim_spawn(pthread_t *thread, void *(*run)(void *arg), void *arg);
void sim_join(pthread_t thread);

#endif
