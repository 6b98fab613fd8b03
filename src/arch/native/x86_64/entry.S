/* The way into a hooked function and back, around the C code that reports the call to the engine.
 *
 * A hooked function begins with a jump to its trampoline, which comes to fg_x86_64_enter with
 *
 *     r11            the trampoline
 *     -8(%rsp)       the r11 of the caller
 *     (%rsp)         the return address, at a place that is called S below
 *
 * All registers are as the caller left them when the function's moved instructions run, also those that no calling
 * convention passes arguments in: a compiler that sees both functions keeps values there (-fipa-ra). Vector registers
 * are not touched on the fast path, whose C code is built without them. The slow path saves all of them.
 *
 * If the return is traced, the return address is taken off the stack into an entry, and the entry's stub calls
 * the function. So each call has its return, for the processor's predictor and for a shadow stack, and arguments on the
 * stack are where the function looks for them. Each entry has a stub of its own: the return address on the stack names
 * the entry, wherever that stack is by then, and in whatever thread it runs.
 *
 * Values below the stack pointer are safe for 128 bytes (the red zone): no signal handler touches them. */
#include "arch/native/x86_64/layout.h"

.macro push_register register:vararg
    pushq %\register
    .cfi_adjust_cfa_offset 8
.endm

.macro pop_register register:vararg
    popq %\register
    .cfi_adjust_cfa_offset -8
.endm

/* The caller-saved registers but r11, in the order of struct fg_machine_registers. */
.macro push_caller_saved
    .irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10
    push_register \register
    .endr
.endm

.macro pop_caller_saved
    .irp register, r10, r9, r8, rdi, rsi, rdx, rcx, rax
    pop_register \register
    .endr
.endm

/* The flags, and the registers that a function keeps for its caller: struct kept_registers. */
.macro push_kept
    pushfq
    .cfi_adjust_cfa_offset 8
    .irp register, r15, r14, r13, r12, rbp, rbx
    push_register \register
    .cfi_rel_offset \register, 0
    .endr
.endm

/* Back to before push_kept: of these registers only rbx was changed. */
.macro drop_kept
    movq (%rsp), %rbx
    .irp register, rbx, rbp, r12, r13, r14, r15
    .cfi_restore \register
    .endr
    leaq 56(%rsp), %rsp
    .cfi_adjust_cfa_offset -56
.endm

    .text

/* ---- into the function */

    .globl fg_x86_64_enter
    .hidden fg_x86_64_enter
    .type fg_x86_64_enter, @function
    .balign 64
fg_x86_64_enter:
    .cfi_startproc
    endbr64
    leaq -16(%rsp), %rsp        /* S-8: r11, S-16: free */
    .cfi_adjust_cfa_offset 16
    push_caller_saved
    push_register r11
    leaq FG_TRAMPOLINE_SITE(%r11), %rdi
    leaq 88(%rsp), %rsi
    movq %rsp, %rdx
    call fg_native_enter
1:  cmpq $1, %rax
    jbe 2f
    /* The return is traced: to the stub of the entry, which has the address of the moved instructions at S-8. */
    .cfi_remember_state
    subq $(fg_native_entries - fg_x86_64_stubs), %rax
    pop_register rcx
    addq $FG_TRAMPOLINE_MOVED, %rcx
    movq 72(%rsp), %r11
    movq %rcx, 72(%rsp)
    movq %rax, 64(%rsp)
    pop_caller_saved
    leaq 24(%rsp), %rsp
    .cfi_adjust_cfa_offset -24
    jmp *-24(%rsp)
    .cfi_restore_state
2:  je 3f                       /* the slow path decides */
    /* It is not: to the moved instructions. */
    pop_register rcx
    addq $FG_TRAMPOLINE_MOVED, %rcx
    movq 72(%rsp), %r11
    movq %rcx, 72(%rsp)
    pop_caller_saved
    leaq 16(%rsp), %rsp
    .cfi_adjust_cfa_offset -16
    jmp *-8(%rsp)
    .cfi_endproc

/* The slow path, with all vector registers saved. */
    .cfi_startproc
    .cfi_def_cfa_offset 96
