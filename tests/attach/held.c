/* Loaded by a test's program: a thread that waits for a byte on the standard input, inside the loader or
 * inside malloc().
 *
 * With HELD=loader its constructor waits; with HELD=loader-jit, under code that no call frame information
 * describes. Preloaded, its malloc() waits if the size is HELD_BYTES. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HELD_BYTES = 54321 };

static void wait_for_byte(void)
{
    char byte;

    (void)!write(STDOUT_FILENO, "held\n", 5);
    (void)!read(STDIN_FILENO, &byte, 1);
}

static void call_by_unknown_code(void (*function)(void))
{
    /* sub $0x88, %rsp; call *%rdi; add $0x88, %rsp; ret */
    static const uint8_t code[] = {0x48, 0x81, 0xec, 0x88, 0, 0, 0, 0xff, 0xd7,
                                   0x48, 0x81, 0xc4, 0x88, 0, 0, 0, 0xc3};
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        abort();
    memcpy(at, code, sizeof(code));
    ((void (*)(void (*)(void)))at)(function);
}

__attribute__((constructor)) static void load(void)
{
    const char *where = getenv("HELD");

    if (where != NULL && strcmp(where, "loader") == 0)
        wait_for_byte();
    if (where != NULL && strcmp(where, "loader-jit") == 0)
        call_by_unknown_code(wait_for_byte);
}

void *malloc(size_t size)
{
    static void *(*next)(size_t);

    if (next == NULL)
        next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    if (size == HELD_BYTES)
        wait_for_byte();
    return next(size);
}
