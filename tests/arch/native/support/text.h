/* The text of a loaded object, and how it is mapped: hooks leave both as they were. */
#ifndef FG_TEST_TEXT_H
#define FG_TEST_TEXT_H

#include <stdint.h>

#include "arch/native/object.h"

struct text {
    struct fg_loaded_object object;
    uint8_t *bytes;
    char *mappings;
};

/* Copies the text of the object that has this address. No page of the process may be both writable and
 * executable. */
struct text text_of(void *address);
void text_free(struct text *text);
/* Fails if the object's text, or its mappings, have changed. */
void text_check(struct text *before);

#endif
