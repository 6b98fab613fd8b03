/* See self.h. */
#include "engine/core/self.h"

_Thread_local struct fg_task *fg_task_self __attribute__((tls_model("initial-exec")));
_Thread_local struct fg_task *fg_native_task __attribute__((tls_model("initial-exec")));
_Thread_local unsigned fg_native_holds __attribute__((tls_model("initial-exec")));
