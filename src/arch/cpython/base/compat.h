/* What differs between CPython versions and builds, named once: frames, code objects and their extras, exceptions,
 * and what needs more care without the GIL (the free-threaded build, PEP 703).
 *
 * The internal headers are those of the version we are built for; a wheel fits one minor version. */
#ifndef FG_CPYTHON_COMPAT_H
#define FG_CPYTHON_COMPAT_H

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include <stdbool.h>
#include <string.h>
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#include "internal/pycore_stackref.h"
#endif
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"
#if PY_VERSION_HEX < 0x030E0000
#include "internal/pycore_interp.h"
#endif
#include "internal/pycore_pystate.h"
#ifdef Py_GIL_DISABLED
#include "internal/pycore_object.h"
#endif

#include "arch/cpython/base/tstate.h"

/* 3.12+ has sys.monitoring (PEP 669); before it the frame evaluator is the hook (PEP 523). */
#define FG_HAVE_MONITORING (PY_VERSION_HEX >= 0x030C0000)

/* A hook of sys.monitoring may answer DISABLE for a function that nobody wants. Without the GIL another thread may
 * come to want it between the answer and its effect, and the function would be silent for good. */
#ifdef Py_GIL_DISABLED
#define FG_CAN_DISABLE 0
#else
#define FG_CAN_DISABLE 1
#endif

typedef struct _PyInterpreterFrame fg_pyframe;

/* This thread may touch objects. Before 3.12 the thread state above is whosever holds the GIL; the one of
 * PyGILState_GetThisThreadState() is never another interpreter's than the first that the thread was in. */
static inline bool fg_has_tstate(void)
{
    PyThreadState *tstate = fg_tstate();

#if PY_VERSION_HEX < 0x030C0000
    return tstate && (tstate->thread_id == PyThread_get_thread_ident() || fg_tstate_runs_here(tstate));
#else
    return tstate != NULL;
#endif
}

/* The one that signal handlers run in. From 3.14 on CPython's own function for it is not exported. */
static inline bool fg_is_main_thread(void)
{
    return PyThread_get_thread_ident() == _PyRuntime.main_thread;
}

static inline bool fg_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

/* Where a thread's newest frame is noted. */
static inline fg_pyframe **fg_newest_pyframe(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030D0000
    return &tstate->current_frame;
#else
    return &tstate->cframe->current_frame;
#endif
}

static inline fg_pyframe *fg_current_pyframe(PyThreadState *tstate)
{
    return *fg_newest_pyframe(tstate);
}

/* The next frame out that belongs to Python code. */
static inline fg_pyframe *fg_complete_pyframe(fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    return _PyFrame_GetFirstComplete(frame);
#else
    while (frame && _PyFrame_IsIncomplete(frame))
        frame = frame->previous;
    return frame;
#endif
}

/* C called it, and not Python code by itself. Before 3.12 a frame that begins does not tell: it may have. */
static inline bool fg_pyframe_is_called_by_c(const fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return frame->previous && frame->previous->owner >= FRAME_OWNED_BY_INTERPRETER;
#elif PY_VERSION_HEX >= 0x030C0000
    return frame->previous && frame->previous->owner == FRAME_OWNED_BY_CSTACK;
#else
    (void)frame;
    return true;
#endif
}

static inline PyCodeObject *fg_pyframe_code(fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _PyFrame_GetCode(frame);
#else
    return frame->f_code;
#endif
}

/* Its code is this object, which may be any: native code tells of functions that have something else for code. */
static inline bool fg_pyframe_is_of(fg_pyframe *frame, PyObject *code)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_AsPyObjectBorrow(frame->f_executable) == code;
#elif PY_VERSION_HEX >= 0x030D0000
    return frame->f_executable == code;
#else
    return (PyObject *)frame->f_code == code;
#endif
}

/* The line it is at, or 0. */
static inline int fg_pyframe_line(fg_pyframe *frame)
{
    int line = PyCode_Addr2Line(fg_pyframe_code(frame),
                                _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT));

    return line > 0 ? line : 0;
}

