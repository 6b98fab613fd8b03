/* See handler.h. */
#include "binding/control/handler.h"

#include <linux/futex.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "binding/control/client.h"
#include "binding/control/engine_waits.h"

#define ENGINE "funcgraph._engine"

/* Return: a module, imported if it has to be; a new reference. */
static PyObject *import_quietly(PyObject *apart, const char *name)
{
    PyObject *key = PyUnicode_FromString(name), *module, *import, *imported;

    module = key ? PyImport_GetModule(key) : NULL;
    if (!module && key && !PyErr_Occurred()) {
        /* Imports run Python code: the engine is imported before it can trace, others apart. */
        import = PyMapping_GetItemString(PyEval_GetBuiltins(), "__import__");
        imported = !import ? NULL
                   : apart ? PyObject_CallFunctionObjArgs(apart, import, key, NULL)
                           : PyObject_CallOneArg(import, key);
        if (imported)
            module = PyImport_GetModule(key);
        Py_XDECREF(imported);
        Py_XDECREF(import);
    }
    Py_XDECREF(key);
    return module;
}

static PyObject *attribute_of(PyObject *apart, const char *module_name, const char *name)
{
    PyObject *module = import_quietly(apart, module_name);
    PyObject *attribute = module ? PyObject_GetAttrString(module, name) : NULL;

    Py_XDECREF(module);
    return attribute;
}

/* Return: the engine's function that hides what it calls, or NULL with an exception. */
static PyObject *take_engine(const struct fg_handler *handler)
{
    PyObject *engine = import_quietly(NULL, ENGINE);
    PyObject *apart = engine ? PyObject_GetAttrString(engine, "apart") : NULL;

    if (apart)
        fg_engine_waits_take(engine, handler->woken);
    Py_XDECREF(engine);
    return apart;
}

/* Return: the answer, or NULL with an exception. */
static PyObject *call(const struct fg_handler *handler, uint32_t client, const uint8_t *message, size_t bytes)
{
    PyObject *apart = take_engine(handler);
    PyObject *function = apart ? attribute_of(apart, handler->module, handler->function) : NULL;
    PyObject *number = PyLong_FromUnsignedLong(client);
    PyObject *request =
        message ? PyBytes_FromStringAndSize((const char *)message, (Py_ssize_t)bytes) : Py_NewRef(Py_None);
    PyObject *answer = NULL;

    if (function && number && request)
        answer = PyObject_CallFunctionObjArgs(apart, function, number, request, NULL);
    Py_XDECREF(request);
    Py_XDECREF(number);
    Py_XDECREF(function);
    Py_XDECREF(apart);
    return answer;
}

/* Return: the bytes of the frame; 0: none. */
static size_t frame_of(PyObject *answer, uint8_t **frame)
{
    size_t bytes;

    if (!answer || !PyBytes_Check(answer))
        return 0;
    bytes = (size_t)PyBytes_GET_SIZE(answer);
    if (bytes > FG_FRAME_MAX || !(*frame = malloc(FG_FRAME_HEAD + bytes)))
        return 0;
    for (unsigned i = 0; i < FG_FRAME_HEAD; i++)
        (*frame)[i] = (uint8_t)(bytes >> 8 * i);
    memcpy(*frame + FG_FRAME_HEAD, PyBytes_AS_STRING(answer), bytes);
    return FG_FRAME_HEAD + bytes;
}

/* threading.current_thread() has made an object for this thread, which no list is to show. */
static void forget_thread_object(void)
{
    PyObject *name = PyUnicode_FromString("threading");
    PyObject *threading = name ? PyImport_GetModule(name) : NULL;
    PyObject *active = threading ? PyObject_GetAttrString(threading, "_active") : NULL;
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());

    if (active && ident && PyDict_Check(active) && PyDict_Contains(active, ident) == 1)
        (void)PyDict_DelItem(active, ident);
    PyErr_Clear();
    Py_XDECREF(ident);
    Py_XDECREF(active);
    Py_XDECREF(threading);
    Py_XDECREF(name);
}

/* ---- the GIL
 *
 * A thread of a program that never waits keeps the GIL for sys.getswitchinterval(), 5 ms. Its main thread
 * gives way at once when a pending call says so, and waits until the GIL has been taken. Before CPython 3.13
 * it looks at calls that another thread has queued only when something else interrupts it. */

