/* What `calls` keeps: the calls in progress of each thread, and the suspended ones of all threads. */
#ifndef FG_CALL_STACK_H
#define FG_CALL_STACK_H

#include "tracedata/base/text.h"
#include "tracedata/view/parked_calls.h"

struct fg_call {
    uint64_t id, parent, begin_ns;
    uint64_t ran_ns, self_ns; /* of the stretches that have ended */
    uint32_t func, caller, caller_line, resumes;
    bool is_whole; /* its beginning is known */
    struct fg_text arguments;
};

/* A level of a thread's stack. With is_open false, only the time of callees is known. */
struct fg_call_level {
    struct fg_call call;
    size_t suspended; /* 1 + the place of a call that was resumed; 0: `call` is the one */
    uint32_t func;
    bool is_open;
    uint64_t entered_ns, waited_ns; /* of the stretch */
    uint64_t callees_ns;
};

struct fg_call_stack {
    struct fg_call_level *levels;
    size_t capacity;
    uint32_t depth;
    uint32_t task, number; /* of the latest event: in the name table; its own */
    uint64_t last_ns, wait_ns;
};

void fg_call_stack_free(struct fg_call_stack *stack);
/* Makes room for levels[depth]. Return: 0 or -ENOMEM. */
int fg_call_stack_reserve(struct fg_call_stack *stack, uint32_t depth);

/* A suspended call, and one that was resumed. */
struct fg_suspended_call {
    struct fg_call call;
    bool is_used;
    uint64_t start_ns, last_ns;
    size_t holder; /* 1 + the stack in which it goes on, 0: in none; and the level there */
    uint32_t holder_depth;
    int32_t pid;
    uint32_t number, depth; /* of the task in which it was suspended last; there */
};

struct fg_suspended_calls {
    struct fg_suspended_call *calls;
    size_t n, capacity;
    size_t *spare; /* places that are free */
    size_t nr_spare, spare_capacity;
    struct fg_parked_calls by_start;
};

void fg_suspended_calls_free(struct fg_suspended_calls *suspended);
/* 1 + the place of the call, or 0. */
size_t fg_suspended_find(const struct fg_suspended_calls *suspended, uint64_t start_ns, uint32_t func,
                         int32_t pid);
/* Takes over a call that is not there. Return: 1 + its place; 0: memory is short. */
size_t fg_suspended_add(struct fg_suspended_calls *suspended, struct fg_call *call, uint64_t start_ns,
                        int32_t pid);
void fg_suspended_remove(struct fg_suspended_calls *suspended, size_t place);

#endif
