/* The slots of instances (__slots__), and other members of their structures, read without a lookup. */
#ifndef FG_CPYTHON_SLOTS_H
#define FG_CPYTHON_SLOTS_H

#include "arch/cpython/base/compat/instance.h"

/* True for classes that a program's `class` statement makes: nothing is immutable there. */
static inline bool fg_is_class_in_python(const PyTypeObject *type)
{
    return (type->tp_flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_IMMUTABLETYPE)) == Py_TPFLAGS_HEAPTYPE;
}

static inline bool fg_member_is_object(const PyMemberDef *member)
{
    return member->type == Py_T_OBJECT_EX || member->type == _Py_T_OBJECT;
}

static inline PyObject *fg_member_object(PyObject *object, const PyMemberDef *member)
{
    return *(PyObject **)((char *)object + member->offset);
}

/* What the slot of this name holds, borrowed; NULL: there is no such slot, or it is empty. */
static inline PyObject *fg_slot(PyObject *object, const char *name)
{
    for (const PyTypeObject *type = Py_TYPE(object); type; type = type->tp_base) {
        for (const PyMemberDef *member = type->tp_members; member && member->name; member++) {
            if (fg_member_is_object(member) && strcmp(member->name, name) == 0)
                return fg_member_object(object, member);
        }
    }
    return NULL;
}

#endif
