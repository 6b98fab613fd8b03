/* CPython's headers, public and internal, as every file of this arch includes them; and the features
 * that depend on CPython's version and build.
 *
 * The internal headers belong to the version of the build, as a wheel fits one minor version. A check
 * at start-up compares them with the interpreter that loads the wheel (assumptions.h). */
#ifndef FG_COMPAT_PYTHON_H
#define FG_COMPAT_PYTHON_H

#ifndef Py_BUILD_CORE
#error "CMakeLists.txt defines Py_BUILD_CORE for all files of _engine"
#endif
#include <Python.h>

#include <stdbool.h>
#if PY_VERSION_HEX < 0x030C0000
#include <structmember.h> /* PyMemberDef */
#endif

/* ---- features of the version, where they decide more than how a field is read */

/* sys.monitoring (PEP 669). Older versions are hooked at the frame evaluator (PEP 523). */
#define FG_HAVE_MONITORING (PY_VERSION_HEX >= 0x030C0000)
/* An interpreter can have a GIL of its own (PEP 684). */
#define FG_HAVE_OWN_GIL (PY_VERSION_HEX >= 0x030C0000)
/* Native code can fire sys.monitoring events for its own functions (PyMonitoring_FirePyStartEvent and
 * others). */
#define FG_HAVE_NATIVE_EVENTS (PY_VERSION_HEX >= 0x030D0000)
/* close() of a generator that is suspended outside any `try` drops its frame without running it and
 * without an event (gh-140373). */
#define FG_HAVE_SILENT_CLOSE (PY_VERSION_HEX >= 0x030D0000)
/* asyncio keeps the tasks that run in a dict, which can be watched. */
#define FG_HAVE_TASK_TABLE (PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000)
/* A call of a class calls __init__ by its vectorcall (PEP 590). From 3.14 on CPython enters the
 * function directly. */
#define FG_INIT_HAS_VECTORCALL (PY_VERSION_HEX < 0x030E0000)
/* Whoever holds the GIL may read objects without taking references: nothing changes meanwhile. */
#ifdef Py_GIL_DISABLED
#define FG_HAVE_BORROWED_READS 0
#else
#define FG_HAVE_BORROWED_READS 1
#endif

#endif
