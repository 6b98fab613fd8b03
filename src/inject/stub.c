/* The stub's code, for x86-64. It is never executed here: it is data, to be copied. */
#include "inject/stub.h"

#include <string.h>

#ifdef __x86_64__

#include <cpuid.h>

#include "inject/process.h"

/* At least all state but that of AMX, of which kernels that know it say how much it is: AVX-512, MPX and PKRU
 * end at 2,696 (Intel SDM volume 1, 13.5). */
#define KNOWN_STATE_BYTES 4096

#define AT(member, offset) _Static_assert(offsetof(struct fg_stub, member) == (offset), "known to the code")
AT(call, 0);
AT(resume_rip, 8);
AT(resume_rax, 16);
AT(eintr_rip, 24);
AT(signal_mask, 32);
AT(xsave_bytes, 40);
AT(functions.pthread_create, 48);
AT(functions.pthread_detach, 56);
AT(functions.add_pending_call, 64);
AT(functions.is_initialized, 72);
AT(functions.is_finalizing, 80);
AT(functions.gil_ensure, 88);
AT(functions.gil_release, 96);
AT(functions.run_string, 104);
AT(all_signals, 112);
_Static_assert(sizeof(struct fg_stub) == 128, "known to the code");

/* rt_sigprocmask(SIG_SETMASK, set, old, 8). System calls of libc would leave an errno of their own. */
#define SET_MASK(set, old)                                                                                   \
    "movl $2, %edi\n"                                                                                        \
    "leaq " set ", %rsi\n" old "\n"                                                                          \
    "movl $8, %r10d\n"                                                                                       \
    "movl $14, %eax\n"                                                                                       \
    "syscall\n"
#define NO_OLD_MASK "xorl %edx, %edx"

/* Zeros below an address: no address of the stub stays on a stack, where it would look like a call. The stack
 * of a thread that has ended is the next one's. */
#define CALL_ROOM "24576"
_Static_assert(FG_STUB_CALL_ROOM_BYTES == 24576, "known to the code");

/* entry: on the stack of the thread that was stopped. Below its red zone come the address to go on at, the
 * flags and the 15 registers; %rbp stays there. Then the processor's other state. Signals are blocked
 * throughout, so that no handler runs between a system call that was interrupted and its repetition. If a
 * signal came meanwhile, the system call ends with EINTR, as it would have without us: a program that waits
 * must see its signals.
 *
 * spawn: an `int (*)(void *)`, as pending calls are. Its thread gets no signals: they belong to the program's
 * threads.
 *
 * thread: takes the GIL and runs the text. */
