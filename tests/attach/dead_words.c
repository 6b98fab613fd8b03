/* Loaded by a test's program: call_over_dead_words() has a frame full of addresses of the loader and of
 * malloc() that no thread returns to. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

enum { NR_WORDS = 1024, CALL = 0xe8, CALL_BYTES = 5 };

static uint64_t dead[NR_WORDS];
static size_t nr_dead, nr_found;

static void add(uint64_t word)
{
    if (nr_dead < NR_WORDS)
        dead[nr_dead++] = word;
}

/* Add return addresses of calls that code makes within itself, and the functions that it calls. */
static void add_calls(uint64_t low, uint64_t high, size_t most)
{
    const uint8_t *at, *end = (const uint8_t *)(uintptr_t)high;
    size_t before = nr_dead;

    for (at = (const uint8_t *)(uintptr_t)low; at + CALL_BYTES < end && nr_dead < before + most; at++) {
        int32_t distance;
        uint64_t to;

        memcpy(&distance, at + 1, sizeof(distance));
        to = (uint64_t)(uintptr_t)at + CALL_BYTES + (uint64_t)(int64_t)distance;
        if (*at != CALL || to < low || to >= high)
            continue;
        add((uint64_t)(uintptr_t)at + CALL_BYTES);
        add(to);
    }
}

static int add_loader(struct dl_phdr_info *info, size_t size, void *data)
{
    int i;

    (void)size;
    (void)data;
    if (strstr(info->dlpi_name, "/ld-") == NULL && strstr(info->dlpi_name, "/ld.") == NULL)
        return 0;
    for (i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t low = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_LOAD && part->p_flags & PF_X)
            add_calls(low, low + part->p_memsz, NR_WORDS / 2);
    }
    return 0;
}

/* The beginning of malloc() and, after it, what may be calls. */
static void add_malloc(void)
{
    const uint8_t *code = dlsym(RTLD_DEFAULT, "malloc");
    size_t i;

    add((uint64_t)(uintptr_t)code);
    for (i = 0; i < 256; i++) {
        if (code[i] == CALL)
            add((uint64_t)(uintptr_t)code + i + CALL_BYTES);
    }
}

__attribute__((constructor)) static void collect(void)
{
    size_t i;

    add_malloc();
    dl_iterate_phdr(add_loader, NULL);
    nr_found = nr_dead;
    for (i = 0; nr_dead < NR_WORDS; i++)
        add(dead[i]);
}

/* Return: how many were found. */
int nr_dead_words(void)
{
    return (int)nr_found;
}

__attribute__((noinline)) void call_over_dead_words(void (*function)(void))
{
    uint64_t words[NR_WORDS];

    memcpy(words, dead, sizeof(words));
    __asm__ volatile("" : : "r"(words) : "memory");
    function();
    __asm__ volatile("" : : "r"(words) : "memory");
}
