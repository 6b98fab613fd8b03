/* How each extension module is loaded: once for each interpreter, which may have a GIL of its own or none. */
#ifndef FG_BINDING_SLOTS_H
#define FG_BINDING_SLOTS_H

#include <Python.h>

#ifdef Py_mod_multiple_interpreters /* a macro from 3.12 on */
#define FG_SLOT_INTERPRETERS {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#else
#define FG_SLOT_INTERPRETERS
#endif
#ifdef Py_mod_gil /* a macro from 3.13 on */
#define FG_SLOT_GIL {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define FG_SLOT_GIL
#endif

/* The last entries of a PyModuleDef_Slot table, its end among them. */
#define FG_LAST_SLOTS                                                                                        \
    FG_SLOT_INTERPRETERS FG_SLOT_GIL                                                                         \
    {                                                                                                        \
        0, NULL                                                                                              \
    }

#endif