/* Borrowed; NULL where the slot is empty. */
static inline PyObject *fg_pyframe_local(fg_pyframe *frame, int i)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_IsNull(frame->localsplus[i]) ? NULL : PyStackRef_AsPyObjectBorrow(frame->localsplus[i]);
#else
    return frame->localsplus[i];
#endif
}

/* The function object it runs; borrowed. */
static inline PyObject *fg_pyframe_function(fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
#elif PY_VERSION_HEX >= 0x030C0000
    return frame->f_funcobj;
#else
    return (PyObject *)frame->f_func;
#endif
}

/* Its cells and free variables are in place; before that only its arguments are. */
static inline bool fg_pyframe_has_begun(fg_pyframe *frame)
{
    return !_PyFrame_IsIncomplete(frame);
}

/* The instruction it is at, or (before 3.13) the last code unit of it. */
static inline _Py_CODEUNIT *fg_pyframe_instruction(const fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return frame->instr_ptr;
#else
    return frame->prev_instr;
#endif
}

/* How many objects lie on its evaluation stack; -1: the evaluator alone knows. */
static inline int fg_pyframe_stack_depth(fg_pyframe *frame)
{
    const PyCodeObject *code = fg_pyframe_code(frame);
#if PY_VERSION_HEX >= 0x030E0000
    Py_ssize_t top = frame->stackpointer ? frame->stackpointer - frame->localsplus : -1;
#else
    Py_ssize_t top = frame->stacktop;
#endif
    Py_ssize_t depth = top - code->co_nlocalsplus;

    return depth >= 0 && depth <= code->co_stacksize ? (int)depth : -1;
}

/* What lies in place `i` of its evaluation stack; borrowed; NULL: nothing, or no object. */
static inline PyObject *fg_pyframe_stack_item(fg_pyframe *frame, int i)
{
    i += fg_pyframe_code(frame)->co_nlocalsplus;
#if PY_VERSION_HEX >= 0x030E0000
    if (PyStackRef_IsTaggedInt(frame->localsplus[i]))
        return NULL;
#endif
    return fg_pyframe_local(frame, i);
}

/* The code of a generator or coroutine. New reference. */
static inline PyCodeObject *fg_generator_code(PyGenObject *generator)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyGen_GetCode(generator);
#else
    return (PyCodeObject *)Py_NewRef((PyObject *)generator->gi_code);
#endif
}

/* A generator that ended: 3.15 numbers the states anew and drops FRAME_COMPLETED. */
#if PY_VERSION_HEX >= 0x030D0000
static inline bool fg_generator_has_ended(PyObject *generator)
{
    /* Without the GIL another thread may be running it. */
    return FRAME_STATE_FINISHED(
        __atomic_load_n(&((PyGenObject *)generator)->gi_frame_state, __ATOMIC_RELAXED));
}
#else
static inline bool fg_generator_has_ended(PyObject *generator)
{
    return ((PyGenObject *)generator)->gi_frame_state >= FRAME_COMPLETED;
}
#endif

/* Code extras: one indexed load. The struct is the one of Objects/codeobject.c. */
struct fg_code_extras {
    Py_ssize_t size;
    void *extras[1];
};

static inline void *fg_code_extra(PyCodeObject *code, Py_ssize_t index)
{
#ifdef Py_GIL_DISABLED
    void *extra = NULL;

    /* Other threads may be adding extras; from 3.15 on CPython guards against that itself (gh-144981). */
    PyUnstable_Code_GetExtra((PyObject *)code, index, &extra);
    return extra;
#else
    const struct fg_code_extras *extras = code->co_extra;

    return extras && index < extras->size ? extras->extras[index] : NULL;
#endif
}

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#endif

/* For an entry that is empty. -1 with an exception: memory is short.
 *
 * CPython's own function makes the array as long as there are users of extras, and a code object that is freed has
 * every entry's free function called, also for NULL: other users' functions would hear of all code that we know. So
 * the array ends at our entry; CPython lengthens it for whoever comes after us. Without the GIL CPython's function has no
 * lock before 3.15 either. */
