/* What tests/support/model.py calls through ctypes: the engine, driven step by step. */
#ifndef FG_SIM_DRIVER_H
#define FG_SIM_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#define SIM_EXPORT __attribute__((visibility("default")))

enum sim_step {
    SIM_DO_ENTER = 0,
    SIM_DO_RETURN = 1,
    SIM_DO_RAISE = 2,
    SIM_DO_SUSPEND = 3,
    SIM_DO_RESUME = 4,
    SIM_DO_CLOSE = 5,
    SIM_DO_END = 6, /* the thread ends */
};

enum sim_event_kind {
    SIM_ENTRY = 0,
    SIM_RETURN = 1,
    SIM_SUSPEND = 2,
    SIM_RESUME = 3,
    SIM_DROP = 4, /* an object was released */
};

#define SIM_FPROBES 100

/* One callback of a user. */
struct sim_event {
    int kind;                     /* enum sim_event_kind */
    int user, func, depth;        /* SIM_DROP: -1, -1, 0; fprobe i: SIM_FPROBES + i, depth 0 */
    int end;                      /* enum fg_end, of a SIM_RETURN */
    uint64_t token;               /* the token in the entry's data, or the object; 0: no data */
    uint64_t parent, grandparent; /* the tokens of the user's own frames below; 0: no frame, or no data */
    uint64_t var;                 /* the task variable, which each event increments */
};

/* How a user behaves. */
struct sim_user {
    uint64_t refused;           /* bit i: it declines the returns of function i */
    int data_words, has_object; /* what it reserves at each entry */
};

SIM_EXPORT int sim_init(void);
SIM_EXPORT int sim_driver_function(const char *module, const char *qualname);
SIM_EXPORT void *sim_task_new(void);
SIM_EXPORT int sim_task_tid(void *task);
SIM_EXPORT void sim_task_do(void *task, int step, int func, uint64_t call);
/* The new user's filters are empty. They can be edited before and after it is registered. */
SIM_EXPORT void sim_user_new(int number, uint64_t refused, int data_words, int has_object);
SIM_EXPORT int sim_user_register(int number);
SIM_EXPORT int sim_user_unregister(int number);
SIM_EXPORT int sim_user_edit_filter(int number, int set, const char *const patterns[], size_t n, int reset);
SIM_EXPORT int sim_user_set_tids(int number, const int *tids, size_t n);
SIM_EXPORT int sim_user_slot(int number);
/* notfilter: "" for none. If the fprobe is already registered, the last three arguments are ignored. */
SIM_EXPORT int sim_fprobe_register(int number, const char *filter, const char *notfilter, uint64_t refused,
                                   int data_words, int has_exit);
SIM_EXPORT int sim_fprobe_unregister(int number, int waits);
SIM_EXPORT int sim_fprobe_set_enabled(int number, int enabled);
SIM_EXPORT uint64_t sim_fprobe_nmissed(int number);
SIM_EXPORT int sim_take_events(struct sim_event *out, int room);
SIM_EXPORT uint64_t sim_tokens_so_far(void);
SIM_EXPORT uint32_t sim_nr_tasks(void);
SIM_EXPORT const char *sim_killed(void);

#endif
