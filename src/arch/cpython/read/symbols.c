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
#include "arch/cpython/read/cfunction_table.h"
#include "arch/cpython/read/code.h"
#include "engine/base/array.h"
#include "engine/base/hash_table.h"
#include "engine/core/pattern.h"
#include "engine/core/public.h"
#include "engine/ring/ring_layout.h"

struct symbol {
    const void *key;    /* identifies the function: its code object, or the C function's PyMethodDef */
    PyObject *callable; /* the code object, or the C function */
    PyObject *globals;  /* they may have the module's name; NULL: a C function */
};

enum kind { KIND_OTHER, KIND_FUNCTION, KIND_C };

/* What objects of a type are. Most objects of a process are of a few types, and to tell whether a type is
 * a subtype of another takes a walk over its bases. */
struct known_type {
    const PyTypeObject *type;
    enum kind kind;
};

#define NR_KNOWN_TYPES 128u

/* Each symbol once, in the order in which they were found. */
struct symbols {
    struct symbol *items;
    size_t n, capacity;
    struct fg_hash_table by_key; /* 1 + the index of the symbol */
    const struct fg_symbols_query *query;
    bool has_failed; /* an allocation failed */
    char *name;      /* buffer for join() */
    size_t name_capacity;
    PyObject *globals, *module; /* the latest globals whose module was looked up, and its name */
    struct known_type types[NR_KNOWN_TYPES];
};

/* Takes its own references. Runs while the collector's lists are being walked, so it calls nothing that
 * could make or free objects. */
static void add(struct symbols *symbols, const void *key, PyObject *callable, PyObject *globals)
{
    uint64_t hash = fg_hash_pointer(key);

    if (symbols->has_failed || fg_hash_find(&symbols->by_key, hash))
        return;
    if (fg_array_reserve(&symbols->items, &symbols->capacity, symbols->n + 1) != 0 ||
        fg_hash_add(&symbols->by_key, hash, symbols->n + 1) != 0) {
        symbols->has_failed = true;
        return;
    }
    symbols->items[symbols->n++] = (struct symbol){key, Py_NewRef(callable), Py_XNewRef(globals)};
}

static void add_code(struct symbols *symbols, PyObject *code, PyObject *globals)
{
    add(symbols, code, code, globals);
}

static void add_c(struct symbols *symbols, PyObject *callable)
{
    const PyMethodDef *definition = fg_cfunction_definition(callable);
    const struct fg_name_tails *names = symbols->query->c_names;

    if (!names || fg_name_tails_may_have(names, definition->ml_name, strlen(definition->ml_name)))
        add(symbols, definition, callable, NULL);
}

/* Depends on the object's type alone. */
static enum kind kind_of(PyObject *object, unsigned kinds)
{
    if (fg_is_function(object))
        return kinds & FG_SYMBOLS_PYTHON ? KIND_FUNCTION : KIND_OTHER;
    return kinds & FG_SYMBOLS_C && fg_cfunction_definition(object) ? KIND_C : KIND_OTHER;
}

/* Runs for each object of the process. */
static int add_object(PyObject *object, void *arg)
{
    struct symbols *symbols = arg;
    const PyTypeObject *type = Py_TYPE(object);
    struct known_type *known = &symbols->types[fg_hash_pointer(type) % NR_KNOWN_TYPES];

    if (fg_unlikely(known->type != type))
        *known = (struct known_type){type, kind_of(object, symbols->query->kinds)};
    if (known->kind == KIND_FUNCTION)
        add_code(symbols, PyFunction_GET_CODE(object), PyFunction_GET_GLOBALS(object));
    else if (known->kind == KIND_C)
        add_c(symbols, object);
    return 1;
}

/* The code nested in the code of a symbol; adding it may move the symbols. */
static void add_nested(struct symbols *symbols, struct symbol symbol)
{
    const PyCodeObject *code = (PyCodeObject *)symbol.callable;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); i++) {
        PyObject *constant = PyTuple_GET_ITEM(code->co_consts, i);

        if (PyCode_Check(constant))
            add_code(symbols, constant, symbol.globals);
    }
}

static void forget(struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->n; i++) {
        Py_DECREF(symbols->items[i].callable);
        Py_XDECREF(symbols->items[i].globals);
    }
    Py_XDECREF(symbols->module);
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
    size_t module_bytes = strlen(module), qualname_bytes = strlen(qualname) + 1;

    if (fg_array_reserve(&symbols->name, &symbols->name_capacity, module_bytes + 1 + qualname_bytes) != 0)
        return NULL;
    memcpy(symbols->name, module, module_bytes);
    symbols->name[module_bytes] = '.';
    memcpy(symbols->name + module_bytes + 1, qualname, qualname_bytes);
    return symbols->name;
}

/* The name of the module that a symbol's globals belong to, or NULL. Symbols that follow each other mostly
 * have the same globals, which are alive as long as the symbols. Borrowed. */