static inline int fg_code_set_extra(PyCodeObject *code, Py_ssize_t index, void *extra)
{
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030F0000
    /* It frees later what others may be reading. */
    return PyUnstable_Code_SetExtra((PyObject *)code, index, extra);
#else
    struct fg_code_extras *extras = code->co_extra;
    Py_ssize_t size = extras ? extras->size : 0;

    if (size <= index) {
        extras = PyMem_Realloc(extras, sizeof(*extras) + (size_t)index * sizeof(void *));
        if (!extras) {
            PyErr_NoMemory();
            return -1;
        }
        memset(extras->extras + size, 0, (size_t)(index + 1 - size) * sizeof(void *));
        extras->size = index + 1;
        code->co_extra = extras;
    }
    extras->extras[index] = extra;
    return 0;
#endif
}

/* The exception in flight, set aside while we do what may raise. */
#if PY_VERSION_HEX >= 0x030C0000
typedef PyObject *fg_exception;

static inline fg_exception fg_exception_set_aside(void)
{
    return PyErr_GetRaisedException();
}

static inline void fg_exception_put_back(fg_exception exception)
{
    PyErr_SetRaisedException(exception);
}
#else
typedef struct {
    PyObject *type, *value, *traceback;
} fg_exception;

static inline fg_exception fg_exception_set_aside(void)
{
    fg_exception exception;

    PyErr_Fetch(&exception.type, &exception.value, &exception.traceback);
    return exception;
}

static inline void fg_exception_put_back(fg_exception exception)
{
    PyErr_Restore(exception.type, exception.value, exception.traceback);
}
#endif

static inline bool fg_exception_is_set(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030C0000
    return tstate->current_exception;
#else
    return tstate->curexc_type;
#endif
}

/* The exception that is set, as one object with its traceback, and unset. New reference. */
static inline PyObject *fg_exception_take(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* Sets it. Takes over the reference. */
static inline void fg_exception_raise(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
#endif
}

/* Nested calls that there is room for. From 3.12 on calls of Python and of C functions count apart, and from 3.14 on C
 * stack is measured. */
static inline bool fg_recursion_has_room(PyThreadState *tstate, int calls)
{
#if PY_VERSION_HEX >= 0x030E0000
    return tstate->py_recursion_remaining >= calls;
#elif PY_VERSION_HEX >= 0x030C0000
    return tstate->py_recursion_remaining >= calls && tstate->c_recursion_remaining >= calls;
#else
    return tstate->recursion_remaining >= calls;
#endif
}

/* Room for so many more; the limit that the program set stays what it is. */
static inline void fg_recursion_room(PyThreadState *tstate, int calls)
{
#if PY_VERSION_HEX >= 0x030C0000
    tstate->py_recursion_remaining += calls;
#if PY_VERSION_HEX < 0x030E0000
    tstate->c_recursion_remaining += calls;
#endif
#else
    tstate->recursion_remaining += calls;
#endif
}

/* The program's trace and profile functions hear nothing. From 3.12 on CPython sees to that around every callback of
 * sys.monitoring, but not where we are told of ends by other ways (gen_close.c). */
static inline bool fg_tracing_is_paused(PyThreadState *tstate)
{
    return tstate->tracing > 0;
}

static inline void fg_tracing_pause(PyThreadState *tstate)
{
#if FG_HAVE_MONITORING
    tstate->tracing++; /* PyThreadState_EnterTracing, without the call */
#else
    PyThreadState_EnterTracing(tstate);
#endif
}

static inline void fg_tracing_resume(PyThreadState *tstate)
{
#if FG_HAVE_MONITORING
    tstate->tracing--;
#else
    PyThreadState_LeaveTracing(tstate);
#endif
}

#if FG_HAVE_MONITORING
/* The name under which we hold a tool id, in the interpreter that came last to take one: it is compared, no more. */
extern _Atomic(const PyObject *) fg_tool_name; /* monitoring.c */

/* Nobody but us listens in this interpreter: no other tool of sys.monitoring, no trace or profile function. We hold a
 * tool id. */
static inline bool fg_is_only_tool(const PyThreadState *tstate)
{
    const PyInterpreterState *interp = tstate->interp;
    uintptr_t names = 0;
    int tools = 0;

    if (interp->sys_profiling_threads | interp->sys_tracing_threads)
        return false;
    for (int id = 0; id < PY_MONITORING_SYS_PROFILE_ID; id++)
        names += (uintptr_t)interp->monitoring_tool_names[id];
    if (fg_likely(names ==
                  (uintptr_t)atomic_load_explicit(
                      &fg_tool_name, memory_order_relaxed))) /* no addresses of others' add up to nothing */
        return true;
    for (int id = 0; id < PY_MONITORING_SYS_PROFILE_ID; id++)
        tools += interp->monitoring_tool_names[id] != NULL;
    return tools == 1;
}
#endif

#if !FG_HAVE_MONITORING
/* After a change of what `use_tracing` follows from. */
static inline void fg_tracing_update(PyThreadState *tstate)
{
    tstate->cframe->use_tracing =
        tstate->tracing == 0 && (tstate->c_tracefunc || tstate->c_profilefunc) ? 255 : 0;
}
#endif

/* A Python function; also one that a call hook is on (call_hook.c: 3.11 gives it another type meanwhile). */
static inline bool fg_is_function(PyObject *object)
{
#if FG_HAVE_MONITORING
    return PyFunction_Check(object);
#else
    return PyFunction_Check(object) || Py_TYPE(object)->tp_base == &PyFunction_Type;
#endif
}

/* dict[key], or NULL; no exception is left set. New reference: without the GIL a borrowed one may die in our hands. */
static inline PyObject *fg_dict_get(PyObject *dict, const char *key)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = NULL;

    if (PyDict_GetItemStringRef(dict, key, &value) < 0)
        PyErr_Clear();
    return value;
#else
    return Py_XNewRef(PyDict_GetItemString(dict, key));
#endif
}

