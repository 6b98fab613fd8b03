/* Generators, coroutines and asynchronous generators: one struct (PyGenObject, cpython/genobject.h). */
#ifndef FG_COMPAT_GENERATOR_H
#define FG_COMPAT_GENERATOR_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/compat/frame.h"

/* The generator's code. New reference. */
static inline PyCodeObject *fg_generator_code(PyGenObject *generator)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyGen_GetCode(generator);
#else
    return (PyCodeObject *)Py_NewRef((PyObject *)generator->gi_code);
#endif
}

/* The generator's frame, which is embedded in the object. */
static inline fg_pyframe *fg_generator_frame(PyGenObject *generator)
{
    return (fg_pyframe *)&generator->gi_iframe;
}

/* True if the generator has finished. 3.15 numbers the states differently and has no FRAME_COMPLETED. */
static inline bool fg_generator_has_ended(PyObject *generator)
{
#if PY_VERSION_HEX >= 0x030D0000
    /* relaxed: without the GIL another thread may be running the generator */
    return FRAME_STATE_FINISHED(
        __atomic_load_n(&((PyGenObject *)generator)->gi_frame_state, __ATOMIC_RELAXED));
#else
    return ((PyGenObject *)generator)->gi_frame_state >= FRAME_COMPLETED;
#endif
}

#endif
