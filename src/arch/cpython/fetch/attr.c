/* See attr.h. What a type says about an attribute is looked up once for each version of the type, and kept
 * in the step's hint. The version changes with the type, its bases and their dictionaries. */
#include "arch/cpython/fetch/attr.h"

#include <stddef.h>
#include <string.h>

#include "arch/cpython/base/compat/instance.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/value/numpy.h"
#include "engine/base/compiler.h"

#if FG_HAVE_BORROWED_READS

/* How to read the attribute from instances of a type. */
enum way {
    WAY_FAULT,
    WAY_INSTANCE,   /* the type does not have it: from the instance's dictionary */
    WAY_FOUND,      /* from the instance's dictionary; if it is not there, what the type has */
    WAY_SLOT,       /* the object at an offset */
    WAY_MEMBER,     /* a C variable at an offset */
    WAY_CLASS,      /* __class__ */
    WAY_TUPLE_ITEM, /* a field of a named tuple: the item at this index */
    WAY_ENUM,       /* value or name of an enum's member */
    WAY_ARRAY,      /* of a numpy array */
    WAY_OF_CLASS,   /* the instance is a class itself */
    WAY_OF_METHOD,  /* the instance is a bound method: from its function */
};

static struct fg_dict_key key_of(const struct fg_fetch_operand *operand)
{
    return (struct fg_dict_key){operand->key, operand->hash};
}

/* ---- what a type says about an attribute */

/* Attributes for which CPython has a getter in C that returns what lies in the structure. NULL there is
 * None. */
struct known {
    const char *name;
    Py_ssize_t offset;
};

static const struct known of_function[] = {
    {"__name__", offsetof(PyFunctionObject, func_name)},
    {"__qualname__", offsetof(PyFunctionObject, func_qualname)},
    {"__module__", offsetof(PyFunctionObject, func_module)},
    {"__doc__", offsetof(PyFunctionObject, func_doc)},
    {"__code__", offsetof(PyFunctionObject, func_code)},
    {"__defaults__", offsetof(PyFunctionObject, func_defaults)},
    {"__kwdefaults__", offsetof(PyFunctionObject, func_kwdefaults)},
    {NULL, -1},
};
static const struct known of_exception[] = {
    {"args", offsetof(PyBaseExceptionObject, args)},
    {"__traceback__", offsetof(PyBaseExceptionObject, traceback)},
    {"__context__", offsetof(PyBaseExceptionObject, context)},
    {"__cause__", offsetof(PyBaseExceptionObject, cause)},
    {NULL, -1},
};

static Py_ssize_t known_offset(const PyTypeObject *type, const char *name)
{
    const struct known *at = NULL;

    if (type == &PyFunction_Type)
        at = of_function;
    else if ((PyObject *)type == PyExc_BaseException)
        at = of_exception;
    while (at && at->name && strcmp(at->name, name) != 0)
        at++;
    return at ? at->offset : -1;
}

static enum way way_of_getter(PyObject *getter, const char *name, struct fg_fetch_hint *hint)
{
    const PyTypeObject *of = PyDescr_TYPE(getter);

    if (of == &PyBaseObject_Type && strcmp(name, "__class__") == 0)
        return WAY_CLASS;
    if (strcmp(of->tp_name, "numpy.ndarray") == 0)
        return WAY_ARRAY;
    hint->offset = known_offset(of, name);
    hint->member = _Py_T_OBJECT;
    return hint->offset >= 0 ? WAY_MEMBER : WAY_FAULT;
}

static enum way way_of_member(PyObject *descriptor, struct fg_fetch_hint *hint)
{
    const PyMemberDef *member = ((PyMemberDescrObject *)descriptor)->d_member;

    hint->offset = member->offset;
    hint->member = (uint8_t)member->type;
#ifdef Py_RELATIVE_OFFSET
    if (member->flags & Py_RELATIVE_OFFSET) /* CPython makes them absolute when it makes the type */
        return WAY_FAULT;
#endif
    return member->type == Py_T_OBJECT_EX ? WAY_SLOT : WAY_MEMBER;
}

