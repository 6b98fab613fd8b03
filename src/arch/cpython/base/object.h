/* Dropping references to Python objects that the engine kept. */
#ifndef FG_CPYTHON_OBJECT_H
#define FG_CPYTHON_OBJECT_H

#include "arch/cpython/base/compat/python.h"

struct fg_domain;
struct fg_interp;

/* Drops one reference to an object of an interpreter's domain, in any thread; later, if this thread may
 * not touch its objects now. */
void fg_object_drop(void *object, struct fg_domain *domain);
/* The caller's interpreter is ending: drops what was deferred. */
void fg_objects_end(struct fg_interp *interp);

#endif