/* With macros between strings clang-format indents ever further. */
/* clang-format off */
__asm__(
    ".pushsection .rodata\n"
    ".balign 16\n"
    "fg_stub_data:\n"
    ".zero 128\n"
    "fg_stub_entry:\n"
    "leaq -136(%rsp), %rsp\n"
    "pushfq\n"
    "cld\n"
    "pushq %rax\n"
    "pushq %rcx\n"
    "pushq %rdx\n"
    "pushq %rbx\n"
    "pushq %rbp\n"
    "pushq %rsi\n"
    "pushq %rdi\n"
    "pushq %r8\n"
    "pushq %r9\n"
    "pushq %r10\n"
    "pushq %r11\n"
    "pushq %r12\n"
    "pushq %r13\n"
    "pushq %r14\n"
    "pushq %r15\n"
    "movq %rsp, %rbp\n"
    "leaq fg_stub_data(%rip), %rbx\n"
    SET_MASK("112(%rbx)", NO_OLD_MASK)
    /* XSAVE does not write all of its header, and XRSTOR demands zeros there (Intel SDM volume 1, 13.4.2). */
    "subq 40(%rbx), %rsp\n"
    "andq $-64, %rsp\n"
    "movq %rsp, %r12\n"
    "xorl %eax, %eax\n"
    "leaq 512(%rsp), %rdi\n"
    "movl $8, %ecx\n"
    "rep stosq\n"
    "movl $-1, %eax\n"
    "movl $-1, %edx\n"
    "xsave64 (%r12)\n"
    "cmpq $0, (%rbx)\n"
    "jne 1f\n"
    "call fg_stub_spawn\n"
    "jmp 2f\n"
    "1: leaq fg_stub_spawn(%rip), %rdi\n"
    "movq %rbx, %rsi\n"
    "call *64(%rbx)\n"
    "2: movl $-1, %eax\n"
    "movl $-1, %edx\n"
    "xrstor64 (%r12)\n"
    "movq 8(%rbx), %r13\n"
    "movq 16(%rbx), %r14\n"
    "cmpq $0, 24(%rbx)\n"
    "je 3f\n"
    /* rt_sigpending(set, 8) */
    "movq %r12, %rdi\n"
    "movl $8, %esi\n"
    "movl $127, %eax\n"
    "syscall\n"
    "movq 32(%rbx), %rax\n"
    "notq %rax\n"
    "andq (%r12), %rax\n"
    "jz 3f\n"
    "movq 24(%rbx), %r13\n"
    "movq $-4, %r14\n" /* -EINTR */
    "3: movq 40(%rbx), %rcx\n"
    "addq $" CALL_ROOM ", %rcx\n"
    "andq $-8, %rcx\n"
    "movq %rbp, %rdi\n"
    "subq %rcx, %rdi\n"
    "shrq $3, %rcx\n"
    "xorl %eax, %eax\n"
    "rep stosq\n"
    "movq %r13, 128(%rbp)\n"
    "movq %r14, 112(%rbp)\n"
    SET_MASK("32(%rbx)", NO_OLD_MASK)
    "movq %rbp, %rsp\n"
    "popq %r15\n"
    "popq %r14\n"
    "popq %r13\n"
    "popq %r12\n"
    "popq %r11\n"
    "popq %r10\n"
    "popq %r9\n"
    "popq %r8\n"
    "popq %rdi\n"
    "popq %rsi\n"
    "popq %rbp\n"
    "popq %rbx\n"
    "popq %rdx\n"
    "popq %rcx\n"
    "popq %rax\n"
    "popfq\n"
    "ret $128\n"

    "fg_stub_spawn:\n"
    "pushq %rbx\n"
    "subq $32, %rsp\n"
    "leaq fg_stub_data(%rip), %rbx\n"
    SET_MASK("112(%rbx)", "leaq 8(%rsp), %rdx")
    "movq %rsp, %rdi\n"
    "xorl %esi, %esi\n"
    "leaq fg_stub_thread(%rip), %rdx\n"
    "movq %rbx, %rcx\n"
    "call *48(%rbx)\n"
    "testl %eax, %eax\n"
    "jne 4f\n"
    "movq (%rsp), %rdi\n"
    "call *56(%rbx)\n"
    "4: leaq -" CALL_ROOM "(%rsp), %rdi\n"
    "movl $" CALL_ROOM " / 8, %ecx\n"
    "xorl %eax, %eax\n"
    "rep stosq\n"
    SET_MASK("8(%rsp)", NO_OLD_MASK)
    "xorl %eax, %eax\n"
    "addq $32, %rsp\n"
    "popq %rbx\n"
    "ret\n"

    /* After Py_FinalizeEx() there is no interpreter to take the GIL of. */
    "fg_stub_thread:\n"
    "pushq %rbx\n"
    "pushq %r12\n"
    "subq $8, %rsp\n"
    "movq %rdi, %rbx\n"
    "call *72(%rbx)\n"
    "testl %eax, %eax\n"
    "je 5f\n"
    "call *80(%rbx)\n"
    "testl %eax, %eax\n"
    "jne 5f\n"
    "call *88(%rbx)\n"
    "movl %eax, %r12d\n"
    "leaq fg_stub_end(%rip), %rdi\n"
    "call *104(%rbx)\n"
    "movl %r12d, %edi\n"
    "call *96(%rbx)\n"
    "5: leaq -" CALL_ROOM "(%rsp), %rdi\n"
    "movl $" CALL_ROOM " / 8, %ecx\n"
    "xorl %eax, %eax\n"
    "rep stosq\n"
    "addq $8, %rsp\n"
    "popq %r12\n"
    "popq %rbx\n"
    "ret\n"
    "fg_stub_end:\n"
    ".byte 0\n"
    ".globl fg_stub_data, fg_stub_entry, "
    "fg_stub_spawn, fg_stub_end\n"
    ".hidden fg_stub_data, fg_stub_entry, "
    "fg_stub_spawn, fg_stub_end\n"
    ".popsection\n");
/* clang-format on */

extern const char fg_stub_data[], fg_stub_entry[], fg_stub_spawn[], fg_stub_end[];

size_t fg_stub_size_bytes(size_t text_bytes)
{
    return (size_t)(fg_stub_end - fg_stub_data) + text_bytes + 1;
}

void fg_stub_write(void *into, const struct fg_stub *stub, const char *text)
{
    size_t code_bytes = (size_t)(fg_stub_end - fg_stub_data);
    struct fg_stub whole = *stub;

    whole.all_signals = UINT64_MAX;
    whole.magic = FG_STUB_MAGIC;
    memcpy(into, fg_stub_data, code_bytes);
    memcpy(into, &whole, sizeof(whole));
    memcpy((char *)into + code_bytes, text, strlen(text) + 1);
}

size_t fg_stub_entry_offset(void)
{
    return (size_t)(fg_stub_entry - fg_stub_data);
}

size_t fg_stub_spawn_offset(void)
{
    return (size_t)(fg_stub_spawn - fg_stub_data);
}

uint64_t fg_stub_state_bytes(uint64_t cpuid_bytes, uint64_t frame_bytes)
{
    uint64_t bytes = KNOWN_STATE_BYTES;

    if (cpuid_bytes > bytes)
        bytes = cpuid_bytes;
    if (frame_bytes > bytes)
        bytes = frame_bytes;
    return bytes + 64; /* for alignment */
}

uint64_t fg_stub_xsave_bytes(pid_t pid)
{
    unsigned eax, ebx, ecx, edx;

    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
        return 0;
    if (!__get_cpuid_count(13, 0, &eax, &ebx, &ecx, &edx))
        return 0;
    return fg_stub_state_bytes(ebx, fg_signal_frame_bytes(pid));
}

#endif
