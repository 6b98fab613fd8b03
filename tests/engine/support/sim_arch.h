/* A simulated arch: functions, calls, exceptions and generators without any interpreter, on real threads. */
#ifndef FG_SIM_ARCH_H
#define FG_SIM_ARCH_H

#include <pthread.h>
#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/task.h"
#include "engine/users/users.h"

/* Starts the engine with this arch. Call it once per program, first. */
void sim_begin(void);

/* The program contains the arch twice. The first has an ordinary domain, the second a global one. */
#define SIM_NR_ARCHES 2
extern struct fg_domain sim_domains[SIM_NR_ARCHES];

/* What the engine asked of one of the two arches. Each arch checks that it is asked only about its own
 * functions, and that each sync of a function is between one sync_begin and one sync_end. */
struct sim_arch_calls {
    _Atomic uint64_t syncs, brackets, drops, irq_requested;
};
const struct sim_arch_calls *sim_arch_calls(int arch);

struct fg_func *sim_function_in(struct fg_domain *domain, const char *module, const char *qualname);
/* Creates a callable function in the first domain. sim_functions creates `n` of them: module "m", named
 * f0, f1, and so on. */
struct fg_func *sim_function(const char *module, const char *qualname);
void sim_functions(struct fg_func **funcs, uint32_t n);
/* Frees the function. */
void sim_free(struct fg_func *func);
/* Returns how often the engine asked the arch to sync this function's hooks. */
uint32_t sim_syncs(const struct fg_func *func);
/* Returns whether the last sync left hooks for the function's entries. */
bool sim_is_hooked(const struct fg_func *func);

/* Returns whether the last sync left hooks for its returns, too. */
bool sim_set_return_hooks(const struct fg_func *func);
/* Sets a function to call before each sync of a function's hooks; NULL: none. */
void sim_before_sync(void (*call)(struct fg_func *func));

/* Enters a call in this thread; returns its identifier. */
uintptr_t sim_call(struct fg_func *func);
/* As sim_call, with a caller, which need not be traced. */
uintptr_t sim_call_from(struct fg_func *caller, struct fg_func *func);
/* As sim_call, but made by the interpreter for a signal. sim_irq(true) makes all calls of this thread
 * such calls until sim_irq(false). */
uintptr_t sim_call_for_signal(struct fg_func *func);
void sim_irq(bool on);
/* sim_handler(true): a handler that the interpreter calls for a signal begins in this thread. It ends with
 * sim_handler(false). */
void sim_handler(bool on);
void sim_return(uintptr_t call);
void sim_raise(uintptr_t call);
/* Suspends, resumes (in any thread) or closes a generator. sim_close also stands for its collection. */
void sim_suspend(uintptr_t call);
void sim_resume(uintptr_t call);
void sim_close(uintptr_t call);
/* Makes a call and returns from it. */
void sim_call_return(struct fg_func *func);

/* Returns the number of released objects. An object is a counter of its releases. */
uint64_t sim_dropped(void);
/* How many instances have ended (instance_ended of struct fg_process_ops). */
uint64_t sim_ended(void);

/* Sets the name that the arch reports for this thread. */
void sim_name_thread(const char *name);
/* Sets a function to call before a thread's name is asked for, for example when a task gets its next
 * sub-buffer; NULL: none. */
void sim_before_name(void (*call)(void));

/* Adds `ns` of work in this thread. */
void sim_work(uint64_t ns);

/* Runs `run` in its own thread and waits for its end. */
void sim_in_thread(void *(*run)(void *arg), void *arg);
void sim_spawn(pthread_t *thread, void *(*run)(void *arg), void *arg);
void sim_join(pthread_t thread);

/* Defines the callbacks of struct fg_arch_ops: each calls the function of its name with the number. */
#define SIM_ARCH_CALLBACKS(number)                                                                           \
    static void sync_##number(struct fg_func *func)                                                          \
    {                                                                                                        \
        sync_func(func, number);                                                                             \
    }                                                                                                        \
    static void sync_begin_##number(void)                                                                    \
    {                                                                                                        \
        sync_begin(number);                                                                                  \
    }                                                                                                        \
    static void sync_end_##number(void)                                                                      \
    {                                                                                                        \
        sync_end(number);                                                                                    \
    }                                                                                                        \
    static void drop_object_##number(void *object, struct fg_domain *domain)                                 \
    {                                                                                                        \
        drop_object(object, domain, number);                                                                 \
    }

#endif