static inline PyObject *fg_dict_get_item(PyObject *dict, PyObject *key)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = NULL;

    if (PyDict_GetItemRef(dict, key, &value) < 0)
        PyErr_Clear();
    return value;
#else
    return Py_XNewRef(PyDict_GetItem(dict, key));
#endif
}

/* What the type or one of its bases has for the attribute; looks at dicts only. New reference, or NULL. */
static inline PyObject *fg_type_lookup(PyTypeObject *type, PyObject *name)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _PyType_LookupRef(type, name);
#else
    return Py_XNewRef(_PyType_Lookup(type, name));
#endif
}

/* A module that was imported before, looked up and no more. New reference, or NULL; there may be an exception. */
static inline PyObject *fg_imported(const char *name, size_t bytes)
{
    PyObject *key = PyUnicode_FromStringAndSize(name, (Py_ssize_t)bytes);
    PyObject *module = key ? PyImport_GetModule(key) : NULL;

    Py_XDECREF(key);
    if (module && !PyModule_CheckExact(module))
        Py_CLEAR(module);
    return module;
}

static inline bool fg_type_has(PyTypeObject *type, PyObject *name)
{
    PyObject *value = fg_type_lookup(type, name);

    Py_XDECREF(value);
    return value;
}

/* The method resolution order, or NULL. New reference: without the GIL another thread may be replacing it. */
static inline PyObject *fg_type_mro(PyTypeObject *type)
{
#ifdef Py_GIL_DISABLED
    /* type.__mro__'s own getter, for a metaclass may have another. */
    PyObject *getters = PyType_GetDict(&PyType_Type);
    PyObject *getter = getters ? fg_dict_get(getters, "__mro__") : NULL;
    PyObject *mro =
        getter ? Py_TYPE(getter)->tp_descr_get(getter, (PyObject *)type, (PyObject *)Py_TYPE(type)) : NULL;

    Py_XDECREF(getter);
    Py_XDECREF(getters);
    if (!mro)
        PyErr_Clear();
    else if (!PyTuple_CheckExact(mro))
        Py_CLEAR(mro);
    return mro;
#else
    return Py_XNewRef(type->tp_mro);
#endif
}

