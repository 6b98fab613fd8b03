/* Objects: the program and the libraries that are loaded in this process. */
#ifndef FG_NATIVE_OBJECT_H
#define FG_NATIVE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_loaded_object {
    uintptr_t base;       /* what an address of its file is relative to */
    uintptr_t begin, end; /* its text, the segments that can be executed */
    const char *path;     /* the dynamic loader's; "": the program itself */
};

/* Finds the loaded object with this build id. False: none is loaded. */
bool fg_object_find(const uint8_t *build_id, size_t bytes, struct fg_loaded_object *object);
/* Finds the loaded object that has this address. False: none has. */
bool fg_object_at(uintptr_t address, struct fg_loaded_object *object);
/* The address of the code that calls of an exported function execute: of an ifunc the chosen function's. 0:
 * the object exports none of this name, or its code is elsewhere. */
uintptr_t fg_object_symbol(const struct fg_loaded_object *object, const char *name);

#endif
