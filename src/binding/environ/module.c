/* funcgraph._environ: builtin functions that replace those which start a program with an environment of
 * its own (posix.execve, posix.posix_spawn, _posixsubprocess.fork_exec ...). Each adds one variable to
 * that environment and calls the original. They are builtins so that no tracer, debugger or traceback
 * sees a frame of ours. They look like the originals: name, doc, signature, module, errors.
 *
 * Those that close descriptors keep one open, by which `funcgraph record --isolated` tells Pythons that heed
 * no environment (funcgraph/session/environ.py). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binding/base/critical_section.h"
#include "binding/base/slots.h"
#include "binding/environ/descriptor.h"

/* How a function receives or returns an environment. */
enum env_kind {
    ENV_MAPPING, /* argument: mapping of name to value */
    ENV_LIST,    /* argument: list of b"NAME=value", or None to inherit */
    ENV_RESULT,  /* result: dict of the C environment */
    ENV_CLEARED, /* empties the C environment; the variable must stay */
};

/* X(module, name, kind, position of the argument or -1, its keyword or NULL, what closes descriptors) */
#define CARRIERS(X)                                                                                          \
    X(posix, execve, ENV_MAPPING, 2, "env", NULL)                                                            \
    X(posix, posix_spawn, ENV_MAPPING, 2, NULL, &fg_close_actions)                                           \
    X(posix, posix_spawnp, ENV_MAPPING, 2, NULL, &fg_close_actions)                                          \
    X(posix, _create_environ, ENV_RESULT, -1, NULL, NULL)                                                    \
    X(posix, _clearenv, ENV_CLEARED, -1, NULL, NULL)                                                         \
    X(_posixsubprocess, fork_exec, ENV_LIST, 5, NULL, &fg_close_all)

enum carrier_index {
#define X(module, name, kind, position, keyword, closing) CARRIER_##name,
    CARRIERS(X)
#undef X
        NR_CARRIERS
};

struct carrier {
    const char *module;
    const char *name;
    enum env_kind kind;
    Py_ssize_t position;
    const char *keyword;
    const struct fg_closing *closing; /* NULL: it closes none */
    PyCFunction entry;
};

struct variable {
    PyObject *name;      /* bytes; NULL before set_variable */
    PyObject *name_text; /* the same as str: a mapping may use either */
    PyObject *value;     /* bytes; NULL: add nothing */
    PyObject *prefix;    /* bytes: name and '=' */
    PyObject *entry;     /* bytes: name, '=' and value; NULL if `value` is */
};

/* One per interpreter. */
struct environ_state {
    struct variable variable;         /* under the module's lock */
    int descriptor;                   /* that children keep open, under the same lock; -1: none */
    PyObject *originals[NR_CARRIERS]; /* NULL: not wrapped yet */
    PyObject *wrappers[NR_CARRIERS];
};

/* Key of this module in the interpreter's dict, where all functions find the state. A wrapper cannot use
 * its `self`, which is the original's module. */
static const char interpreter_key[] = "funcgraph._environ";

static PyObject *find_module(void)
{
    PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get());                /* borrowed */
    PyObject *module = dict == NULL ? NULL : PyDict_GetItemString(dict, interpreter_key); /* borrowed */
    if (module == NULL)
        PyErr_SetString(PyExc_RuntimeError, "the interpreter is shutting down");
    return module;
}

static struct environ_state *find_state(void)
{
    PyObject *module = find_module();
    return module == NULL ? NULL : PyModule_GetState(module);
}

static void variable_clear(struct variable *variable)
{
    Py_CLEAR(variable->name);
    Py_CLEAR(variable->name_text);
    Py_CLEAR(variable->value);
    Py_CLEAR(variable->prefix);
    Py_CLEAR(variable->entry);
}

/* New references to the current variable: another thread may replace the variable at any time. */
static struct variable variable_hold(PyObject *module)
{
    struct environ_state *state = PyModule_GetState(module);
    struct variable held;
    Py_BEGIN_CRITICAL_SECTION(module);
    held = state->variable;
    Py_XINCREF(held.name);
    Py_XINCREF(held.name_text);
    Py_XINCREF(held.value);
    Py_XINCREF(held.prefix);
    Py_XINCREF(held.entry);
    Py_END_CRITICAL_SECTION();
    return held;
}

