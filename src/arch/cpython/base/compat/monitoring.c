/* See monitoring.h. */
#include "arch/cpython/base/compat/monitoring.h"

#if FG_HAVE_MONITORING
_Atomic(const PyObject *) fg_tool_name;
#endif
