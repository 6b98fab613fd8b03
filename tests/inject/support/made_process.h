/* A process that is only memory: code with call frame information for some functions, and a stack. */
#ifndef MADE_PROCESS_H
#define MADE_PROCESS_H

#include <sys/user.h>

#include "inject/unwind/stack.h"

/* Functions, by address. All but UNKNOWN are described. In each, the bytes before address + AFTER_CALL are a
 * call of LEAF. */
enum {
    CODE = 0x10000,
    LEAF = 0x10100,    /* nothing is on the stack but the return address */
    PUSHES = 0x10200,  /* pushes %rbx after 4 bytes, 16 more bytes after 8; all is popped from 0xc0 to 0xc8 */
    FRAMED = 0x10300,  /* has its frame's address in %rbp, and the caller's %rbp at it */
    ALIGNED = 0x10400, /* has it at -8(%rbp), as functions do that align their frame */
    TABLE = 0x10500,   /* as an entry of a linkage table: 8 more bytes from the 11th of each 16 on */
    START = 0x10600,   /* has no caller */
    RETURNS = 0x10700, /* what signal handlers return to */
    SAVES_SP = 0x10800, /* the caller's %rsp is in %rbx, its return address in %r12 */
    UNKNOWN = 0x10900,  /* nothing describes it */
    END_OF_CODE = 0x11000,
    INDEX = 0x12000,  /* .eh_frame_hdr */
    TABLES = 0x12100, /* .eh_frame */
    IMAGE_END = 0x13000,
    AFTER_CALL = 0x40,

    STACK = 0x20000,
    STACK_END = 0x24000,
};

struct made_process {
    unsigned char image[IMAGE_END - CODE];
    uint64_t stack[(STACK_END - STACK) / 8];
    size_t nr_reads;
    struct fg_segment segment;
    struct fg_code code;
    struct fg_memory memory;
    struct user_regs_struct regs;
};

/* A new one, with nothing on its stack; to be closed. */
void made_process_open(struct made_process *process);
void made_process_close(struct made_process *process);

/* What has been read is read again. */
void made_process_forget(struct made_process *process);

/* Words of its stack, from `at` on. */
void made_process_put(struct made_process *process, uint64_t at, size_t nr_words, const uint64_t *words);

/* What fg_stack_visit() found in it. */
struct visited {
    uint64_t places[64];
    enum fg_stack_find finds[64];
    size_t nr; /* more are only counted */
    int result;
};

struct visited made_process_visit(struct made_process *process);

#endif
