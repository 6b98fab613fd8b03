/* Replacing a function that one module imports from another, by changing the importing module's entries
 * in its global offset table. */
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

/**
 * fg_got_replace() - Redirect a module's calls of an imported function.
 * @address: any address inside the calling module
 * @symbol: the function that it imports
 * @replacement: called instead from now on
 *
 * Return: 0; -ENOENT: the module does not call @symbol through the table; or mprotect's negative errno.
 * After an error nothing has changed.
 */
int fg_got_replace(struct fg_got_hook *hook, const void *address, const char *symbol, void *replacement);
/* Restores the entries, except one that somebody else has replaced meanwhile. Calls in progress return
 * through the replacement. */
void fg_got_restore(struct fg_got_hook *hook);

#endif
