/* Finding all functions of an interpreter.
 *
 * The garbage collector knows all function objects and C functions. The constants of a function's code
 * contain the code of the functions defined in it: closures, and methods of a class whose body has not
 * run. Code that is running belongs to a function object which is alive meanwhile. So the body of a
 * module that is being imported is found too, and a generator that no variable refers to any longer. */
#include "arch/cpython/read/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/gc.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/read/cfunction.h"
#include "arch/cpython/read/code.h"
#include "engine/core/array.h"
#include "engine/core/hash_table.h"
#include "engine/core/pattern.h"
#include "engine/core/public.h"
#include "engine/ring/ring_layout.h"

struct symbol {
    const void *key;    /* identifies the function: its code object, or the C function's PyMethodDef */
    PyObject *callable; /* the code object, or the C function */
    PyObject *module;   /* the module's name, or globals that may have it; NULL: no module */
};

/* Each symbol once, in the order in which they were found. */
struct symbols {
    struct symbol *items;
    size_t n, capacity;
    struct fg_hash_table by_key; /* 1 + the index of the symbol */
    unsigned kinds;
    bool has_failed; /* an allocation failed */
    char *name;      /* buffer for join() */
    size_t name_capacity;
};

/* Takes its own references. Runs while the collector's lists are being walked, so it calls nothing that
 * could make or free objects. */
static void add(struct symbols *symbols, const void *key, PyObject *callable, PyObject *module)
{
    uint64_t hash = fg_hash_pointer(key);

    if (symbols->has_failed || fg_hash_find(&symbols->by_key, hash))
        return;
    if (fg_array_reserve(&symbols->items, &symbols->capacity, symbols->n + 1) != 0 ||
        fg_hash_add(&symbols->by_key, hash, symbols->n + 1) != 0) {
        symbols->has_failed = true;
        return;
    }
    symbols->items[symbols->n++] = (struct symbol){key, Py_NewRef(callable), Py_XNewRef(module)};
}

static void add_code(struct symbols *symbols, PyObject *code, PyObject *module)
{
    add(symbols, code, code, module);
}

static int add_object(PyObject *object, void *arg)
{
    struct symbols *symbols = arg;
    const PyMethodDef *definition = NULL;

    if (fg_is_function(object)) {
        if (symbols->kinds & FG_SYMBOLS_PYTHON)
            add_code(symbols, PyFunction_GET_CODE(object), PyFunction_GET_GLOBALS(object));
    } else if (symbols->kinds & FG_SYMBOLS_C) {
        definition = fg_cfunction_definition(object);
    }
    if (definition)
        add(symbols, definition, object, NULL);
    return 1;
}

static void add_nested(struct symbols *symbols, const PyCodeObject *code, PyObject *module)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *constant = PyTuple_GET_ITEM(code->co_consts, i);

        if (PyCode_Check(constant))
            add_code(symbols, constant, module);
    }
}

static void forget(struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->n; i++) {
        Py_DECREF(symbols->items[i].callable);
        Py_XDECREF(symbols->items[i].module);
    }
    free(symbols->items);
    fg_hash_clear(&symbols->by_key);
    free(symbols->name);
}

static bool is_c(const struct symbol *symbol)
{
    return symbol->key != symbol->callable;
}

/* Writes "module.qualname" into symbols->name; valid until the next call. Return: NULL if memory is
 * short. */
static const char *join(struct symbols *symbols, const char *module, const char *qualname)
{
    size_t bytes = strlen(module) + strlen(qualname) + 2;

    if (fg_array_reserve(&symbols->name, &symbols->name_capacity, bytes) != 0)
        return NULL;
    snprintf(symbols->name, bytes, "%s.%s", module, qualname);
    return symbols->name;
}

/* Replaces the globals of a symbol by the name of their module. The symbols that follow mostly have the
 * same globals, so they are done in the same step. */
static void find_module(struct symbols *symbols, size_t at)
{
    PyObject *from = symbols->items[at].module, *module;

    if (!from || PyUnicode_CheckExact(from))
        return;
    module = fg_code_module(from);
    for (size_t i = at; i < symbols->n && symbols->items[i].module == from; i++) {
        symbols->items[i].module = Py_XNewRef(module);
        Py_DECREF(from);
    }
    Py_XDECREF(module);
}

