/* All of the function graph, for files that are being moved to the headers below. */
#ifndef FG_FGRAPH_H
#define FG_FGRAPH_H

#include "engine/core/regs.h"
#include "engine/graph/call.h"
#include "engine/graph/data.h"
#include "engine/graph/end.h"
#include "engine/graph/frame.h"
#include "engine/graph/meet.h"
#include "engine/graph/suspended.h"
#include "engine/graph/user_list.h"
#include "engine/graph/users.h"

#endif
