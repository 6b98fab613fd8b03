/* See discovery.h. */
#include "arch/cpython/read/discovery.h"

#include <stddef.h>

const struct fg_discovery_ops *fg_discovery_ops;
