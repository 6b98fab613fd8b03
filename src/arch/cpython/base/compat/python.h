/* CPython's headers, public and internal, as every file of this arch includes them, and what the version and the build
 * decide for all of them.
 *
 * The internal headers are those of the version that this is built for: a wheel fits one minor version. Whether the
 * interpreter that loads it is laid out as they say is checked at start-up (assumptions.h). */
#ifndef FG_COMPAT_PYTHON_H
#define FG_COMPAT_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include <stdbool.h>

/* 3.12+ has sys.monitoring (PEP 669); before it the frame evaluator is the hook (PEP 523). */
#define FG_HAVE_MONITORING (PY_VERSION_HEX >= 0x030C0000)

#endif