/* The descriptors by which collections.namedtuple reads a field. */
struct tuple_getter {
    PyObject_HEAD;
    Py_ssize_t index;
};

/* Before 3.12 its module has the underscore. */
static bool is_tuple_getter(PyObject *object)
{
    const char *name = Py_TYPE(object)->tp_name;

    return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) &&
           strcmp(name + (name[0] == '_'), "collections._tuplegetter") == 0;
}

/* A descriptor that is no member or getter of this type or of a base of it raises TypeError. */
static bool is_descriptor_of(PyObject *descriptor, PyTypeObject *type)
{
    return PyType_IsSubtype(type, PyDescr_TYPE(descriptor));
}

static enum way way_of_found(PyTypeObject *type, const struct fg_fetch_step *step, struct fg_fetch_hint *hint)
{
    PyObject *found = hint->found;

    if (Py_IS_TYPE(found, &PyMemberDescr_Type))
        return is_descriptor_of(found, type) ? way_of_member(found, hint) : WAY_FAULT;
    if (Py_IS_TYPE(found, &PyGetSetDescr_Type))
        return is_descriptor_of(found, type) ? way_of_getter(found, step->operand.text, hint) : WAY_FAULT;
    if (is_tuple_getter(found)) {
        hint->offset = ((struct tuple_getter *)found)->index;
        return WAY_TUPLE_ITEM;
    }
    if (found == step->enum_property) {
        struct fg_dict_key hidden = key_of(&step->hidden);
        PyObject *value;

        return fg_type_peek(type, &hidden, &value) == FG_PEEK_NOTHING ? WAY_ENUM : WAY_FAULT;
    }
    return WAY_FOUND;
}

/* True if attributes are looked up as @getattr does, which is of a type in C. A class with a __getattr__
 * has a slot of its own for both; then its __getattribute__ tells. */
static bool looks_up_by(PyTypeObject *type, getattrofunc getattr, const struct fg_fetch_step *step)
{
    struct fg_dict_key key = key_of(&step->method);
    PyObject *found;

    if (type->tp_getattro == getattr)
        return true;
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) &&
           fg_type_peek(type, &key, &found) == FG_PEEK_FOUND && Py_IS_TYPE(found, &PyWrapperDescr_Type) &&
           ((PyWrapperDescrObject *)found)->d_wrapped == (void *)getattr;
}

static enum way way_of_type(PyTypeObject *type, const struct fg_fetch_step *step, struct fg_fetch_hint *hint)
{
    struct fg_dict_key key = key_of(&step->operand);

    if (fg_type_peek(type, &key, &hint->found) == FG_PEEK_UNSURE)
        return WAY_FAULT;
    if (looks_up_by(type, PyType_Type.tp_getattro, step))
        return WAY_OF_CLASS;
    if (type == &PyMethod_Type && !hint->found)
        return WAY_OF_METHOD;
    /* A module's or a method's own attributes are found as those of any object. */
    if (type != &PyMethod_Type && !looks_up_by(type, PyObject_GenericGetAttr, step) &&
        !looks_up_by(type, PyModule_Type.tp_getattro, step))
        return WAY_FAULT;
    return hint->found ? way_of_found(type, step, hint) : WAY_INSTANCE;
}

FG_NOINLINE static void look_up(PyTypeObject *type, const struct fg_fetch_step *step,
                                struct fg_fetch_hint *hint)
{
    *hint = (struct fg_fetch_hint){.entry = hint->entry};
    hint->way = (uint8_t)way_of_type(type, step, hint);
    hint->type = type;
    hint->version = type->tp_version_tag; /* 0: nothing has looked up an attribute of it yet */
}

/* ---- reading */

#define MEMBER(ctype, function)                                                                              \
    {                                                                                                        \
        ctype value;                                                                                         \
                                                                                                             \
        memcpy(&value, at, sizeof(value));                                                                   \
        return function(value);                                                                              \
    }

