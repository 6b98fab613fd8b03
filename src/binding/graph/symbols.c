/* See symbols.h. */
#include "binding/graph/symbols.h"

#include <errno.h>
#include <string.h>

#include "arch/cpython/read/symbols.h"
#include "arch/cpython/register/fprobes.h"
#include "arch/cpython/register/users.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/core/filter.h"
#include "binding/core/state.h"
#include "binding/graph/function.h"

/* This interpreter, or NULL with an exception. */
static struct fg_interp *interp_of(PyObject *module)
{
    if (fg_engine_check_open(fg_engine_state(module), "functions can no longer be looked up") != 0)
        return NULL;
    return fg_engine_here();
}

/* A search; `list` is NULL after an error. */
struct search {
    struct fg_engine_state *state;
    struct fg_fprobe_filter filter;
    bool takes_all;
    PyObject *list;
};

static bool matches(const char *name, const char *module, bool is_c, void *arg)
{
    const struct search *search = arg;

    return search->list &&
           (search->takes_all || fg_fprobe_filter_matches(&search->filter, name, module, is_c));
}

static void append_function(struct fg_func *func, void *arg)
{
    struct search *search = arg;

    if (search->list)
        fg_list_append(&search->list, fg_function_of(search->state, func));
}

/* Answers false, so that no record is made: the search wants names only. */
static bool append_name(const char *name, const char *module, bool is_c, void *arg)
{
    struct search *search = arg;

    if (matches(name, module, is_c, arg))
        fg_list_append(&search->list, PyUnicode_FromString(name));
    return false;
}

static Py_ssize_t meet(struct fg_interp *interp, struct search *search, struct fg_symbols_query query)
{
    query.kinds = FG_SYMBOLS_PYTHON | FG_SYMBOLS_C;
    query.arg = search;
    return search->takes_all ? fg_symbols_meet(interp, &query)
                             : fg_fprobe_filter_meet(interp, &search->filter, query);
}

/* The list of what `query` finds. A search that failed lost its exception: memory was short. */
static PyObject *run(PyObject *module, struct search *search, struct fg_symbols_query query)
{
    struct fg_interp *interp = interp_of(module);

    search->state = fg_engine_state(module);
    search->list = interp ? PyList_New(0) : NULL;
    if (!search->list)
        return NULL;
    if (meet(interp, search, query) < 0)
        Py_CLEAR(search->list);
    return search->list ? search->list : PyErr_NoMemory();
}

PyObject *fg_find_functions(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"patterns", "notpatterns", NULL};
    struct search search = {.takes_all = false};
    PyObject *patterns, *notpatterns = NULL, *list = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:find_functions", names, &patterns, &notpatterns))
        return NULL;
    if (fg_fprobe_filter_fill(&search.filter, patterns, names[0], notpatterns, names[1]) == 0)
        list = run(module, &search, (struct fg_symbols_query){.wants = matches, .found = append_function});
    fg_fprobe_filter_clear(&search.filter);
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
    if (search.takes_all || fg_fprobe_filter_fill(&search.filter, patterns, names[0], NULL, NULL) == 0)
        list = run(module, &search, (struct fg_symbols_query){.wants = append_name});
    fg_fprobe_filter_clear(&search.filter);
    return list;
}

/* ---- whole names, which may have characters that are special in patterns */

struct naming {
    struct fg_engine_state *state;
    PyObject *names; /* dict: name -> list of its functions */
    bool has_failed;
};

static PyObject *functions_of(const struct naming *naming, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *list = key ? PyDict_GetItemWithError(naming->names, key) : NULL; /* nobody else has the dict */

    Py_XDECREF(key);
    PyErr_Clear(); /* a name that is not UTF-8 was not asked for */
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

/* A dict of each name to an empty list, in the order given. */
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

/* Names without UTF-8 are names of no function. Return: 0, or -ENOMEM. */
static int add_tails(struct fg_name_tails *tails, PyObject *names)
{
    PyObject *name;
    Py_ssize_t at = 0;
    int error = 0;

    while (!error && PyDict_Next(names, &at, &name, NULL)) {
        const char *text = PyUnicode_AsUTF8(name);

        if (text)
            error = fg_name_tails_add(tails, text);
        else
            PyErr_Clear();
    }
    return error;
}

static Py_ssize_t meet_named(struct fg_interp *interp, struct naming *naming)
{
    struct fg_name_tails tails = {.last_characters = 0};
    struct fg_symbols_query query = {.kinds = FG_SYMBOLS_PYTHON | FG_SYMBOLS_C,
                                     .wants = is_named,
                                     .found = add_to_name,
                                     .arg = naming,
                                     .python_names = &tails,
                                     .c_names = &tails};
    Py_ssize_t count = add_tails(&tails, naming->names);

    if (!count)
        count = fg_symbols_meet(interp, &query);
    fg_name_tails_clear(&tails);
    return count;
}

PyObject *fg_functions_named(PyObject *module, PyObject *names)
{
    struct fg_interp *interp = interp_of(module);
    struct naming naming = {.state = fg_engine_state(module), .names = interp ? empty_lists(names) : NULL};

    if (!naming.names)
        return NULL;
    if (meet_named(interp, &naming) >= 0 && !naming.has_failed)
        return naming.names;
    Py_DECREF(naming.names);
    return PyErr_NoMemory();
}

/* ---- one function */

static PyObject *raise_no_function(PyObject *callable)
{
    if (PyCode_Check(callable))
        return PyErr_Format(PyExc_ValueError, "no function has the code %R", callable);
    return fg_raise_type("callable", "a Python function, method or code object, or a C function", callable);
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
