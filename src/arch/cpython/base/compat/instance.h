/* Attributes of instances and types, looked up in their dictionaries without making any: instances may
 * have their attributes' values in themselves, and a dictionary only when somebody asks for it. Only with
 * the GIL, as dict.h. */
#ifndef FG_COMPAT_INSTANCE_H
#define FG_COMPAT_INSTANCE_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/compat/dict.h"
#if PY_VERSION_HEX >= 0x030F0000
#include "internal/pycore_lazyimportobject.h"
#endif
#include "internal/pycore_object.h"

#if PY_VERSION_HEX < 0x030C0000
#define Py_T_OBJECT_EX T_OBJECT_EX
#define Py_T_SHORT T_SHORT
#define Py_T_INT T_INT
#define Py_T_LONG T_LONG
#define Py_T_FLOAT T_FLOAT
#define Py_T_DOUBLE T_DOUBLE
#define _Py_T_OBJECT T_OBJECT
#define Py_T_CHAR T_CHAR
#define Py_T_BYTE T_BYTE
#define Py_T_UBYTE T_UBYTE
#define Py_T_USHORT T_USHORT
#define Py_T_UINT T_UINT
#define Py_T_ULONG T_ULONG
#define Py_T_BOOL T_BOOL
#define Py_T_LONGLONG T_LONGLONG
#define Py_T_ULONGLONG T_ULONGLONG
#define Py_T_PYSSIZET T_PYSSIZET
#endif

#if FG_HAVE_BORROWED_READS

/* True for what stands for a module that a lazy import has not imported yet (PEP 810). */
static inline bool fg_is_lazy_import(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030F0000
    return PyLazyImport_CheckExact(object);
#else
    (void)object;
    return false;
#endif
}

/* The values of an instance that has them in or beside itself; NULL: it has a dictionary, or none. */
static inline PyDictValues *fg_instance_values(PyObject *object, const PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyDictValues *values = type->tp_flags & Py_TPFLAGS_INLINE_VALUES ? _PyObject_InlineValues(object) : NULL;

    return values && values->valid ? values : NULL;
#elif PY_VERSION_HEX >= 0x030C0000
    PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);

    (void)type;
    return _PyDictOrValues_IsValues(either) ? _PyDictOrValues_GetValues(either) : NULL;
#else
    (void)type;
    return *_PyObject_ValuesPointer(object);
#endif
}

/* The dictionary of an instance whose type has Py_TPFLAGS_MANAGED_DICT; NULL: it has none yet. */
static inline PyObject *fg_managed_dict(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030D0000
    return (PyObject *)_PyObject_ManagedDictPointer(object)->dict;
#elif PY_VERSION_HEX >= 0x030C0000
    return _PyDictOrValues_GetDict(*_PyObject_DictOrValuesPointer(object));
#else
    return *_PyObject_ManagedDictPointer(object);
#endif
}

static inline PyObject *fg_instance_dict(PyObject *object, const PyTypeObject *type)
{
    PyObject **place;

    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT)
        return fg_managed_dict(object);
    if (type->tp_dictoffset > 0)
        return *(PyObject **)((char *)object + type->tp_dictoffset);
    /* Counted from the object's end. This function makes a dictionary only of a managed one. */
    place = type->tp_dictoffset ? _PyObject_GetDictPtr(object) : NULL;
    return place ? *place : NULL;
}

/* The instance's own attribute, if it has its values in itself, and @name is where it was the last time;
 * NULL: that is not so. */
static inline PyObject *fg_instance_guess(PyObject *object, const PyTypeObject *type, PyObject *name,
                                          int32_t entry)
{
    const PyDictValues *values =
        type->tp_flags & Py_TPFLAGS_MANAGED_DICT ? fg_instance_values(object, type) : NULL;
    PyDictKeysObject *keys = values ? ((PyHeapTypeObject *)type)->ht_cached_keys : NULL;

    return keys && (size_t)entry < (size_t)keys->dk_nentries && DK_UNICODE_ENTRIES(keys)[entry].me_key == name
               ? values->values[entry]
               : NULL;
}

/* The instance's own attribute, as fg_dict_peek(). */
static inline enum fg_peek fg_instance_peek(PyObject *object, const struct fg_dict_key *name, int32_t *entry,
                                            PyObject **value)
{
    PyTypeObject *type = Py_TYPE(object);
    PyDictValues *values = type->tp_flags & Py_TPFLAGS_MANAGED_DICT ? fg_instance_values(object, type) : NULL;
    PyObject *dict;
    enum fg_peek peek;

    *value = NULL;
    if (values) {
        peek = fg_keys_peek(((PyHeapTypeObject *)type)->ht_cached_keys, name, entry);
        if (peek == FG_PEEK_FOUND)
            *value = values->values[*entry];
        return peek == FG_PEEK_FOUND && !*value ? FG_PEEK_NOTHING : peek;
    }
    dict = fg_instance_dict(object, type);
    return dict ? fg_dict_peek(dict, name, entry, value) : FG_PEEK_NOTHING;
}

/* The type's own dictionary, borrowed. From 3.12 on each interpreter has its own for a built-in type. */
static inline PyObject *fg_type_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyObject *dict = type->tp_dict;

    if (!dict) {
        dict = PyType_GetDict(type);
        Py_XDECREF(dict); /* the type keeps it */
    }
    return dict;
#else
    return type->tp_dict;
#endif
}

/* The attribute of a type or of one of its bases, as fg_dict_peek(). Unlike _PyType_Lookup() it fills no
 * cache, and compares no names by code of the program. */
static inline enum fg_peek fg_type_peek(PyTypeObject *type, const struct fg_dict_key *name, PyObject **value)
{
    PyObject *mro = type->tp_mro;
    Py_ssize_t n = mro ? PyTuple_GET_SIZE(mro) : 0;
    enum fg_peek peek = FG_PEEK_NOTHING;

    *value = NULL;
    for (Py_ssize_t i = 0; i < n && peek == FG_PEEK_NOTHING; i++) {
        PyObject *dict = fg_type_dict((PyTypeObject *)PyTuple_GET_ITEM(mro, i));
        int32_t entry = -1;

        if (dict)
            peek = fg_dict_peek(dict, name, &entry, value);
    }
    return peek;
}

#endif

#endif