/* The name of a symbol, as its function record has it or will have it. */
struct symbol_name {
    const char *name, *module;
    struct fg_func *func; /* NULL: no record yet */
    struct fg_cfunction_name c;
};

static void name_code(struct symbols *symbols, const struct symbol *symbol, struct symbol_name *out)
{
    const PyCodeObject *code = (PyCodeObject *)symbol->callable;
    struct fg_code_name name = fg_code_name(code, symbol->module);

    out->module = name.module;
    out->name = join(symbols, name.module, name.qualname);
}

static void name_c(struct symbols *symbols, const struct symbol *symbol, struct symbol_name *out)
{
    fg_cfunction_name(symbol->callable, &out->c);
    out->module = out->c.module;
    out->name = join(symbols, out->c.module, out->c.qualname);
}

/* Return: false if memory is short. */
static bool name_symbol(struct fg_interp *interp, struct symbols *symbols, const struct symbol *symbol,
                        struct symbol_name *out)
{
    out->func = is_c(symbol) ? fg_cfunction_known(interp, symbol->key)
                             : fg_code_func((PyCodeObject *)symbol->callable);
    if (out->func) {
        out->name = out->func->name;
        out->module = out->func->module;
    } else if (is_c(symbol)) {
        name_c(symbols, symbol, out);
    } else {
        name_code(symbols, symbol, out);
    }
    return out->name;
}

static struct fg_func *record_of(struct fg_interp *interp, const struct symbol *symbol)
{
    return is_c(symbol) ? fg_cfunction_func(interp, symbol->callable)
                        : fg_code_meet((PyCodeObject *)symbol->callable, symbol->module);
}

/* Return: 1: the query wants the function, and it has a record now; 0: not wanted; or -ENOMEM. */
static int ask(struct fg_interp *interp, struct symbols *symbols, const struct symbol *symbol,
               const struct fg_symbols_query *query)
{
    struct symbol_name name;

    if (!name_symbol(interp, symbols, symbol, &name))
        return -ENOMEM;
    /* Frozen modules' code may belong to another interpreter's function (3.11). */
    if ((name.func && fg_func_interp(name.func) != interp) ||
        !query->wants(name.name, name.module, is_c(symbol), query->arg))
        return 0;
    if (!name.func)
        name.func = record_of(interp, symbol);
    if (name.func && query->found)
        query->found(name.func, query->arg);
    return name.func ? 1 : -ENOMEM;
}

static Py_ssize_t ask_all(struct fg_interp *interp, struct symbols *symbols,
                          const struct fg_symbols_query *query)
{
    Py_ssize_t count = 0;

    for (size_t i = 0; i < symbols->n && !symbols->has_failed; i++) {
        struct symbol symbol;
        int answer;

        if (!is_c(&symbols->items[i])) {
            find_module(symbols, i);
            add_nested(symbols, (PyCodeObject *)symbols->items[i].callable, symbols->items[i].module);
        }
        symbol = symbols->items[i];
        answer = ask(interp, symbols, &symbol, query);
        if (answer < 0)
            return answer;
        count += answer;
    }
    return symbols->has_failed ? -ENOMEM : count;
}

Py_ssize_t fg_symbols_meet(struct fg_interp *interp, const struct fg_symbols_query *query)
{
    fg_exception aside = fg_exception_set_aside();
    struct symbols symbols = {.kinds = query->kinds};
    Py_ssize_t count;

    fg_visit_objects(add_object, &symbols);
    count = ask_all(interp, &symbols, query);
    forget(&symbols);
    fg_exception_put_back(aside);
    return count;
}

/* ---- C functions that a filter names */

static const enum fgraph_filter_set naming_sets[] = {FGRAPH_FILTER, FGRAPH_GRAPH, FGRAPH_GRAPH_NOTRACE};
#define NR_NAMING_SETS (sizeof(naming_sets) / sizeof(naming_sets[0]))

