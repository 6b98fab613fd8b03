/* Replacing a function that a module calls in another by one of ours: the module's entries of the global
 * offset table. */
#ifndef FG_CPYTHON_GOT_H
#define FG_CPYTHON_GOT_H

#include <stdbool.h>
#include <stddef.h>

#define FG_GOT_MAX_ENTRIES 4

struct fg_got_hook {
    void *replacement;
    size_t n;
    struct fg_got_entry {
        void **at;
        void *original;
        bool is_protected; /* the linker made its page read-only (RELRO) */
    } entries[FG_GOT_MAX_ENTRIES];
};

/* From now on `replacement` is called where the module that holds `address` calls `symbol` of another. 0,
 * or: -ENOENT: it does not call it through such an entry; or what mprotect says. Then nothing has
 * changed. */
int fg_got_replace(struct fg_got_hook *hook, const void *address, const char *symbol, void *replacement);
/* As it was; an entry that somebody else has replaced since then stays. Calls in progress return from the
 * replacement. */
void fg_got_restore(struct fg_got_hook *hook);

#endif
