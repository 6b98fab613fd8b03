/* The code that a stopped thread is sent into: it makes one call there, and goes back to where it was.
 *
 * It lies in the target as one piece, which says by itself what it does:
 *
 *     struct fg_stub        what to call, and how to go on
 *     code                  `entry`, `spawn` and `thread`
 *     text                  what the new thread hands to PyRun_SimpleString(), with its NUL
 *
 * The piece is only read and executed there, never written: it fits into pages without write permission. */
#ifndef FG_INJECT_STUB_H
#define FG_INJECT_STUB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum fg_stub_call {
    FG_STUB_SPAWN, /* start the new thread at once */
    FG_STUB_QUEUE, /* let the main thread start it, as a pending call of the interpreter */
};

/* Functions of the target, by address. */
struct fg_stub_functions {
    uint64_t pthread_create;
    uint64_t pthread_detach;
    uint64_t add_pending_call;
    uint64_t is_initialized;
    uint64_t is_finalizing;
    uint64_t gil_ensure;
    uint64_t gil_release;
    uint64_t run_string;
};

/* The assembly knows these offsets. */
struct fg_stub {
    uint64_t call;        /* enum fg_stub_call */
    uint64_t resume_rip;  /* where the thread goes on */
    uint64_t resume_rax;  /* and with which rax: a system call that is made again has its number there */
    uint64_t eintr_rip;   /* where a system call that is made again returns to; 0: none is */
    uint64_t signal_mask; /* the thread's own */
    uint64_t xsave_bytes; /* of the processor's state, with room to align it */
    struct fg_stub_functions functions;
    uint64_t all_signals;
    uint64_t magic; /* FG_STUB_MAGIC */
};

/* Stack that the stub's calls may use, and that it clears afterwards: pthread_create() with the loader's lazy
 * binding under it. */
#define FG_STUB_CALL_ROOM_BYTES 24576

#define FG_STUB_MAGIC UINT64_C(0x6a62757473676601) /* "\1fgstubj" */

/**
 * fg_stub_size() - Size of the piece with a text, without the text's NUL.
 */
size_t fg_stub_size_bytes(size_t text_bytes);

/**
 * fg_stub_write() - Write the piece.
 * @into: fg_stub_size_bytes() bytes
 * @stub: its data; `all_signals` and `magic` are filled in
 * @text: ends with a NUL
 */
void fg_stub_write(void *into, const struct fg_stub *stub, const char *text);

/* Offset of the code that the thread is sent to; of the function that is queued. */
size_t fg_stub_entry_offset(void);
size_t fg_stub_spawn_offset(void);

/**
 * fg_stub_xsave_bytes() - What a thread of a process needs to keep its processor state.
 *
 * Return: the size, or 0 if the processor has no XSAVE.
 */
uint64_t fg_stub_xsave_bytes(pid_t pid);

/* The same, of what CPUID says here and what the kernel says there (fg_signal_frame_bytes). An attacher in an
 * emulator (valgrind) sees a smaller processor than its target. */
uint64_t fg_stub_state_bytes(uint64_t cpuid_bytes, uint64_t frame_bytes);

#endif
