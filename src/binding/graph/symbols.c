/* Finding functions, called or not: by pattern, by whole name, by object. */
#include "binding/base/binding.h"

#include <errno.h>
#include <string.h>

#include "arch/cpython/read/symbols.h"
#include "binding/base/registration.h"

/* This interpreter, or NULL with an exception. */
static struct fg_interp *interp_of(PyObject *module)
{
    if (!fg_engine_state(module)->is_closing)
        return fg_engine_here();
    PyErr_SetString(PyExc_RuntimeError, "the interpreter is ending: no function is looked for any more");
    return NULL;
}

/* What one of the searches here finds; a list, or NULL with an exception. */
struct search {
    struct fg_engine_state *state;
    struct fg_filter filter; /* its sets `filter` and `notrace` */
    bool takes_all;
    PyObject *list;
};

/* Takes over the reference. */
static void append(struct search *search, PyObject *object)
{
    if (!object || PyList_Append(search->list, object) != 0)
        Py_CLEAR(search->list);
    Py_XDECREF(object);
}

/* Globs are not for C functions: a program hears their calls only if it names them. */
static bool matches(const char *name, const char *module, bool is_c, void *arg)
{
    const struct search *search = arg;
    const struct fg_patterns *sets = search->filter.sets;

    if (!search->list || fg_patterns_match(&sets[FGRAPH_NOTRACE], name, module))
        return false;
    return search->takes_all || (is_c ? fg_patterns_has_name(&sets[FGRAPH_FILTER], name)
                                      : fg_patterns_match(&sets[FGRAPH_FILTER], name, module));
}

static void append_function(struct fg_func *func, void *arg)
{
    struct search *search = arg;

    if (search->list)
        append(search, fg_function_of(search->state, func));
}

/* Only the name is wanted: no record is made. */
static bool append_name(const char *name, const char *module, bool is_c, void *arg)
{
    struct search *search = arg;

    if (matches(name, module, is_c, arg))
        append(search, PyUnicode_FromString(name));
    return false;
}

static unsigned kinds_of(const struct search *search)
{
    bool may_be_c = search->takes_all || search->filter.sets[FGRAPH_FILTER].nr_names;

    return FG_SYMBOLS_PYTHON | (may_be_c ? FG_SYMBOLS_C : 0);
}

/* The list of what `query` finds. The exception of a search that failed is lost in it: memory was short. */
static PyObject *run(PyObject *module, struct search *search, struct fg_symbols_query query)
{
    struct fg_interp *interp = interp_of(module);

    search->state = fg_engine_state(module);
    search->list = interp ? PyList_New(0) : NULL;
    if (!search->list)
        return NULL;
    query.kinds = kinds_of(search);
    query.arg = search;
    if (fg_symbols_meet(interp, &query) < 0)
        Py_CLEAR(search->list);
    return search->list ? search->list : PyErr_NoMemory();
}

/* -1 with an exception: a sequence of patterns it is not. */
static int add_patterns(struct search *search, enum fgraph_filter_set set, PyObject *sequence,
                        const char *what)
{
    PyObject *patterns = fg_pattern_tuple(sequence, what);
    int error = patterns ? fg_filter_add_tuple(&search->filter, set, patterns) : -1;

    Py_XDECREF(patterns);
    return error;
}

PyObject *fg_find_functions(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"patterns", "notpatterns", NULL};
    struct search search = {.takes_all = false};
    PyObject *patterns, *notpatterns = NULL, *list = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:find_functions", names, &patterns, &notpatterns))
        return NULL;
    if (add_patterns(&search, FGRAPH_FILTER, patterns, names[0]) == 0 &&
        (!notpatterns || add_patterns(&search, FGRAPH_NOTRACE, notpatterns, names[1]) == 0))
        list = run(module, &search, (struct fg_symbols_query){.wants = matches, .found = append_function});
    fg_filter_clear(&search.filter);
    return list;
}

PyObject *fg_function_names(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"patterns", NULL};
    PyObject *patterns = Py_None, *list = NULL;
    struct search search = {.takes_all = false};

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:function_names", names, &patterns))
        return NULL;
    search.takes_all = patterns == Py_None;
    if (search.takes_all || add_patterns(&search, FGRAPH_FILTER, patterns, names[0]) == 0)
        list = run(module, &search, (struct fg_symbols_query){.wants = append_name});
    fg_filter_clear(&search.filter);
    return list;
}

/* ---- whole names: not patterns, for a name may have what is special in those */

struct naming {
    struct fg_engine_state *state;
    PyObject *names; /* dict: name -> list of its functions */
    bool has_failed;
};

static PyObject *functions_of(const struct naming *naming, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *list = key ? PyDict_GetItemWithError(naming->names, key) : NULL; /* the dict is ours alone */

    Py_XDECREF(key);
    PyErr_Clear(); /* a name that is none in UTF-8 is nobody's */
    return list;
}

static bool is_named(const char *name, const char *Py_UNUSED(module), bool Py_UNUSED(is_c), void *arg)
{
    return functions_of(arg, name);
}

static void add_to_name(struct fg_func *func, void *arg)
{
    struct naming *naming = arg;
    PyObject *list = functions_of(naming, func->name);
    PyObject *function = fg_function_of(naming->state, func);

    if (!list || !function || PyList_Append(list, function) != 0)
        naming->has_failed = true;
    Py_XDECREF(function);
}

/* {name: []}, in the order given. */
static PyObject *empty_lists(PyObject *names)
{
    PyObject *tuple = fg_pattern_tuple(names, "names");
    PyObject *dict = tuple ? PyDict_New() : NULL;

    for (Py_ssize_t i = 0; dict && i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *list = PyList_New(0);

        if (!list || PyDict_SetItem(dict, PyTuple_GET_ITEM(tuple, i), list) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(list);
    }
    Py_XDECREF(tuple);
    return dict;
}

PyObject *fg_functions_named(PyObject *module, PyObject *names)
{
    struct fg_interp *interp = interp_of(module);
    struct naming naming = {.state = fg_engine_state(module), .names = interp ? empty_lists(names) : NULL};
    struct fg_symbols_query query = {
        .kinds = FG_SYMBOLS_PYTHON | FG_SYMBOLS_C, .wants = is_named, .found = add_to_name, .arg = &naming};

    if (!naming.names)
        return NULL;
    if (fg_symbols_meet(interp, &query) >= 0 && !naming.has_failed)
        return naming.names;
    Py_DECREF(naming.names);
    return PyErr_NoMemory();
}

/* ---- one function */

static PyObject *raise_no_function(PyObject *callable)
{
    if (PyCode_Check(callable))
        return PyErr_Format(PyExc_ValueError, "no function has %R", callable);
    return PyErr_Format(PyExc_TypeError,
                        "a Python function, method or code object, or a C function, is needed, not %.100s",
                        Py_TYPE(callable)->tp_name);
}

PyObject *fg_function_of_callable(PyObject *module, PyObject *callable)
{
    struct fg_engine_state *state = fg_engine_state(module);
    struct fg_interp *interp;
    struct fg_func *func;

    if (Py_IS_TYPE(callable, state->function_type))
        return Py_NewRef(callable);
    interp = interp_of(module);
    func = interp ? fg_symbols_func_of(interp, callable) : NULL;
    if (!interp)
        return NULL;
    return func ? fg_function_of(state, func) : raise_no_function(callable);
}
