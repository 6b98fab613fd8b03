/* The cheapest possible hooks, to compare funcgraph's with: a pair of sys.monitoring callbacks, or a frame
 * evaluator on 3.11, that do nothing, and the same that only read the clock and store it. The benchmark
 * compiles this file. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static volatile uint64_t sink;

/* Reads the clock as engine/base/clock.h does where the time stamp counter is reliable. */
static uint64_t now(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#else
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
#endif
}

static PyObject *empty(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module, (void)arguments, (void)count;
    Py_RETURN_NONE;
}

static PyObject *clock_only(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module, (void)arguments, (void)count;
    sink = now();
    Py_RETURN_NONE;
}

#if PY_VERSION_HEX < 0x030C0000

static PyObject *evaluate_empty(PyThreadState *tstate, struct _PyInterpreterFrame *frame, int throwflag)
{
    return _PyEval_EvalFrameDefault(tstate, frame, throwflag);
}

static PyObject *evaluate_clock(PyThreadState *tstate, struct _PyInterpreterFrame *frame, int throwflag)
{
    PyObject *result;

    sink = now();
    result = _PyEval_EvalFrameDefault(tstate, frame, throwflag);
    sink = now();
    return result;
}

static PyObject *set_evaluator(PyObject *module, PyObject *with_clock)
{
    _PyFrameEvalFunction evaluator = PyObject_IsTrue(with_clock) ? evaluate_clock : evaluate_empty;

    (void)module;
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(),
                                         with_clock == Py_None ? _PyEval_EvalFrameDefault : evaluator);
    Py_RETURN_NONE;
}

#endif

static PyMethodDef methods[] = {
    {"empty", (PyCFunction)(void (*)(void))empty, METH_FASTCALL, "Does nothing."},
    {"clock", (PyCFunction)(void (*)(void))clock_only, METH_FASTCALL, "Reads the clock."},
#if PY_VERSION_HEX < 0x030C0000
    {"set_evaluator", set_evaluator, METH_O,
     "set_evaluator(clock): an evaluator that does nothing, or reads the clock if true; None: CPython's "
     "own."},
#endif
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "least_callbacks",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit_least_callbacks(void)
{
    return PyModule_Create(&module);
}