static bool is_named(const char *name, const char *Py_UNUSED(module), bool Py_UNUSED(is_c), void *arg)
{
    const struct fg_filter *filter = arg;

    for (size_t i = 0; i < NR_NAMING_SETS; i++) {
        if (fg_patterns_has_name(&filter->sets[naming_sets[i]], name))
            return true;
    }
    return false;
}

/* True if a prefix of @name is an imported module. No other name can be a C function's now. */
static bool could_be(const char *name)
{
    PyObject *modules = PySys_GetObject("modules");
    bool is_loaded = !modules || !PyDict_CheckExact(modules);

    for (const char *dot = strchr(name, '.'); dot && !is_loaded; dot = strchr(dot + 1, '.')) {
        PyObject *prefix = PyUnicode_DecodeUTF8(name, dot - name, "replace");
        PyObject *module = prefix ? fg_dict_get_item(modules, prefix) : NULL;

        is_loaded = module != NULL;
        Py_XDECREF(module);
        Py_XDECREF(prefix);
    }
    PyErr_Clear();
    return is_loaded;
}

int fg_symbols_meet_named_c(struct fg_interp *interp, const struct fg_filter *filter)
{
    struct fg_symbols_query query = {
        .kinds = FG_SYMBOLS_C, .wants = is_named, .arg = (void *)(uintptr_t)filter};
    fg_exception aside = fg_exception_set_aside();
    bool any = false;

    for (size_t i = 0; i < NR_NAMING_SETS && !any; i++)
        any = fg_func_any_unknown(interp, &filter->sets[naming_sets[i]], could_be);
    fg_exception_put_back(aside);
    return any && fg_symbols_meet(interp, &query) < 0 ? -ENOMEM : 0;
}

/* ---- the record of one callable */

/* A code object does not know its module. Search for the function that has the code, or for the code in
 * which it is nested. */
static struct fg_func *func_of_code(struct fg_interp *interp, PyObject *code)
{
    struct fg_func *func = fg_code_func((PyCodeObject *)code);
    struct symbols symbols = {.kinds = FG_SYMBOLS_PYTHON};

    if (func)
        return func;
    fg_visit_objects(add_object, &symbols);
    for (size_t i = 0; !func && i < symbols.n && !symbols.has_failed; i++) {
        find_module(&symbols, i);
        add_nested(&symbols, (PyCodeObject *)symbols.items[i].callable, symbols.items[i].module);
        if (symbols.items[i].key == code)
            func = record_of(interp, &symbols.items[i]);
    }
    forget(&symbols);
    return func;
}

static struct fg_func *func_of_function(PyObject *function)
{
    PyObject *module = fg_code_module(PyFunction_GET_GLOBALS(function));
    struct fg_func *func = fg_code_meet((PyCodeObject *)PyFunction_GET_CODE(function), module);

    Py_XDECREF(module);
    return func;
}

/* The function inside a bound, static or class method. Reads only attributes of exact built-in types.
 * New reference, or NULL. */
static PyObject *wrapped(PyObject *callable)
{
    if (Py_IS_TYPE(callable, &PyMethod_Type))
        return Py_NewRef(PyMethod_GET_FUNCTION(callable));
    if (Py_IS_TYPE(callable, &PyStaticMethod_Type) || Py_IS_TYPE(callable, &PyClassMethod_Type))
        return PyObject_GetAttrString(callable, "__func__");
    return NULL;
}

static struct fg_func *func_of(struct fg_interp *interp, PyObject *callable)
{
    PyObject *inner;
    struct fg_func *func;

    if (fg_is_function(callable))
        return func_of_function(callable);
    if (PyCode_Check(callable))
        return func_of_code(interp, callable);
    if (fg_cfunction_definition(callable))
        return fg_cfunction_func(interp, callable);
    inner = wrapped(callable);
    func = inner ? func_of(interp, inner) : NULL;
    Py_XDECREF(inner);
    return func;
}

struct fg_func *fg_symbols_func_of(struct fg_interp *interp, PyObject *callable)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_func *func = func_of(interp, callable);

    fg_exception_put_back(aside);
    return func && fg_func_interp(func) == interp ? func : NULL;
}
