/* The global offset table: where a module calls functions of other modules through addresses that the
 * dynamic linker fills in (System V ABI, relocations of the types JUMP_SLOT and GLOB_DAT). */
#define _GNU_SOURCE
#include "arch/elf/got.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#define IS_CALL_ENTRY(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_CALL_ENTRY(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_CALL_ENTRY(type) false
#endif

/* The contents of a module's dynamic section. */
struct module {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * tables[2]; /* relocations of calls (DT_JMPREL), and the others (DT_RELA) */
    size_t table_bytes[2];
    uintptr_t relro, relro_end;
};

struct search {
    struct fg_got_hook *hook;
    uintptr_t address;
    const char *symbol;
};

static bool holds(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + segment->p_vaddr;

        if (segment->p_type == PT_LOAD && address >= begin && address < begin + segment->p_memsz)
            return true;
    }
    return false;
}

static void read_dynamic(struct module *module, const ElfW(Dyn) * entry)
{
    for (; entry->d_tag != DT_NULL; entry++) {
        /* glibc relocates these values to addresses; other C libraries leave them as in the file. */
        uintptr_t address =
            entry->d_un.d_ptr < module->base ? entry->d_un.d_ptr + module->base : entry->d_un.d_ptr;

        switch (entry->d_tag) {
        case DT_SYMTAB:
            module->symbols = (const ElfW(Sym) *)address;
            break;
        case DT_STRTAB:
            module->strings = (const char *)address;
            break;
        case DT_JMPREL:
            module->tables[0] = (const ElfW(Rela) *)address;
            break;
        case DT_PLTRELSZ:
            module->table_bytes[0] = entry->d_un.d_val;
            break;
        case DT_RELA:
            module->tables[1] = (const ElfW(Rela) *)address;
            break;
        case DT_RELASZ:
            module->table_bytes[1] = entry->d_un.d_val;
            break;
        default:
            break;
        }
    }
}

static struct module module_of(const struct dl_phdr_info *info)
{
    struct module module = {.base = info->dlpi_addr};

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

        if (segment->p_type == PT_DYNAMIC)
            read_dynamic(&module, (const ElfW(Dyn) *)(module.base + segment->p_vaddr));
        if (segment->p_type == PT_GNU_RELRO) {
            module.relro = module.base + segment->p_vaddr;
            module.relro_end = module.relro + segment->p_memsz;
        }
    }
    return module;
}

static void add_entry(struct fg_got_hook *hook, const struct module *module, uintptr_t at)
{
    if (hook->n == FG_GOT_MAX_ENTRIES)
        return;
    hook->entries[hook->n++] = (struct fg_got_entry){
        .at = (void **)at,
        .original = *(void **)at,
        .is_protected = at >= module->relro && at < module->relro_end,
    };
}

static void find_in_table(const struct search *search, const struct module *module, int table)
{
    const ElfW(Rela) *entry = module->tables[table];
    const ElfW(Rela) *end = entry + module->table_bytes[table] / sizeof(*entry);

    for (; entry && entry < end; entry++) {
        const ElfW(Sym) *symbol = &module->symbols[ELF64_R_SYM(entry->r_info)];

        if (IS_CALL_ENTRY(ELF64_R_TYPE(entry->r_info)) &&
            strcmp(module->strings + symbol->st_name, search->symbol) == 0)
            add_entry(search->hook, module, module->base + entry->r_offset);
    }
}

static int visit(struct dl_phdr_info *info, size_t bytes, void *arg)
{
    const struct search *search = arg;
    struct module module;

    (void)bytes;
    if (!holds(info, search->address))
        return 0;
    module = module_of(info);
    if (module.symbols && module.strings) {
        find_in_table(search, &module, 0);
        find_in_table(search, &module, 1);
    }
    return 1;
}

static int protect(const struct fg_got_entry *entry, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

    if (!entry->is_protected)
        return 0;
    return mprotect((void *)((uintptr_t)entry->at & ~(page - 1)), page, protection) == 0 ? 0 : -errno;
}

static int set_entry(const struct fg_got_entry *entry, void *from, void *to)
{
    int error = protect(entry, PROT_READ | PROT_WRITE);

    if (error)
        return error;
    /* atomic: other threads call through the entry at the same time */
    __atomic_compare_exchange_n(entry->at, &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    protect(entry, PROT_READ);
    return 0;
}

int fg_got_replace(struct fg_got_hook *hook, const void *address, const char *symbol, void *replacement)
{
    struct search search = {hook, (uintptr_t)address, symbol};
    int error = 0;

    *hook = (struct fg_got_hook){.replacement = replacement};
    dl_iterate_phdr(visit, &search);
    if (!hook->n)
        return -ENOENT;
    for (size_t i = 0; !error && i < hook->n; i++)
        error = set_entry(&hook->entries[i], hook->entries[i].original, replacement);
    if (error)
        fg_got_restore(hook);
    return error;
}

void fg_got_restore(struct fg_got_hook *hook)
{
    for (size_t i = 0; i < hook->n; i++)
        set_entry(&hook->entries[i], hook->replacement, hook->entries[i].original);
    hook->n = 0;
}
