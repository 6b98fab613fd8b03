/* Visiting all objects that the garbage collector tracks. */
#ifndef FG_COMPAT_GC_H
#define FG_COMPAT_GC_H

#include "arch/cpython/base/compat/python.h"
#if !defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030E0000
#define FG_HAVE_GENERATIONS 1 /* we walk the collector's lists ourselves */
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"
#else
#define FG_HAVE_GENERATIONS 0
#endif
#ifdef Py_GIL_DISABLED
#include "internal/pycore_object.h"
#endif

/* fg_visit_objects() calls @visit for each object that the garbage collector tracks. @visit returns 1,
 * and must not make or free objects. Before 3.14, CPython's own function (where it exists) skips the
 * objects that gc.freeze() put aside. Without the GIL it still does (fixed in 3.16: gh-156395). */
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030E0000
/* 3.13 without the GIL: once a thread has started, CPython makes functions, classes and modules with
 * their dicts immortal, and the collector no longer tracks them. It still tracks objects that refer to
 * them: other dicts (among them sys.modules), cells, methods, generators. So visit the referents too. */
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

/* Stops the world meanwhile. */
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

#endif
