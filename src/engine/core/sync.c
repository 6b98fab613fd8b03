/* See sync.h. */
#include "engine/core/sync.h"

#include "engine/core/function.h"

void fg_sync(struct fg_func *func)
{
    const struct fg_arch_ops *arch = func->domain->arch;

    arch->sync_begin();
    arch->sync(func);
    arch->sync_end();
}

/* True if a function of @arch is in the list before index @end. The previous one is the likeliest. */
static bool is_before(struct fg_func *(*func_at)(const void *list, size_t i), const void *list, size_t end,
                      const struct fg_arch_ops *arch)
{
    while (end-- > 0) {
        if (func_at(list, end)->domain->arch == arch)
            return true;
    }
    return false;
}

void fg_sync_many(struct fg_func *(*func_at)(const void *list, size_t i), const void *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct fg_arch_ops *arch = func_at(list, i)->domain->arch;

        if (is_before(func_at, list, i, arch))
            continue;
        arch->sync_begin();
        for (size_t of_arch = i; of_arch < n; of_arch++) {
            struct fg_func *func = func_at(list, of_arch);

            if (func->domain->arch == arch)
                arch->sync(func);
        }
        arch->sync_end();
    }
}