static PyObject *module_of(struct symbols *symbols, const struct symbol *symbol)
{
    if (symbol->globals != symbols->globals) {
        Py_XSETREF(symbols->module, fg_code_module(symbol->globals));
        symbols->globals = symbol->globals;
    }
    return symbols->module;
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
    struct fg_code_name name = fg_code_name(code, module_of(symbols, symbol));

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

static struct fg_func *record_of(struct fg_interp *interp, struct symbols *symbols,
                                 const struct symbol *symbol)
{
    return is_c(symbol) ? fg_cfunction_func(interp, symbol->callable)
                        : fg_code_meet((PyCodeObject *)symbol->callable, module_of(symbols, symbol));
}

/* False: the query wants whole names, and the function has none of them. */
static bool may_match(const struct symbols *symbols, const struct symbol *symbol)
{
    const struct fg_name_tails *names = symbols->query->python_names;
    PyObject *qualname;

    if (is_c(symbol) || !names)
        return true; /* add_c() has looked */
    qualname = ((PyCodeObject *)symbol->callable)->co_qualname;
    return !PyUnicode_IS_COMPACT_ASCII(qualname) ||
           fg_name_tails_may_have(names, (const char *)PyUnicode_1BYTE_DATA(qualname),
                                  (size_t)PyUnicode_GET_LENGTH(qualname));
}

/* Return: 1: the query wants the function, and it has a record now; 0: it does not; or -ENOMEM. */
static int match(struct fg_interp *interp, struct symbols *symbols, const struct symbol *symbol)
{
    const struct fg_symbols_query *query = symbols->query;
    struct symbol_name name;

    if (!may_match(symbols, symbol))
        return 0;
    if (!name_symbol(interp, symbols, symbol, &name))
        return -ENOMEM;
    /* Frozen modules' code may belong to another interpreter's function (3.11). */
    if ((name.func && fg_func_interp(name.func) != interp) ||
        !query->wants(name.name, name.module, is_c(symbol), query->arg))
        return 0;
    if (!name.func)
        name.func = record_of(interp, symbols, symbol);
    if (name.func && query->found)
        query->found(name.func, query->arg);
    return name.func ? 1 : -ENOMEM;
}

static Py_ssize_t match_all(struct fg_interp *interp, struct symbols *symbols)
{
    Py_ssize_t count = 0;

    for (size_t i = 0; i < symbols->n && !symbols->has_failed; i++) {
        struct symbol symbol = symbols->items[i];
        int answer;

        if (!is_c(&symbol))
            add_nested(symbols, symbol);
        answer = match(interp, symbols, &symbol);
        if (answer < 0)
            return answer;
        count += answer;
        if (count && symbols->query->first_only)
            break;
    }
    return symbols->has_failed ? -ENOMEM : count;
}

Py_ssize_t fg_symbols_meet(struct fg_interp *interp, const struct fg_symbols_query *query)
{
    fg_exception aside = fg_exception_set_aside();
    struct symbols symbols = {.query = query};
    Py_ssize_t count;

    fg_visit_objects(add_object, &symbols);
    count = match_all(interp, &symbols);
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

static int meet_named_c(struct fg_interp *interp, const struct fg_filter *filter)
{
    struct fg_name_tails names = {.last_characters = 0};
    struct fg_symbols_query query = {
        .kinds = FG_SYMBOLS_C, .wants = is_named, .arg = (void *)(uintptr_t)filter, .c_names = &names};
    int error = 0;

    for (size_t i = 0; i < NR_NAMING_SETS && !error; i++)
        error = fg_name_tails_add_patterns(&names, &filter->sets[naming_sets[i]]);
    if (!error && fg_symbols_meet(interp, &query) < 0)
        error = -ENOMEM;
    fg_name_tails_clear(&names);
    return error;
}

int fg_symbols_meet_named_c(struct fg_interp *interp, const struct fg_filter *filter)
{
    fg_exception aside = fg_exception_set_aside();
    bool any = false;

    for (size_t i = 0; i < NR_NAMING_SETS && !any; i++)
        any = fg_func_any_unknown(interp, &filter->sets[naming_sets[i]], could_be);
    fg_exception_put_back(aside);
    return any ? meet_named_c(interp, filter) : 0;
}

/* ---- the record of one callable */

/* A code object does not know its module. Search for the function that has the code, or for the code in
 * which it is nested. */
static struct fg_func *func_of_code(struct fg_interp *interp, PyObject *code)
{
    struct fg_func *func = fg_code_func((PyCodeObject *)code);
    struct fg_symbols_query query = {.kinds = FG_SYMBOLS_PYTHON};
    struct symbols symbols = {.query = &query};

    if (func)
        return func;
    fg_visit_objects(add_object, &symbols);
    for (size_t i = 0; !func && i < symbols.n && !symbols.has_failed; i++) {
        struct symbol symbol = symbols.items[i];

        add_nested(&symbols, symbol);
        if (symbol.key == code)
            func = record_of(interp, &symbols, &symbol);
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
