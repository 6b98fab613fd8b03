/* The public header as the engine includes it: struct fgraph_ops, struct fprobe and the arguments of
 * their callbacks, without the calls through the C API's table. */
#ifndef FG_PUBLIC_H
#define FG_PUBLIC_H

#define FUNCGRAPH_ENGINE
#include "include/funcgraph.h"

#endif