3:  movq (%rsp), %rdi
    leaq FG_TRAMPOLINE_SITE(%rdi), %rdi
    leaq 88(%rsp), %rsi
    movq %rsp, %rcx
    push_kept
    movq %rsp, %rbx
    .cfi_def_cfa_register rbx
    leaq fg_native_enter_slow(%rip), %r11
    call with_vectors_saved
    movq %rbx, %rsp
    .cfi_def_cfa_register rsp
    drop_kept
    jmp 1b
    .cfi_endproc
    .size fg_x86_64_enter, . - fg_x86_64_enter

/* Calls the function in r11 with rdi, rsi, where the vector registers are saved, and rcx; its result is in rax.
 * The caller has its stack pointer in rbx.
 *
 * XSAVE and XRSTOR take 60 ns, moves of all registers 10. The processor says which components are in use (XGETBV with
 * ecx = 1): only these are moved, and no others are in use afterwards, for SSE code is slow while upper halves are. Where
 * x87 is in use, or the processor cannot say, it is XSAVE. */

#define SAVE(kind, n) vmovups %kind##n, FG_SAVED_REGISTER(n)(%rsp)
#define LOAD(kind, n) vmovups FG_SAVED_REGISTER(n)(%rsp), %kind##n
#define LOWER(move, kind)                                                                                    \
    move(kind, 0); move(kind, 1); move(kind, 2); move(kind, 3); move(kind, 4); move(kind, 5);                \
    move(kind, 6); move(kind, 7); move(kind, 8); move(kind, 9); move(kind, 10); move(kind, 11);              \
    move(kind, 12); move(kind, 13); move(kind, 14); move(kind, 15)
#define UPPER(move)                                                                                          \
    move(zmm, 16); move(zmm, 17); move(zmm, 18); move(zmm, 19); move(zmm, 20); move(zmm, 21);                \
    move(zmm, 22); move(zmm, 23); move(zmm, 24); move(zmm, 25); move(zmm, 26); move(zmm, 27);                \
    move(zmm, 28); move(zmm, 29); move(zmm, 30); move(zmm, 31)
#define SAVE_MASK(n) kmovq %k##n, FG_SAVED_MASKS + n * 8(%rsp)
#define LOAD_MASK(n) kmovq FG_SAVED_MASKS + n * 8(%rsp), %k##n
#define MASKS(move) move(0); move(1); move(2); move(3); move(4); move(5); move(6); move(7)

    .type with_vectors_saved, @function
    .balign 64
with_vectors_saved:
    .cfi_startproc
    .cfi_def_cfa rbx, 0
    subq fg_x86_64_save_bytes(%rip), %rsp
    andq $-64, %rsp
    cmpb $0, fg_x86_64_saves_by_moves(%rip)
    je 8f
    movq %rcx, %r10
    movl $1, %ecx
    xgetbv                      /* changes rdx, too */
    movq %r10, %rcx
    andl fg_x86_64_save_mask(%rip), %eax
    testb $FG_STATE_X87, %al
    jne 8f
    movl %eax, FG_SAVED_COMPONENTS(%rsp)
    stmxcsr FG_SAVED_MXCSR(%rsp)
    testb $FG_STATE_AVX512, %al
    jne 2f
    testb $FG_STATE_AVX, %al
    jne 1f
    LOWER(SAVE, xmm)
    jmp 3f
1:  LOWER(SAVE, ymm)
    jmp 3f
2:  LOWER(SAVE, zmm)
3:  testb $FG_STATE_AVX512H, %al
    je 4f
    UPPER(SAVE)
4:  testb $FG_STATE_MASKS, %al
    je 5f
    MASKS(SAVE_MASK)
5:  leaq FG_SAVED_BY_MOVES(%rsp), %rdx
    call *%r11
    movq %rax, %r11
    stmxcsr FG_SAVED_MXCSR + 4(%rsp)
    movl FG_SAVED_MXCSR(%rsp), %eax
    cmpl FG_SAVED_MXCSR + 4(%rsp), %eax
    je 1f
    ldmxcsr FG_SAVED_MXCSR(%rsp)
