/* CPython's headers, public and internal, as every file of this arch includes them, and what the version
 * and the build decide for all of them.
 *
 * The internal headers are those of the version that this is built for: a wheel fits one minor version.
 * Whether the interpreter that loads it is laid out as they say is checked at start-up (assumptions.h). */
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

/* ---- what the version has: all that decides more than how something is read */

/* sys.monitoring (PEP 669). Before it the frame evaluator is the hook (PEP 523). */
#define FG_HAVE_MONITORING (PY_VERSION_HEX >= 0x030C0000)
/* An interpreter can have a GIL of its own (PEP 684). */
#define FG_HAVE_OWN_GIL (PY_VERSION_HEX >= 0x030C0000)
/* Native code fires events of sys.monitoring for functions of its own (PyMonitoring_FirePyStartEvent and
 * others). */
#define FG_HAVE_NATIVE_EVENTS (PY_VERSION_HEX >= 0x030D0000)
/* close() of a generator that is suspended outside of any `try` drops its frame without running it, and
 * without an event (gh-140373). */
#define FG_HAVE_SILENT_CLOSE (PY_VERSION_HEX >= 0x030D0000)
/* A call of a class looks how its __init__ is called (PEP 590). From 3.14 on it enters the function
 * directly. */
#define FG_INIT_HAS_VECTORCALL (PY_VERSION_HEX < 0x030E0000)

#endif
