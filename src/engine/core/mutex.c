/* See mutex.h. */
#include "engine/core/mutex.h"

_Thread_local unsigned fg_mutexes_held __attribute__((tls_model("initial-exec")));