1:  movl $1, %ecx
    xgetbv
    movl FG_SAVED_COMPONENTS(%rsp), %r8d
    testb $FG_STATE_AVX512, %r8b
    jne 3f
    testb $FG_STATE_AVX512 | FG_STATE_AVX, %al
    je 1f
    vzeroupper
1:  testb $FG_STATE_AVX, %r8b
    jne 2f
    LOWER(LOAD, xmm)
    jmp 4f
2:  LOWER(LOAD, ymm)
    jmp 4f
3:  LOWER(LOAD, zmm)
4:  testb $FG_STATE_AVX512H, %r8b
    je 5f
    UPPER(LOAD)
5:  testb $FG_STATE_MASKS, %r8b
    je 6f
    MASKS(LOAD_MASK)
6:  notl %r8d                   /* what is in use now, and was not */
    andl %r8d, %eax
    andl $FG_STATE_X87 | FG_STATE_MASKS | FG_STATE_AVX512H, %eax
    je 7f
    xorl %edx, %edx
    xrstor fg_x86_64_initial_state(%rip)
7:  movq %r11, %rax
    leaq -8(%rbx), %rsp
    ret

8:  xorl %eax, %eax
    movq %rax, 512(%rsp)        /* the header, parts of which XSAVE leaves as they are */
    movq %rax, 520(%rsp)
    movq %rax, 528(%rsp)
    movq %rax, 536(%rsp)
    movq %rax, 544(%rsp)
    movq %rax, 552(%rsp)
    movq %rax, 560(%rsp)
    movq %rax, 568(%rsp)
    movl fg_x86_64_save_mask(%rip), %eax
    xorl %edx, %edx
    cmpb $0, fg_x86_64_has_xsavec(%rip)
    je 1f
    xsavec (%rsp)
    jmp 2f
1:  xsave (%rsp)
2:  movq %rsp, %rdx
    call *%r11
    movq %rax, %r11
    movl fg_x86_64_save_mask(%rip), %eax
    xorl %edx, %edx
    xrstor (%rsp)
    jmp 7b
    .cfi_endproc
    .size with_vectors_saved, . - with_vectors_saved

/* ---- back from it */

/* Comes from a stub: the return address of the caller is back on the stack, the offset of the entry is below it.
 * The registers lie as they do in fg_x86_64_enter (registers.c). */

/* The entry into rdi. */
.macro load_entry
    movl 80(%rsp), %edi
    leaq fg_native_entries(%rip), %rsi
    addq %rsi, %rdi
.endm

    .type fg_x86_64_leave, @function
    .balign 64
fg_x86_64_leave:
    .cfi_startproc
    leaq -16(%rsp), %rsp        /* S-8: the offset, S-16: free */
    .cfi_adjust_cfa_offset 16
    push_caller_saved
    push_register r11
    load_entry
    movq %rsp, %rsi
    call fg_native_leave
    testq %rax, %rax
    jne 2f
1:  pop_register r11
    pop_caller_saved
    leaq 16(%rsp), %rsp
    .cfi_adjust_cfa_offset -16
    ret
    .cfi_endproc

    .cfi_startproc
    .cfi_def_cfa_offset 96
2:  load_entry
    movq %rax, %rsi             /* the time of the return */
    movq %rsp, %rcx
    push_kept
    movq %rsp, %rbx
    .cfi_def_cfa_register rbx
    leaq fg_native_leave_slow(%rip), %r11
    call with_vectors_saved
    movq %rbx, %rsp
    .cfi_def_cfa_register rsp
    drop_kept
    jmp 1b
    .cfi_endproc
    .size fg_x86_64_leave, . - fg_x86_64_leave

/* ---- a place within a function
 *
 * A trampoline calls this with everything as the function has it, but the stack pointer, which is 128 bytes lower: the
 * function may have values in its red zone. Its stack may have any alignment, and its flags are in use. */

    .globl fg_x86_64_place
    .hidden fg_x86_64_place
    .type fg_x86_64_place, @function
    .balign 64