/* A reference that is held for a while, to an object that is not immortal for sure: CPython's own way asks first. */
static inline void fg_object_hold(PyObject *object)
{
#ifdef Py_GIL_DISABLED
    Py_INCREF(object);
#else
    object->ob_refcnt++;
#endif
}

static inline void fg_object_release(PyObject *object)
{
#ifdef Py_GIL_DISABLED
    Py_DECREF(object);
#else
    if (--object->ob_refcnt == 0)
        _Py_Dealloc(object);
#endif
}

/* A reference to True, False or None: immortal from 3.12 on (PEP 683). */
static inline void fg_singleton_release(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)object;
#else
    Py_DECREF(object);
#endif
}

/* A reference to an object that may be dying in another thread; false if it is. Its memory is still there, and
 * fg_object_share was called on it once while it lived. */
static inline bool fg_object_try_ref(PyObject *object)
{
#ifndef Py_GIL_DISABLED
    /* What is told of its death may run callbacks. */
    if (Py_REFCNT(object) == 0)
        return false;
    Py_INCREF(object);
    return true;
#elif PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_TryIncRef(object);
#else
    return _Py_TryIncref(object);
#endif
}

/* Visits what the garbage collector knows. `visit` returns 1; it makes no object and ends none. Before 3.14 CPython's own
 * function, where there is one, passes by what gc.freeze() put aside; without the GIL it does so still (before 3.16:
 * gh-156395). */
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030E0000
/* Once a thread has started, 3.13 makes functions, classes and modules with their dicts immortal, and the collector
 * forgets them. What refers to them it knows still: other dicts, among them sys.modules, cells, methods, generators. */
struct fg_visit {
    int (*visit)(PyObject *object, void *arg);
    void *arg;
};

static inline int fg_visit_if_forgotten(PyObject *object, void *arg)
{
    const struct fg_visit *to = arg;

    if (_Py_IsImmortal(object) && PyObject_IS_GC(object) && !PyObject_GC_IsTracked(object))
        to->visit(object, to->arg);
    return 0;
}

static inline int fg_visit_referent(PyObject *object, void *arg)
{
    PyObject *dict = PyModule_Check(object) ? PyModule_GetDict(object) : NULL;

    if (dict)
        Py_TYPE(dict)->tp_traverse(dict, fg_visit_if_forgotten, arg);
    return fg_visit_if_forgotten(object, arg);
}

static inline int fg_visit_with_referents(PyObject *object, void *arg)
{
    const struct fg_visit *to = arg;

    to->visit(object, to->arg);
    Py_TYPE(object)->tp_traverse(object, fg_visit_referent, arg);
    return 1;
}

/* The world is stopped meanwhile. */
static inline void fg_visit_objects(int (*visit)(PyObject *object, void *arg), void *arg)
{
    struct fg_visit to = {visit, arg};

    PyUnstable_GC_VisitObjects(fg_visit_with_referents, &to);
}
#elif PY_VERSION_HEX >= 0x030E0000
static inline void fg_visit_objects(int (*visit)(PyObject *object, void *arg), void *arg)
{
    PyUnstable_GC_VisitObjects(visit, arg);
}
#else
static inline void fg_visit_generation(struct gc_generation *generation,
                                       int (*visit)(PyObject *object, void *arg), void *arg)
{
    PyGC_Head *head = &generation->head;

    for (PyGC_Head *at = _PyGCHead_NEXT(head); at != head; at = _PyGCHead_NEXT(at))
        visit((PyObject *)(at + 1), arg);
}

static inline void fg_visit_objects(int (*visit)(PyObject *object, void *arg), void *arg)
{
    struct _gc_runtime_state *gc = &PyInterpreterState_Get()->gc;

    for (int i = 0; i < NUM_GENERATIONS; i++)
        fg_visit_generation(&gc->generations[i], visit, arg);
    fg_visit_generation(&gc->permanent_generation, visit, arg);
}
#endif

static inline void fg_object_share(PyObject *object)
{
#ifndef Py_GIL_DISABLED
    (void)object;
#elif PY_VERSION_HEX >= 0x030E0000
    PyUnstable_EnableTryIncRef(object);
#else
    _PyObject_SetMaybeWeakref(object);
#endif
}

#endif
