/* Dropping references to Python objects that the engine held. */
#ifndef FG_CPYTHON_OBJECT_H
#define FG_CPYTHON_OBJECT_H

#include "arch/cpython/base/compat/python.h"

struct fg_domain;
struct fg_interp;

/**
 * fg_object_drop() - Drop one reference to an object of an interpreter's domain.
 *
 * Deferred if this thread may not touch the interpreter's objects now.
 *
 * Context: any thread.
 */
void fg_object_drop(void *object, struct fg_domain *domain);
/* Called when the caller's interpreter ends: releases all deferred objects. */
void fg_objects_end(struct fg_interp *interp);

#endif
