/* The table of C functions of an interpreter. Definitions are static data or live as long as their
 * module, so records live as long as the interpreter.
 *
 * cProfile counts the same callables (Modules/_lsprof.c): built-in functions and methods, and method
 * descriptors, not types. */
#include "arch/cpython/read/cfunction.h"

#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/lock.h"
#include "arch/cpython/read/brief.h"
#include "arch/cpython/read/cfunction_table.h"
#include "arch/cpython/read/discovery.h"
#include "engine/base/hash_table.h"
#include "engine/graph/user_list.h"
#include "engine/ring/ring_layout.h"
#include "engine/users/meet.h"

#define FIRST_CAPACITY 512u
#define SLOTS_EACH 4 /* for a record: most lookups find it at once */

static bool is_method_descriptor(PyObject *callable)
{
    return Py_IS_TYPE(callable, &PyMethodDescr_Type) || Py_IS_TYPE(callable, &PyClassMethodDescr_Type);
}

const PyMethodDef *fg_cfunction_definition(PyObject *callable)
{
    const PyMethodDef *definition = fg_cfunction_plain_definition(callable);

    if (definition || PyFunction_Check(callable))
        return definition;
    if (is_method_descriptor(callable))
        return ((PyMethodDescrObject *)callable)->d_method;
    return PyCFunction_Check(callable) ? ((PyCFunctionObject *)callable)->m_ml : NULL;
}

/* The definition's slot, or the free slot where it belongs. */
static struct fg_c_function_slot *find_slot(struct fg_c_function_table *table, const PyMethodDef *definition)
{
    size_t i = (size_t)fg_hash_pointer(definition);

    for (;; i++) {
        struct fg_c_function_slot *slot = &table->slots[i & (table->capacity - 1)];
        const PyMethodDef *there = atomic_load_explicit(&slot->definition, memory_order_relaxed);

        if (there == definition || !there)
            return slot;
    }
}

static void add(struct fg_c_function_table *table, const PyMethodDef *definition, struct fg_func *func)
{
    struct fg_c_function_slot *slot = find_slot(table, definition);

    slot->func = func;
    atomic_store_explicit(&slot->definition, definition, memory_order_release);
}

/* A table with room for one more definition; NULL: memory is short. */
static struct fg_c_function_table *grow(struct fg_c_functions *functions)
{
    struct fg_c_function_table *old = atomic_load_explicit(&functions->current, memory_order_relaxed);
    size_t capacity = old ? old->capacity * 2 : FIRST_CAPACITY;
    struct fg_c_function_table *table;

    if (old && functions->nr_records * SLOTS_EACH < old->capacity)
        return old;
    table = calloc(1, sizeof(*table) + capacity * sizeof(table->slots[0]));
    if (!table)
        return NULL;
    table->older = old;
    table->capacity = capacity;
    for (size_t i = 0; old && i < old->capacity; i++) {
        const PyMethodDef *definition = atomic_load_explicit(&old->slots[i].definition, memory_order_relaxed);

        if (definition)
            add(table, definition, old->slots[i].func);
    }
    atomic_store_explicit(&functions->current, table, memory_order_release);
    return table;
}

static bool has_method(const PyTypeObject *type, const PyMethodDef *definition)
{
    const PyMethodDef *at = type->tp_methods;

    while (at && at->ml_name && at != definition)
        at++;
    return at == definition;
}

/* The type in the MRO whose method table contains the definition; NULL: none. Borrowed. */
static PyTypeObject *defining_type(PyTypeObject *type, const PyMethodDef *definition)
{
    PyObject *mro = fg_type_mro(type);
    Py_ssize_t n = mro ? PyTuple_GET_SIZE(mro) : 0, i = 0;

    while (i < n && !has_method((PyTypeObject *)PyTuple_GET_ITEM(mro, i), definition))
        i++;
    type = i < n ? (PyTypeObject *)PyTuple_GET_ITEM(mro, i) : NULL;
    Py_XDECREF(mro); /* the type itself keeps its bases alive */
    return type;
}

/* The type that a method belongs to; NULL for a plain function. Borrowed. */
static PyTypeObject *owner_of(PyObject *callable, const PyMethodDef *definition)
{
    PyObject *self;
    PyTypeObject *type = NULL;

    if (is_method_descriptor(callable))
        return PyDescr_TYPE(callable);
    self = ((PyCFunctionObject *)callable)->m_self; /* for a static method: its type */
    if (!self || PyModule_Check(self))
        return NULL;
    if (PyType_Check(self)) /* a class method; if not found, a method of the metaclass */
        type = defining_type((PyTypeObject *)self, definition);
    if (!type)
        type = defining_type(Py_TYPE(self), definition);
    if (type)
        return type;
    /* The definition of `X.__new__` is shared by all types and is in no table. */
    return PyType_Check(self) ? &PyBaseObject_Type : Py_TYPE(self);
}