/* Steals the references of `variable`. */
static void variable_replace(PyObject *module, struct variable variable)
{
    struct environ_state *state = PyModule_GetState(module);
    struct variable old;
    Py_BEGIN_CRITICAL_SECTION(module);
    old = state->variable;
    state->variable = variable;
    Py_END_CRITICAL_SECTION();
    variable_clear(&old);
}

/* Return: a new dict of what `env` holds and the variable. Or NULL without an exception: `env` has the
 * variable already, or the original does not accept it and will raise. Calls the same methods of `env` as
 * the original, in the same order (length, keys, values), so that os.environ runs the same Python
 * functions. */
static PyObject *extend_mapping(const struct variable *variable, PyObject *env)
{
    PyObject *keys = NULL, *values = NULL, *extended = NULL;
    if (PyDict_CheckExact(env)) {
        extended = PyDict_Copy(env);
    } else if (PyMapping_Check(env)) {
        Py_ssize_t size = PyMapping_Size(env);
        if (size >= 0 && (keys = PyMapping_Keys(env)) != NULL && (values = PyMapping_Values(env)) != NULL &&
            PyList_GET_SIZE(keys) == size && PyList_GET_SIZE(values) == size)
            extended = PyDict_New();
        for (Py_ssize_t i = 0; extended != NULL && i < size; i++) {
            if (PyDict_SetItem(extended, PyList_GET_ITEM(keys, i), PyList_GET_ITEM(values, i)) < 0)
                Py_CLEAR(extended);
        }
    }
    if (extended != NULL && (PyDict_Contains(extended, variable->name) != 0 ||
                             PyDict_Contains(extended, variable->name_text) != 0 ||
                             PyDict_SetItem(extended, variable->name, variable->value) < 0))
        Py_CLEAR(extended);
    Py_XDECREF(keys);
    Py_XDECREF(values);
    PyErr_Clear();
    return extended;
}

static int descriptor_get(PyObject *module)
{
    struct environ_state *state = PyModule_GetState(module);
    int descriptor;
    Py_BEGIN_CRITICAL_SECTION(module);
    descriptor = state->descriptor;
    Py_END_CRITICAL_SECTION();
    return descriptor;
}

static void descriptor_replace(PyObject *module, int descriptor)
{
    struct environ_state *state = PyModule_GetState(module);
    Py_BEGIN_CRITICAL_SECTION(module);
    state->descriptor = descriptor;
    Py_END_CRITICAL_SECTION();
}

/* As extend_mapping, for a list or tuple of b"NAME=value". */
static PyObject *extend_list(const struct variable *variable, PyObject *env)
{
    if (!PyList_CheckExact(env) && !PyTuple_CheckExact(env))
        return NULL;
    PyObject *extended = PySequence_List(env);
    for (Py_ssize_t i = 0; extended != NULL && i < PyList_GET_SIZE(extended); i++) {
        PyObject *item = PyList_GET_ITEM(extended, i);
        size_t prefix_bytes = (size_t)PyBytes_GET_SIZE(variable->prefix);
        if (PyBytes_Check(item) &&
            strncmp(PyBytes_AS_STRING(item), PyBytes_AS_STRING(variable->prefix), prefix_bytes) == 0)
            Py_CLEAR(extended);
    }
    if (extended != NULL && PyList_Append(extended, variable->entry) < 0)
        Py_CLEAR(extended);
    PyErr_Clear();
    return extended;
}

/* Return: the index in `args` of an argument with a position, a keyword or both; or -1. */
static Py_ssize_t find_argument(Py_ssize_t position, const char *keyword, Py_ssize_t nargs, PyObject *kwnames)
{
    if (position >= 0 && nargs > position)
        return position;
    for (Py_ssize_t i = 0; keyword != NULL && kwnames != NULL && i < PyTuple_GET_SIZE(kwnames); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), keyword) == 0)
            return nargs + i;
    }
    return -1;
}

/* An argument that is replaced for a call of the original. */
struct replacement {
    Py_ssize_t at;
    PyObject *value; /* NULL: the argument stays */
};

/* Return: `value` is NULL: the environment stays as it is, as in extend_mapping(). */
static struct replacement replace_environment(const struct carrier *carrier, const struct variable *variable,
                                              PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    struct replacement env = {find_argument(carrier->position, carrier->keyword, nargs, kwnames), NULL};
    if (env.at >= 0 && variable->value != NULL)
        env.value = carrier->kind == ENV_LIST ? extend_list(variable, args[env.at])
                                              : extend_mapping(variable, args[env.at]);
    return env;
}

