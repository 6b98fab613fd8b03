/* See built_backend.h. */
#include "arch/cpython/backend/built_backend.h"

#include "arch/cpython/base/compat/monitoring.h"

const struct fg_hook_backend fg_built_backend = {
    .name = FG_HAVE_MONITORING ? "sys.monitoring" : "frame evaluator",
    .install = fg_backend_install,
    .remove = fg_backend_remove,
    .end = fg_backend_end,
    .follow_greenlets = fg_backend_follow_greenlets,
    .tool_id = fg_backend_tool_id,
    .sync = fg_backend_sync,
    .listen = fg_backend_listen,
    .hook_c_calls = fg_backend_hook_c_calls,
    .follow_raises = fg_backend_follow_raises,
};
