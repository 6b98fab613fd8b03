/* The domain of native functions: one for the process, which all users see, whatever interpreter they
 * are of. */
#ifndef FG_NATIVE_DOMAIN_H
#define FG_NATIVE_DOMAIN_H

#include <stdint.h>

#include "engine/core/domain.h"
#include "engine/core/function.h"

extern struct fg_domain fg_native_domain;

/* What fg_func.arch_data of the domain's functions begins with. It stays for good. */
struct fg_native_function {
    uintptr_t address;
};

static inline uintptr_t fg_native_address_of(const struct fg_func *func)
{
    return ((const struct fg_native_function *)func->arch_data)->address;
}

#endif