static struct fg_fetched member(PyObject *object, const struct fg_fetch_hint *hint)
{
    const char *at = (const char *)object + hint->offset;
    PyObject *there;

    switch (hint->member) {
    case _Py_T_OBJECT:
        memcpy(&there, at, sizeof(there));
        return fg_fetched_object(there ? there : Py_None);
    case Py_T_BOOL:
        return fg_fetched_object(*at ? Py_True : Py_False);
    case Py_T_BYTE:
        MEMBER(signed char, fg_fetched_signed)
    case Py_T_SHORT:
        MEMBER(short, fg_fetched_signed)
    case Py_T_INT:
        MEMBER(int, fg_fetched_signed)
    case Py_T_LONG:
    case Py_T_LONGLONG:
    case Py_T_PYSSIZET:
        MEMBER(int64_t, fg_fetched_signed)
    case Py_T_UBYTE:
        MEMBER(unsigned char, fg_fetched_signed)
    case Py_T_USHORT:
        MEMBER(unsigned short, fg_fetched_signed)
    case Py_T_UINT:
        MEMBER(unsigned int, fg_fetched_signed)
    case Py_T_ULONG:
    case Py_T_ULONGLONG:
        MEMBER(uint64_t, fg_fetched_unsigned)
    case Py_T_FLOAT:
        MEMBER(float, fg_fetched_real)
    case Py_T_DOUBLE:
        MEMBER(double, fg_fetched_real)
    default:
        return fg_fetched_fault();
    }
}

/* From the instance's dictionary. @otherwise is what the type has, or NULL. */
FG_NOINLINE static struct fg_fetched from_instance(PyObject *object, const struct fg_fetch_operand *name,
                                                   struct fg_fetch_hint *hint, PyObject *otherwise)
{
    struct fg_dict_key key = key_of(name);
    PyObject *value;
    enum fg_peek peek = fg_instance_peek(object, &key, &hint->entry, &value);

    if (fg_unlikely(peek == FG_PEEK_UNSURE))
        return fg_fetched_fault();
    return fg_fetched_object(peek == FG_PEEK_FOUND ? value : otherwise);
}

/* What a type has under the name, if reading it runs nothing. */
static PyObject *without_get(PyObject *found)
{
    return found && (!Py_TYPE(found)->tp_descr_get || fg_is_function(found)) ? found : NULL;
}

/* A class may have got a __set__ since it was found: that does not change the version of this type. */
static struct fg_fetched from_both(PyObject *object, const struct fg_fetch_step *step,
                                   struct fg_fetch_hint *hint)
{
    if (Py_TYPE(hint->found)->tp_descr_set)
        return fg_fetched_fault();
    return from_instance(object, &step->operand, hint, without_get(hint->found));
}

static struct fg_fetched class_name(const PyTypeObject *class, bool is_qualified)
{
    const PyHeapTypeObject *heap = (const PyHeapTypeObject *)class;
    const char *dot = strrchr(class->tp_name, '.'), *name = dot ? dot + 1 : class->tp_name;

    if (class->tp_flags & Py_TPFLAGS_HEAPTYPE)
        return fg_fetched_object(is_qualified ? heap->ht_qualname : heap->ht_name);
    return (struct fg_fetched){.kind = FG_FETCHED_TEXT, .text = name, .n = (uint32_t)strlen(name)};
}

static struct fg_fetched through_metaclass(PyObject *class, const struct fg_fetch_step *step,
                                           struct fg_fetch_hint *hint)
{
    bool is_of_type =
        Py_IS_TYPE(hint->found, &PyGetSetDescr_Type) && PyDescr_TYPE(hint->found) == &PyType_Type;
    enum way way;

    if (is_of_type && strcmp(step->operand.text, "__name__") == 0)
        return class_name((PyTypeObject *)class, false);
    if (is_of_type && strcmp(step->operand.text, "__qualname__") == 0)
        return class_name((PyTypeObject *)class, true);
    way = way_of_found(Py_TYPE(class), step, hint);
    if (way == WAY_CLASS)
        return fg_fetched_object((PyObject *)Py_TYPE(class));
    return way == WAY_MEMBER ? member(class, hint) : fg_fetched_fault();
}