fg_x86_64_place:
    .cfi_startproc
    push_kept
    cld
    push_caller_saved
    push_register r11
    movq %rsp, %rbx
    .cfi_def_cfa_register rbx
    movq 128(%rbx), %rbp        /* where it returns to: in the trampoline */
    andq $-FG_TRAMPOLINE_BYTES, %rbp
    leaq FG_TRAMPOLINE_SITE(%rbp), %rdi
    andq $-16, %rsp
    call fg_native_place_has_users
    movq %rbx, %rsp
    testb %al, %al
    je 1f
    leaq FG_TRAMPOLINE_SITE(%rbp), %rdi
    leaq 264(%rbx), %rsi        /* the function's stack pointer */
    movq %rbx, %rcx
    leaq fg_native_place(%rip), %r11
    call with_vectors_saved
1:  movq %rbx, %rsp
    .cfi_def_cfa_register rsp
    pop_register r11
    pop_caller_saved
    pop_register rbx
    .cfi_restore rbx
    pop_register rbp
    .cfi_restore rbp
    pop_register r12
    .cfi_restore r12
    pop_register r13
    .cfi_restore r13
    pop_register r14
    .cfi_restore r14
    pop_register r15
    .cfi_restore r15
    popfq
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size fg_x86_64_place, . - fg_x86_64_place

/* ---- the end of a signal's handler
 *
 * Unwinders and debuggers know these two instructions by their bytes, and find the interrupted thread. */

    .globl fg_machine_end_handler
    .hidden fg_machine_end_handler
    .type fg_machine_end_handler, @function
    .balign 16
    nop                         /* an unwinder looks at the instruction before a return address */
fg_machine_end_handler:
    movq $15, %rax              /* rt_sigreturn */
    syscall
    .size fg_machine_end_handler, . - fg_machine_end_handler

/* ---- the stubs
 *
 * What an unwinder does at a stub, which is at rip & -32, as a function's caller:
 *
 *     stack pointer of the caller   rsp, and 8 more where the address was pushed again
 *     return address                is in the entry, at the place that the stub pushes it from
 *     CFA                           the stack pointer and 1: an unwinder tells frames by their CFA, and the caller's
 *                                   is the stack pointer itself
 *
 * An exception that passes ends the call: fg_native_personality.
 *
 * They have a name that other tools find: whoever shows a stack shows it between a function and its caller. */

    .globl funcgraph_return_trampoline
    .type funcgraph_return_trampoline, @function
    .globl fg_x86_64_stubs
    .hidden fg_x86_64_stubs
    .type fg_x86_64_stubs, @function
    .balign 64
funcgraph_return_trampoline:
fg_x86_64_stubs:
    .cfi_startproc
    .cfi_personality 0x1b, fg_native_personality
    /* CFA: rsp + 1 + ((rip & 31) >= FG_STUB_END) * 8 */
    .cfi_escape 0x0f, 11, 0x77, 1, 0x80, 0, 0x4f, 0x1a, 0x30 + FG_STUB_END, 0x2a, 0x33, 0x24, 0x22
    /* rsp: CFA - 1 */
    .cfi_escape 0x16, 7, 2, 0x31, 0x1c
    /* rip is at: stub + FG_STUB_END + the displacement of the instruction that pushes it */
    .cfi_escape 0x10, 16, 13, 0x80, 0, 0x09, 0xe0, 0x1a, 0x12, 0x23, FG_STUB_PUSH + 2, 0x94, 4, 0x22, 0x23, FG_STUB_END
    .globl fg_machine_first_return
    .hidden fg_machine_first_return
    .set fg_machine_first_return, fg_x86_64_stubs + FG_STUB_RETURN
    .set offset, 0
    .rept FG_ENTRIES
    .balign FG_STUB_BYTES, 0xcc
    call *-16(%rsp)                         /* at 0 */
    movl $offset, -16(%rsp)                 /* at FG_STUB_RETURN */
    pushq fg_native_entries + offset(%rip)  /* at FG_STUB_PUSH */
    {disp32} jmp fg_x86_64_leave            /* at FG_STUB_END */
    .set offset, offset + FG_ENTRY_BYTES
    .endr
    .balign FG_STUB_BYTES, 0xcc
    .cfi_endproc
    .size fg_x86_64_stubs, . - fg_x86_64_stubs
    .size funcgraph_return_trampoline, . - funcgraph_return_trampoline

    .section .note.GNU-stack, "", @progbits