static void name_method(struct fg_cfunction_name *name, PyTypeObject *owner, const PyMethodDef *definition)
{
    const char *type_name = owner->tp_name;
    const char *dot = strrchr(type_name, '.');

    snprintf(name->module, sizeof(name->module), "%.*s", dot ? (int)(dot - type_name) : 8,
             dot ? type_name : "builtins");
    snprintf(name->qualname, sizeof(name->qualname), "%s.%s", dot ? dot + 1 : type_name, definition->ml_name);
}

static void name_function(struct fg_cfunction_name *name, PyObject *callable, const PyMethodDef *definition)
{
    PyObject *module = ((PyCFunctionObject *)callable)->m_module; /* __module__ */
    const char *text = module && PyUnicode_CheckExact(module) ? PyUnicode_AsUTF8(module) : NULL;

    snprintf(name->module, sizeof(name->module), "%s", text ? text : "builtins");
    snprintf(name->qualname, sizeof(name->qualname), "%s", definition->ml_name);
}

void fg_cfunction_name(PyObject *callable, struct fg_cfunction_name *name)
{
    const PyMethodDef *definition = fg_cfunction_definition(callable);
    PyTypeObject *owner = owner_of(callable, definition);

    if (owner)
        name_method(name, owner, definition);
    else
        name_function(name, callable, definition);
}

/* Return: NULL if memory is short. */
static struct fg_c_functions *functions_of(struct fg_interp *interp)
{
    struct fg_c_functions *functions = atomic_load_explicit(&interp->c_functions, memory_order_relaxed);

    if (!functions) {
        functions = calloc(1, sizeof(*functions));
        atomic_store_explicit(&interp->c_functions, functions, memory_order_release);
    }
    return functions;
}

static uint16_t flags_of(const struct fg_cfunction_name *name)
{
    return FG_FUNC_C | (fg_brief_has(name->module, name->qualname) ? FG_FUNC_BRIEF : 0);
}

/* Finds the record of a definition, or makes it. Call with FG_LOCK_DISCOVERY held. */
static struct fg_func *make_record(struct fg_interp *interp, const PyMethodDef *definition,
                                   const struct fg_cfunction_name *name)
{
    struct fg_func_desc desc = {.module = name->module,
                                .qualname = name->qualname,
                                .file = "",
                                .args = "",
                                .flags = flags_of(name),
                                .domain = &interp->domain};
    struct fg_c_functions *functions = functions_of(interp);
    struct fg_func *func = fg_cfunction_known(interp, definition);
    struct fg_c_function_table *table = func || !functions ? NULL : grow(functions);

    if (!table)
        return func;
    func = fg_func_meet(&desc);
    if (!func)
        return NULL;
    add(table, definition, func);
    functions->nr_records++;
    if (fg_func_has_users(func))
        fg_discovery_ops->meet_func(func);
    return func;
}

FG_COLD static struct fg_func *discover(struct fg_interp *interp, PyObject *callable,
                                        const PyMethodDef *definition)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_cfunction_name name;
    struct fg_func *func;

    fg_cfunction_name(callable, &name);
    fg_lock(FG_LOCK_DISCOVERY);
    func = make_record(interp, definition, &name);
    fg_unlock(FG_LOCK_DISCOVERY);
    fg_exception_put_back(aside);
    return func;
}

struct fg_func *fg_cfunction_func(struct fg_interp *interp, PyObject *callable)
{
    const PyMethodDef *definition = fg_cfunction_definition(callable);
    struct fg_func *func = definition ? fg_cfunction_known(interp, definition) : NULL;

    return fg_likely(func || !definition) ? func : discover(interp, callable, definition);
}

bool fg_cfunctions_any(struct fg_interp *interp, bool (*matches)(struct fg_func *func))
{
    struct fg_c_functions *functions = atomic_load_explicit(&interp->c_functions, memory_order_acquire);
    struct fg_c_function_table *table =
        functions ? atomic_load_explicit(&functions->current, memory_order_acquire) : NULL;

    for (size_t i = 0; table && i < table->capacity; i++) {
        if (atomic_load_explicit(&table->slots[i].definition, memory_order_acquire) &&
            matches(table->slots[i].func))
            return true;
    }
    return false;
}

void fg_cfunctions_end(struct fg_interp *interp)
{
    struct fg_c_functions *functions = atomic_exchange(&interp->c_functions, NULL);
    struct fg_c_function_table *table = functions ? atomic_load(&functions->current) : NULL, *older;

    /* The newest table contains all records. */
    for (size_t i = 0; table && i < table->capacity; i++) {
        if (atomic_load(&table->slots[i].definition))
            fg_func_forget(table->slots[i].func);
    }
    for (; table; table = older) {
        older = table->older;
        free(table);
    }
    free(functions);
}
