/* What each backend defines, of which a build has one: the members of struct fg_hook_backend, which
 * describes them. */
#ifndef FG_CPYTHON_BUILT_BACKEND_H
#define FG_CPYTHON_BUILT_BACKEND_H

#include "arch/cpython/hook/backend.h"

int fg_backend_install(struct fg_interp *interp);
void fg_backend_remove(struct fg_interp *interp);
void fg_backend_end(struct fg_interp *interp);
void fg_backend_follow_greenlets(struct fg_interp *interp);
int fg_backend_tool_id(const struct fg_interp *interp);
void fg_backend_sync(PyCodeObject *code, struct fg_func *func);
int fg_backend_listen(PyCodeObject *code, struct fg_func *func);
void fg_backend_hook_c_calls(struct fg_interp *interp);
int fg_backend_follow_raises(struct fg_interp *interp);

#endif