/* type.__getattribute__: a data descriptor of the metaclass, then the class and its bases, then the
 * metaclass. A descriptor in the class would get the call. */
static struct fg_fetched of_class(PyObject *class, const struct fg_fetch_step *step,
                                  struct fg_fetch_hint hint)
{
    struct fg_dict_key key = key_of(&step->operand);
    PyObject *found;

    if (hint.found && Py_TYPE(hint.found)->tp_descr_set)
        return through_metaclass(class, step, &hint);
    switch (fg_type_peek((PyTypeObject *)class, &key, &found)) {
    case FG_PEEK_FOUND:
        return fg_fetched_object(without_get(found));
    case FG_PEEK_NOTHING:
        return fg_fetched_object(without_get(hint.found));
    default:
        return fg_fetched_fault();
    }
}

static struct fg_fetched tuple_item(PyObject *object, Py_ssize_t index)
{
    bool is_there = PyTuple_Check(object) && index < PyTuple_GET_SIZE(object);

    return fg_fetched_object(is_there ? PyTuple_GET_ITEM(object, index) : NULL);
}

static struct fg_fetched of_method(PyObject *method, const struct fg_fetch_step *step)
{
    PyObject *function = PyMethod_GET_FUNCTION(method);
    struct fg_fetch_hint hint = {.entry = -1};
    struct fg_fetch_step of_function = *step;

    of_function.hint = &hint;
    return PyMethod_Check(function) ? fg_fetched_fault() : fg_fetch_attr(function, &of_function);
}

/* A module's dictionary may have a module that is imported when it is used. */
static struct fg_fetched without_lazy_import(struct fg_fetched fetched)
{
    if (fetched.kind == FG_FETCHED_OBJECT && fg_is_lazy_import(fetched.object))
        return fg_fetched_fault();
    return fetched;
}

/* Neither from a slot nor from values that the instance has in itself. */
FG_NOINLINE static struct fg_fetched by_rare_way(PyObject *object, const struct fg_fetch_step *step,
                                                 struct fg_fetch_hint *hint)
{
    switch ((enum way)hint->way) {
    case WAY_INSTANCE:
        return without_lazy_import(from_instance(object, &step->operand, hint, NULL));
    case WAY_FOUND:
        return without_lazy_import(from_both(object, step, hint));
    case WAY_MEMBER:
        return member(object, hint);
    case WAY_CLASS:
        return fg_fetched_object((PyObject *)Py_TYPE(object));
    case WAY_TUPLE_ITEM:
        return tuple_item(object, hint->offset);
    case WAY_ENUM:
        return from_instance(object, &step->hidden, hint, NULL);
    case WAY_ARRAY:
        return fg_ndarray_attr(object, step->operand.text);
    case WAY_OF_CLASS:
        return of_class(object, step, *hint);
    case WAY_OF_METHOD:
        return of_method(object, step);
    default:
        return fg_fetched_fault();
    }
}

struct fg_fetched fg_fetch_attr(PyObject *object, const struct fg_fetch_step *step)
{
    PyTypeObject *type = Py_TYPE(object);
    struct fg_fetch_hint *hint = step->hint;
    PyObject *value = NULL;

    if (fg_unlikely(hint->type != type || !hint->version || hint->version != type->tp_version_tag))
        look_up(type, step, hint);
    if (hint->way == WAY_INSTANCE)
        value = fg_instance_guess(object, type, step->operand.key, hint->entry);
    else if (hint->way == WAY_SLOT)
        return fg_fetched_object(*(PyObject **)((char *)object + hint->offset));
    return fg_likely(value != NULL) ? fg_fetched_object(value) : by_rare_way(object, step, hint);
}

#else

/* Another thread may change or free any of this meanwhile. */
struct fg_fetched fg_fetch_attr(PyObject *object, const struct fg_fetch_step *step)
{
    (void)object, (void)step;
    return fg_fetched_fault();
}

#endif