#define RETRY_NS 1000000 /* if others take the GIL first */

static _Atomic uint32_t gil_is_requested;
static atomic_bool is_queued; /* once at most: the queue is the program's, and short */

static int give_way(void *unused);

static void queue(void)
{
    if (!atomic_exchange(&is_queued, true) && Py_AddPendingCall(give_way, NULL) != 0)
        atomic_store(&is_queued, false);
}

/* On a busy machine our thread may not run while the GIL is free: then this is done again. */
static int give_way(void *unused)
{
    static const struct timespec interval = {.tv_nsec = RETRY_NS};

    (void)unused;
    atomic_store(&is_queued, false);
    if (atomic_load(&gil_is_requested)) {
        PyThreadState *tstate = PyEval_SaveThread();

        (void)syscall(SYS_futex, &gil_is_requested, FUTEX_WAIT_PRIVATE, 1, &interval, NULL, 0);
        PyEval_RestoreThread(tstate);
        if (atomic_load(&gil_is_requested))
            queue();
    }
    return 0;
}

static PyGILState_STATE take_gil(void)
{
    PyGILState_STATE attached;

    atomic_store(&gil_is_requested, 1);
    queue();
    attached = PyGILState_Ensure();
    atomic_store(&gil_is_requested, 0);
    (void)syscall(SYS_futex, &gil_is_requested, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    return attached;
}

/* ---- short turns
 *
 * Each access to a file gives up the GIL, and a busy program keeps it for its switch interval. So that is
 * shorter during a request: from C, since bytecode gives up the GIL too when a thread that waits demands it.
 * After the last bytecode nothing can, and the program's interval comes back. */

#define SHORT_TURN_S 0.0001

/* Return: a result of a function of sys, a new reference; NULL: it has failed. */
static PyObject *call_sys(const char *name, PyObject *argument)
{
    PyObject *function = PySys_GetObject(name);
    PyObject *result = !function  ? NULL
                       : argument ? PyObject_CallOneArg(function, argument)
                                  : PyObject_CallNoArgs(function);

    PyErr_Clear();
    return result;
}

/* Return: seconds; 0: unknown. */
static double turn_s(void)
{
    PyObject *interval = call_sys("getswitchinterval", NULL);
    double seconds = interval && PyFloat_Check(interval) ? PyFloat_AS_DOUBLE(interval) : 0.0;

    Py_XDECREF(interval);
    return seconds;
}

static void set_turn(double seconds)
{
    PyObject *interval = PyFloat_FromDouble(seconds);

    Py_XDECREF(interval ? call_sys("setswitchinterval", interval) : NULL);
    Py_XDECREF(interval);
    PyErr_Clear();
}

/* Return: the program's own turn, for restore_turns(); 0: it is short enough. */
static double shorten_turns(void)
{
    double own = turn_s();

    if (own <= SHORT_TURN_S)
        return 0.0;
    set_turn(SHORT_TURN_S);
    return own;
}

/* Unless the program has set another one meanwhile; it is kept as a number of microseconds. */
static void restore_turns(double own)
{
    if (own > 0.0 && fabs(turn_s() - SHORT_TURN_S) < SHORT_TURN_S / 2.0)
        set_turn(own);
}

/* Without collections: these would run finalizers of the program in a thread that it does not know. CPython
 * 3.12 runs one that is due even so. */
size_t fg_handler_request(void *context, uint32_t client, const uint8_t *message, size_t bytes,
                          uint8_t **frame)
{
    PyGILState_STATE attached;
    PyThreadState *tstate;
    PyObject *answer;
    size_t framed;
    double own_turn;
    int collects;

    if (!Py_IsInitialized())
        return 0;
    attached = take_gil();
    tstate = PyThreadState_Get();
    collects = PyGC_Disable();
    PyThreadState_EnterTracing(tstate);
    own_turn = shorten_turns();
    answer = call(context, client, message, bytes);
    framed = frame_of(answer, frame);
    Py_XDECREF(answer);
    PyErr_Clear();
    forget_thread_object();
    if (collects)
        PyGC_Enable();
    restore_turns(own_turn);
    PyGILState_Release(attached); /* with the thread state, which runs finalizers: also unseen */
    return framed;
}