/* Keeps the descriptor open in a child that gets the variable. A program that sets the variable itself starts
 * a child that is not to be traced. */
static struct replacement replace_closing(const struct carrier *carrier, int descriptor, PyObject *original,
                                          const struct replacement *env, PyObject *const *args,
                                          Py_ssize_t nargs, PyObject *kwnames)
{
    const struct fg_closing *closing = carrier->closing;
    struct replacement fds = {-1, NULL};
    bool gets_variable = env->value != NULL || (env->at >= 0 && args[env->at] == Py_None);
    if (descriptor < 0 || closing == NULL || !gets_variable)
        return fds;
    fds.at = find_argument(closing->position, closing->keyword, nargs, kwnames);
    if (fds.at >= 0)
        fds.value = closing->spare(PyCFunction_GetSelf(original), args[fds.at], descriptor);
    return fds;
}

/* Calls `original` with `args`, some of which are replaced. */
static PyObject *call_with(PyObject *original, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                           const struct replacement *env, const struct replacement *fds)
{
    if (env->value == NULL && fds->value == NULL)
        return PyObject_Vectorcall(original, args, (size_t)nargs, kwnames);
    size_t total = (size_t)nargs + (kwnames == NULL ? 0 : (size_t)PyTuple_GET_SIZE(kwnames));
    PyObject **changed = PyMem_Malloc(total * sizeof *changed);
    if (changed == NULL)
        return PyErr_NoMemory();
    memcpy(changed, args, total * sizeof *changed);
    if (env->value != NULL)
        changed[env->at] = env->value;
    if (fds->value != NULL)
        changed[fds->at] = fds->value;
    PyObject *result = PyObject_Vectorcall(original, changed, (size_t)nargs, kwnames);
    PyMem_Free(changed);
    return result;
}

/* After the call of the original. */
static void follow_up(const struct carrier *carrier, const struct variable *variable, PyObject *result)
{
    if (carrier->kind == ENV_RESULT && PyDict_Check(result) && variable->name != NULL &&
        PyDict_DelItem(result, variable->name) < 0)
        PyErr_Clear(); /* absent */
    if (carrier->kind == ENV_CLEARED && variable->value != NULL)
        setenv(PyBytes_AS_STRING(variable->name), PyBytes_AS_STRING(variable->value), 1);
}

static PyObject *carry(const struct carrier *carrier, enum carrier_index index, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *module = find_module();
    if (module == NULL)
        return NULL;
    struct environ_state *state = PyModule_GetState(module);
    struct variable variable = variable_hold(module);
    /* A reference for the call: Python code that it runs may unwrap the function. */
    PyObject *original = Py_NewRef(state->originals[index]);
    struct replacement env = replace_environment(carrier, &variable, args, nargs, kwnames);
    struct replacement fds =
        replace_closing(carrier, descriptor_get(module), original, &env, args, nargs, kwnames);
    PyObject *result = call_with(original, args, nargs, kwnames, &env, &fds);
    Py_XDECREF(env.value);
    Py_XDECREF(fds.value);
    if (result != NULL)
        follow_up(carrier, &variable, result);
    variable_clear(&variable);
    Py_DECREF(original);
    return result;
}

static const struct carrier carriers[NR_CARRIERS];

