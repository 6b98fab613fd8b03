/* What this arch assumes about CPython beyond its public API, and the check of it at start-up.
 *
 * The structures are those of the build's headers, as a wheel fits one minor version. A distributor's
 * patch, a debug build or a pre-release may still lay them out differently; reading them would then
 * crash the program. So the first start in a process compares what we read with what CPython's public
 * functions return. Where the two differ, nothing is hooked. */
#ifndef FG_CPYTHON_ASSUMPTIONS_H
#define FG_CPYTHON_ASSUMPTIONS_H

#include "arch/cpython/base/compat/python.h"

/* X(id, name, versions, source, what): `source` is the CPython file, PEP or issue that documents the
 * assumption; `what` completes the sentence "it does not have ...". The order matters: each row's check
 * reads only what the rows before it have proved. */
#define FG_ASSUMPTIONS(X)                                                                                    \
    X(THREAD_STATE, "thread-state", "3.11-3.15",                                                             \
      "Python/pystate.c, the variable behind PyThreadState_Get()",                                           \
      "the current thread state where it was found")                                                         \
    X(NEWEST_FRAME, "newest-frame", "3.11-3.15",                                                             \
      "Include/cpython/pystate.h: cframe->current_frame, from 3.13 on current_frame",                        \
      "a thread's newest frame in its thread state")                                                         \
    X(FRAME, "frame", "3.11-3.15",                                                                           \
      "Include/internal/pycore_frame.h, from 3.14 on pycore_interpframe_structs.h and pycore_stackref.h",    \
      "code, globals, function and variables of a frame in their places")                                    \
    X(INSTRUCTION, "instruction", "3.11-3.15",                                                               \
      "Include/internal/pycore_frame.h: prev_instr, from 3.13 on instr_ptr (gh-109214)",                     \
      "the current instruction of a frame in its place")                                                     \
    X(CODE, "code", "3.11-3.15", "Include/cpython/code.h",                                                   \
      "variables and first traceable instruction of a code object in their places")                          \
    X(CODE_EXTRA, "code-extra", "3.11-3.15", "Objects/codeobject.c: _PyCodeObjectExtra (PEP 523)",           \
      "what extensions keep with a code object in its place")                                                \
    X(FUNCTION, "function", "3.11-3.15", "Include/cpython/funcobject.h (PEP 590)",                           \
      "code and vectorcall of a function in their places")                                                   \
    X(EXCEPTION, "exception", "3.11-3.15",                                                                   \
      "Include/cpython/pystate.h: curexc_type, from 3.12 on current_exception (gh-101578)",                  \
      "the exception in flight in the thread state")                                                         \
    X(TRACING, "tracing", "3.11-3.15",                                                                       \
      "Include/cpython/pystate.h: tracing, which PyThreadState_EnterTracing counts",                         \
      "the count of paused trace functions in the thread state")                                             \
    X(RECURSION, "recursion", "3.11-3.15",                                                                   \
      "Include/cpython/pystate.h: recursion_remaining, from 3.12 on py_recursion_remaining (gh-91079)",      \
      "the recursion limit in the thread state")                                                             \
    X(DATA_STACK, "data-stack", "3.11-3.15", "Include/cpython/pystate.h: _PyStackChunk",                     \
      "a thread's frames in its newest data stack chunk")                                                    \
    X(GENERATOR, "generator", "3.11-3.15",                                                                   \
      "Include/cpython/genobject.h, from 3.14 on pycore_interpframe_structs.h",                              \
      "frame and state of a generator in their places")                                                      \
    X(COLLECTOR, "collector", "3.11-3.13 with the GIL", "Include/internal/pycore_gc.h, Modules/gcmodule.c",  \
      "new objects at the end of the collector's first generation")                                          \
    X(MONITORING, "monitoring", "3.12-3.15",                                                                 \
      "Include/cpython/code.h: _PyCoMonitoringData; Include/internal/pycore_interp.h: "                      \
      "monitoring_tool_names (PEP 669)",                                                                     \
      "sys.monitoring's tools and local events in their places")                                             \
    X(GIL, "gil", "3.11-3.15 with the GIL", "Include/internal/pycore_gil.h, Python/ceval_gil.c: take_gil()", \
      "the interpreter lock in its place")                                                                   \
    X(OBJECTS, "objects", "3.11-3.15 with the GIL",                                                          \
      "Objects/dictobject.c, rangeobject.c; Modules/_collectionsmodule.c; "                                  \
      "Include/internal/pycore_dict.h, pycore_object.h: values of instances",                                \
      "keys of dicts, attributes of instances, items of deques and ranges in their places")

enum fg_assumption {
#define X(id, name, versions, source, what) FG_ASSUME_##id,
    FG_ASSUMPTIONS(X)
#undef X
        FG_NR_ASSUMPTIONS
};

/**
 * fg_assumptions_check() - Check all assumptions that can be checked before anything is hooked.
 * @code_extra_index: an index of ours for code extras
 *
 * Runs two functions of its own, once in a process, with the program's trace functions paused. Three
 * assumptions are checked later: MONITORING when the hooks are installed, GIL when the tracer gilwait
 * starts, OBJECTS when the first event is made that reads objects.
 *
 * Return: 0; -1 with an exception that names the assumption.
 */
int fg_assumptions_check(Py_ssize_t code_extra_index);

/* True if the value that we read is the one that CPython returned. */
bool fg_assumption_holds(enum fg_assumption assumption, uintptr_t read, uintptr_t expected);

/* Raises RuntimeError for an assumption that does not hold. Returns -1. */
int fg_assumption_refuse(enum fg_assumption assumption);

/* For tests: makes every later check of the assumption @name fail. Return: 0; -1 with an exception:
 * there is no such assumption. */
int fg_assumption_doctor(const char *name);

#endif
