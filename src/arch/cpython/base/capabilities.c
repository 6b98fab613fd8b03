/* See capabilities.h. */
#include "arch/cpython/base/capabilities.h"

#include <errno.h>
#include <string.h>

const struct fg_capability fg_capabilities[] = {
#define X(name, is_there, meaning) {#name, meaning, is_there},
    FG_CAPABILITIES(X)
#undef X
};

const size_t fg_nr_capabilities = sizeof(fg_capabilities) / sizeof(fg_capabilities[0]);

int fg_capability(const char *name)
{
    for (size_t i = 0; name && i < fg_nr_capabilities; i++) {
        if (strcmp(fg_capabilities[i].name, name) == 0)
            return fg_capabilities[i].is_there;
    }
    return -EINVAL;
}