#define X(module, name, kind, position, keyword, closing)                                                    \
    static PyObject *carry_##name(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs,        \
                                  PyObject *kwnames)                                                         \
    {                                                                                                        \
        return carry(&carriers[CARRIER_##name], CARRIER_##name, args, nargs, kwnames);                       \
    }
CARRIERS(X)
#undef X

static const struct carrier carriers[NR_CARRIERS] = {
#define X(module, name, kind, position, keyword, closing)                                                    \
    {#module, #name, kind, position, keyword, closing, (PyCFunction)(void (*)(void))carry_##name},
    CARRIERS(X)
#undef X
};

/* Return: the index of the carrier whose original or wrapper `function` is; -1 if there is none; -2 with
 * an exception. */
static int find_carrier(struct environ_state *state, PyObject *function)
{
    for (int i = 0; i < NR_CARRIERS; i++) {
        if (function == state->wrappers[i] || function == state->originals[i])
            return i;
    }
    if (!PyCFunction_CheckExact(function))
        return -1;
    PyObject *module_name = PyObject_GetAttrString(function, "__module__");
    if (module_name == NULL)
        return -2;
    const char *name = ((PyCFunctionObject *)function)->m_ml->ml_name;
    int found = -1;
    for (int i = 0; PyUnicode_Check(module_name) && i < NR_CARRIERS; i++) {
        if (strcmp(name, carriers[i].name) == 0 &&
            PyUnicode_CompareWithASCIIString(module_name, carriers[i].module) == 0)
            found = i;
    }
    Py_DECREF(module_name);
    return found;
}

static PyObject *make_wrapper(const struct carrier *carrier, PyCFunctionObject *original)
{
    /* Never freed: a builtin reads its method table while it is deallocated, which may be after this
     * module is gone. There is one table for each carrier and interpreter. */
    PyMethodDef *method = PyMem_RawCalloc(1, sizeof *method);
    if (method == NULL)
        return PyErr_NoMemory();
    method->ml_name = carrier->name;
    method->ml_meth = carrier->entry;
    method->ml_flags = METH_FASTCALL | METH_KEYWORDS;
    method->ml_doc = original->m_ml->ml_doc; /* also the text signature */
    return PyCFunction_NewEx(method, original->m_self, original->m_module);
}

PyDoc_STRVAR(wrap_doc,
             "wrap($module, function, /)\n--\n\n"
             "Return the builtin that adds the variable and calls `function`; the same object each time.\n\n"
             "ValueError: `function` does not start a program with an environment of its own.");

static PyObject *environ_wrap(PyObject *Py_UNUSED(module), PyObject *function)
{
    struct environ_state *state = find_state();
    if (state == NULL)
        return NULL;
    int index = find_carrier(state, function);
    if (index == -1)
        PyErr_Format(PyExc_ValueError, "%R does not start a program with an environment of its own",
                     function);
    if (index < 0)
        return NULL;
    if (state->wrappers[index] == NULL) {
        PyObject *wrapper = make_wrapper(&carriers[index], (PyCFunctionObject *)function);
        if (wrapper == NULL)
            return NULL;
        state->originals[index] = Py_NewRef(function);
        state->wrappers[index] = wrapper;
    }
    return Py_NewRef(state->wrappers[index]);
}

PyDoc_STRVAR(original_doc,
             "original($module, function, /)\n--\n\n"
             "Return the function that `function` wraps, or `function` itself if it is not a wrapper.");

static PyObject *environ_original(PyObject *Py_UNUSED(module), PyObject *function)
{
    struct environ_state *state = find_state();
    if (state == NULL)
        return NULL;
    for (int i = 0; i < NR_CARRIERS; i++) {
        if (function == state->wrappers[i])
            return Py_NewRef(state->originals[i]);
    }
    return Py_NewRef(function);
}

PyDoc_STRVAR(set_variable_doc,
             "set_variable($module, name, value, /)\n--\n\n"
             "Set the variable (bytes, bytes) that the wrappers add. A value of None: they add nothing.");

static PyObject *environ_set_variable(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *module = find_module();
    PyObject *name, *value;
    if (module == NULL || !PyArg_ParseTuple(args, "SO:set_variable", &name, &value))
        return NULL;
    if (value != Py_None && !PyBytes_Check(value))
        return PyErr_Format(PyExc_TypeError, "value must be bytes or None, not %s", Py_TYPE(value)->tp_name);

    const char *text = PyBytes_AS_STRING(name);
    struct variable variable = {
        .name = Py_NewRef(name),
        .name_text = PyUnicode_DecodeFSDefault(text),
        .value = value == Py_None ? NULL : Py_NewRef(value),
        .prefix = PyBytes_FromFormat("%s=", text),
        .entry = value == Py_None ? NULL : PyBytes_FromFormat("%s=%s", text, PyBytes_AS_STRING(value)),
    };
    if (variable.name_text == NULL || variable.prefix == NULL ||
        (value != Py_None && variable.entry == NULL)) {
        variable_clear(&variable);
        return NULL;
    }
    variable_replace(module, variable);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(is_secure_doc,
             "is_secure($module, /)\n--\n\n"
             "Return whether this process got more rights at its exec than who started it (AT_SECURE).");

static PyObject *environ_is_secure(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(getauxval(AT_SECURE) != 0);
}

PyDoc_STRVAR(read_sealed_doc,
             "read_sealed($module, descriptor, /)\n--\n\n"
             "Return the contents of a sealed memfd that root or this process's user made; None: the\n"
             "descriptor is none.");

#define MOST_SEALED_BYTES 65536

static PyObject *environ_read_sealed(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct stat status;
    int fd;
    if (!PyArg_ParseTuple(args, "i:read_sealed", &fd))
        return NULL;
    /* A setuid program that executes a Python passes on descriptors, too, of whoever started it. */
    if (fstat(fd, &status) < 0 || (status.st_uid != 0 && status.st_uid != geteuid()) ||
        status.st_size > MOST_SEALED_BYTES || !fg_is_sealed(fd))
        Py_RETURN_NONE;
    PyObject *contents = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)status.st_size);
    if (contents != NULL &&
        pread(fd, PyBytes_AS_STRING(contents), (size_t)status.st_size, 0) != (ssize_t)status.st_size) {
        Py_DECREF(contents);
        Py_RETURN_NONE;
    }
    return contents;
}

PyDoc_STRVAR(set_descriptor_doc, "set_descriptor($module, descriptor, /)\n--\n\n"
                                 "Set the descriptor that the wrappers keep open for children; -1: none.");

static PyObject *environ_set_descriptor(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *module = find_module();
    int fd;
    if (module == NULL || !PyArg_ParseTuple(args, "i:set_descriptor", &fd))
        return NULL;
    descriptor_replace(module, fd);
    Py_RETURN_NONE;
}

static PyMethodDef environ_methods[] = {
    {"is_secure", environ_is_secure, METH_NOARGS, is_secure_doc},
    {"read_sealed", environ_read_sealed, METH_VARARGS, read_sealed_doc},
    {"set_descriptor", environ_set_descriptor, METH_VARARGS, set_descriptor_doc},
    {"set_variable", environ_set_variable, METH_VARARGS, set_variable_doc},
    {"wrap", environ_wrap, METH_O, wrap_doc},
    {"original", environ_original, METH_O, original_doc},
    {NULL, NULL, 0, NULL},
};

static int environ_exec(PyObject *module)
{
    struct environ_state *state = PyModule_GetState(module);
    state->descriptor = -1;
    PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
    if (dict == NULL) {
        PyErr_SetString(PyExc_ImportError, "the interpreter has no dict for extensions");
        return -1;
    }
    /* A second import (after sys.modules was cleared) uses the state of the first, as the wrappers do. */
    if (PyDict_GetItemString(dict, interpreter_key) != NULL)
        return 0;
    return PyDict_SetItemString(dict, interpreter_key, module);
}

static int environ_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct environ_state *state = PyModule_GetState(module);
    Py_VISIT(state->variable.name);
    Py_VISIT(state->variable.name_text);
    Py_VISIT(state->variable.value);
    Py_VISIT(state->variable.prefix);
    Py_VISIT(state->variable.entry);
    for (int i = 0; i < NR_CARRIERS; i++) {
        Py_VISIT(state->originals[i]);
        Py_VISIT(state->wrappers[i]);
    }
    return 0;
}

static int environ_clear(PyObject *module)
{
    struct environ_state *state = PyModule_GetState(module);
    variable_clear(&state->variable);
    for (int i = 0; i < NR_CARRIERS; i++) {
        Py_CLEAR(state->originals[i]);
        Py_CLEAR(state->wrappers[i]);
    }
    return 0;
}

static void environ_free(void *module)
{
    environ_clear(module);
}

static PyModuleDef_Slot environ_slots[] = {
    {Py_mod_exec, environ_exec},
    FG_LAST_SLOTS,
};

static struct PyModuleDef environ_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._environ",
    .m_doc =
        "Builtins that pass one environment variable on to programs that are started with an environment "
        "of their own.",
    .m_size = sizeof(struct environ_state),
    .m_methods = environ_methods,
    .m_slots = environ_slots,
    .m_traverse = environ_traverse,
    .m_clear = environ_clear,
    .m_free = environ_free,
};

PyMODINIT_FUNC PyInit__environ(void)
{
    return PyModuleDef_Init(&environ_module);
}
