/* See mutex.h. */
#include "engine/base/mutex.h"

_Thread_local unsigned fg_native_holds __attribute__((tls_model("initial-exec")));
