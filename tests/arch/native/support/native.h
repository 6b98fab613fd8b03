/* What tests of native hooks share: the engine with the target library's functions, and users of them. */
#ifndef FG_TEST_NATIVE_H
#define FG_TEST_NATIVE_H

#include "arch/native/hook.h"
#include "engine/probe/fprobe.h"
#include "support/probe.h"

/* Starts the engine, and takes the target library's plan. */
struct fg_native_object *native_begin(void);
/* The same, with those of target_many(). */
struct fg_native_object *native_begin_with_many(void);
/* Makes records of the functions that a pattern with ":mod:" selects; returns how many it selects. */
long native_meet(struct fg_native_object *object, const char *pattern);
/* Takes the plan of a place, and makes its record. */
void native_place(const char *function, uint32_t offset, uint8_t displaced, uint8_t instructions);
/* Registers an fprobe on the place that a pattern names, as dynamic events have it. */
void native_probe_place(struct fprobe *fp, const char *pattern);
/* A counting user of these functions; probe_finish() or native_finish() unregisters it. */
void native_probe(struct probe *probe, const char *pattern);
/* How many functions are hooked now; *@refused, if it is not NULL: how many should be and are not. */
uint32_t native_hooked(uint32_t *refused);
/* Why a function is not hooked that should be; NULL: all are. */
const char *native_refusal(void);
/* Checks that the user saw @calls calls and as many returns; then unregisters it. */
void native_finish(struct probe *probe, uint64_t calls);

/* ThreadSanitizer has a thread that cannot run code that it instruments, such as the handler that stops
 * threads. It is there once the program has forked or has other threads: hooks cannot change from then on. */
#ifdef __SANITIZE_THREAD__
#define NATIVE_STOPS 0
#else
#define NATIVE_STOPS 1
#endif
/* Nor can a handler that runs after each instruction: it waits for ever for a lock of ThreadSanitizer that
 * the code had taken which it interrupts. */
#define NATIVE_STEPS NATIVE_STOPS

/* What an instance has recorded. */
struct native_records {
    uint64_t entries, returns, raises, closes, lost;
};

/* Start and stop an instance that records these functions. With default settings, calls take the fast
 * path. */
void native_record(const char *pattern);
struct native_records native_recorded(void);

#endif
