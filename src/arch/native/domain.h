/* The domain of native functions: one for the process, which all users see, whatever interpreter they
 * are of. */
#ifndef FG_NATIVE_DOMAIN_H
#define FG_NATIVE_DOMAIN_H

#include "engine/core/domain.h"

extern struct fg_domain fg_native_domain;

#endif
