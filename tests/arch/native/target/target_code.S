/* Functions whose first instructions are what each says. tests/arch/native/support/planned.c has the plans. */


    .text

    .globl target_read_word
    .type target_read_word, @function
target_read_word:
    .cfi_startproc
    movq word(%rip), %rax
    ret
    .cfi_endproc
    .size target_read_word, . - target_read_word

    .globl target_branch
    .type target_branch, @function
target_branch:
    .cfi_startproc
    testq %rdi, %rdi
    jz 1f
    movl $20, %eax
    ret
1:  movl $10, %eax
    ret
    .cfi_endproc
    .size target_branch, . - target_branch

    .globl target_leaf
    .type target_leaf, @function
target_leaf:
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    movq %rsp, %rbp
    leaq 1(%rdi), %rax
    popq %rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size target_leaf, . - target_leaf

    /* Has values in the red zone, in flags and in registers that are a caller's own. */
    .globl target_place
    .type target_place, @function
target_place:
    .cfi_startproc
    movq %rdi, -8(%rsp)         /* at 0 */
    movq %rdi, -128(%rsp)       /* at 5 */
    cmpq $5, %rdi               /* at 10 */
    leaq 3(%rdi), %rax          /* at 14 */
    leaq (%rax, %rdi), %rax     /* at 18 */
    ja 1f                       /* at 22 */
    addq -8(%rsp), %rax
    addq -128(%rsp), %rax
1:  ret
    .cfi_endproc
    .size target_place, . - target_place

    .globl target_misaligned
    .type target_misaligned, @function
target_misaligned:
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    movq %rsp, %rbp
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call *%rdi
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size target_misaligned, . - target_misaligned

/* ---- many functions of 16 bytes, all alike */

    .globl target_many
    .type target_many, @function
    .size target_many, 16
    .balign 16
target_many:
    .rept 1000
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    movq %rsp, %rbp
    leaq 1(%rdi), %rax
    popq %rbp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .balign 16, 0xcc
    .endr

/* ---- registers: each has a value of its own, which is another one when the function returns */

    .globl target_check_registers
    .type target_check_registers, @function
target_check_registers:
    .cfi_startproc
check_registers:
    cmpq $0x101, %rax
    jne 1f
    cmpq $0x102, %rcx
    jne 1f
    cmpq $0x103, %rdx
    jne 1f
    cmpq $0x104, %rsi
    jne 1f
    cmpq $0x105, %rdi
    jne 1f
    cmpq $0x106, %r8
    jne 1f
    cmpq $0x107, %r9
    jne 1f
    cmpq $0x108, %r10
    jne 1f
    cmpq $0x109, %r11
    jne 1f
    cmpq $0x10a, %rbx
    jne 1f
    cmpq $0x10b, %rbp
    jne 1f
    cmpq $0x10c, %r12
    jne 1f
    cmpq $0x10d, %r13
    jne 1f
    cmpq $0x10e, %r14
    jne 1f
    cmpq $0x10f, %r15
    jne 1f
    movq $0x201, %rax
    movq $0x202, %rcx
    movq $0x203, %rdx
    movq $0x204, %rsi
    movq $0x205, %rdi
    movq $0x206, %r8
    movq $0x207, %r9
    movq $0x208, %r10
    movq $0x209, %r11
    ret
1:  xorl %eax, %eax
    ret
    .cfi_endproc
    .size target_check_registers, . - target_check_registers

.macro expect register, value, number
    cmpq $\value, %\register
    jne \number\()f
.endm

    .globl target_fill_registers
    .type target_fill_registers, @function
target_fill_registers:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $8, %rsp
    movq $0x101, %rax
    movq $0x102, %rcx
    movq $0x103, %rdx
    movq $0x104, %rsi
    movq $0x105, %rdi
    movq $0x106, %r8
    movq $0x107, %r9
    movq $0x108, %r10
    movq $0x109, %r11
    movq $0x10a, %rbx
    movq $0x10b, %rbp
    movq $0x10c, %r12
    movq $0x10d, %r13
    movq $0x10e, %r14
    movq $0x10f, %r15
    call check_registers /* directly: a PLT may change r11 */
    expect rax, 0x201, 1
    expect rcx, 0x202, 2
    expect rdx, 0x203, 3
    expect rsi, 0x204, 4
    expect rdi, 0x205, 5
    expect r8, 0x206, 6
    expect r9, 0x207, 7
    expect r10, 0x208, 8
    expect r11, 0x209, 9
    expect rbx, 0x10a, 10
    expect rbp, 0x10b, 11
    expect r12, 0x10c, 12
    expect r13, 0x10d, 13
    expect r14, 0x10e, 14
    expect r15, 0x10f, 15
    xorl %eax, %eax
    jmp 20f
1:  movl $1, %eax
    jmp 20f
2:  movl $2, %eax
    jmp 20f
3:  movl $3, %eax
    jmp 20f
4:  movl $4, %eax
    jmp 20f
5:  movl $5, %eax
    jmp 20f
6:  movl $6, %eax
    jmp 20f
7:  movl $7, %eax
    jmp 20f
8:  movl $8, %eax
    jmp 20f
9:  movl $9, %eax
    jmp 20f
10: movl $10, %eax
    jmp 20f
11: movl $11, %eax
    jmp 20f
12: movl $12, %eax
    jmp 20f
13: movl $13, %eax
    jmp 20f
14: movl $14, %eax
    jmp 20f
15: movl $15, %eax
20: addq $8, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
    .size target_fill_registers, . - target_fill_registers

/* ---- all 256 bits of all vector registers, and the x87 stack and mxcsr */

    .globl target_check_vectors
    .type target_check_vectors, @function
target_check_vectors:
check_vectors:
    leaq before(%rip), %rax
    xorl %ecx, %ecx
.macro compare register, number
    vmovdqu \number * 32(%rax), %ymm\register
.endm
    .set i, 0
    .rept 16
    subq $32, %rsp
    .set i, i + 1
    .endr
    vmovdqu %ymm0, 0(%rsp)
    vmovdqu %ymm1, 32(%rsp)
    vmovdqu %ymm2, 64(%rsp)
    vmovdqu %ymm3, 96(%rsp)
    vmovdqu %ymm4, 128(%rsp)
    vmovdqu %ymm5, 160(%rsp)
    vmovdqu %ymm6, 192(%rsp)
    vmovdqu %ymm7, 224(%rsp)
    vmovdqu %ymm8, 256(%rsp)
    vmovdqu %ymm9, 288(%rsp)
    vmovdqu %ymm10, 320(%rsp)
    vmovdqu %ymm11, 352(%rsp)
    vmovdqu %ymm12, 384(%rsp)
    vmovdqu %ymm13, 416(%rsp)
    vmovdqu %ymm14, 448(%rsp)
    vmovdqu %ymm15, 480(%rsp)
1:  movq (%rsp,%rcx), %rdx
    cmpq (%rax,%rcx), %rdx
    jne 2f
    addq $8, %rcx
    cmpq $512, %rcx
    jne 1b
    leaq 512(%rax), %rax
    vmovdqu 0(%rax), %ymm0
    vmovdqu 32(%rax), %ymm1
    vmovdqu 64(%rax), %ymm2
    vmovdqu 96(%rax), %ymm3
    vmovdqu 128(%rax), %ymm4
    vmovdqu 160(%rax), %ymm5
    vmovdqu 192(%rax), %ymm6
    vmovdqu 224(%rax), %ymm7
    vmovdqu 256(%rax), %ymm8
    vmovdqu 288(%rax), %ymm9
    vmovdqu 320(%rax), %ymm10
    vmovdqu 352(%rax), %ymm11
    vmovdqu 384(%rax), %ymm12
    vmovdqu 416(%rax), %ymm13
    vmovdqu 448(%rax), %ymm14
    vmovdqu 480(%rax), %ymm15
    fld1
    fldpi
2:  addq $512, %rsp
    ret
    .size target_check_vectors, . - target_check_vectors

    .globl target_fill_vectors
    .type target_fill_vectors, @function
target_fill_vectors:
    subq $536, %rsp
    leaq before(%rip), %rax
    vmovdqu 0(%rax), %ymm0
    vmovdqu 32(%rax), %ymm1
    vmovdqu 64(%rax), %ymm2
    vmovdqu 96(%rax), %ymm3
    vmovdqu 128(%rax), %ymm4
    vmovdqu 160(%rax), %ymm5
    vmovdqu 192(%rax), %ymm6
    vmovdqu 224(%rax), %ymm7
    vmovdqu 256(%rax), %ymm8
    vmovdqu 288(%rax), %ymm9
    vmovdqu 320(%rax), %ymm10
    vmovdqu 352(%rax), %ymm11
    vmovdqu 384(%rax), %ymm12
    vmovdqu 416(%rax), %ymm13
    vmovdqu 448(%rax), %ymm14
    vmovdqu 480(%rax), %ymm15
    stmxcsr 520(%rsp)
    movl 520(%rsp), %eax
    xorl $0x6000, %eax              /* rounds to zero */
    movl %eax, 524(%rsp)
    ldmxcsr 524(%rsp)
    call check_vectors
    stmxcsr 528(%rsp)
    ldmxcsr 520(%rsp)
    movl 524(%rsp), %eax
    cmpl 528(%rsp), %eax
    jne 3f
    vmovdqu %ymm0, 0(%rsp)
    vmovdqu %ymm1, 32(%rsp)
    vmovdqu %ymm2, 64(%rsp)
    vmovdqu %ymm3, 96(%rsp)
    vmovdqu %ymm4, 128(%rsp)
    vmovdqu %ymm5, 160(%rsp)
    vmovdqu %ymm6, 192(%rsp)
    vmovdqu %ymm7, 224(%rsp)
    vmovdqu %ymm8, 256(%rsp)
    vmovdqu %ymm9, 288(%rsp)
    vmovdqu %ymm10, 320(%rsp)
    vmovdqu %ymm11, 352(%rsp)
    vmovdqu %ymm12, 384(%rsp)
    vmovdqu %ymm13, 416(%rsp)
    vmovdqu %ymm14, 448(%rsp)
    vmovdqu %ymm15, 480(%rsp)
    vzeroupper
    leaq 512 + before(%rip), %rax
    xorl %ecx, %ecx
1:  movq (%rsp,%rcx), %rdx
    cmpq (%rax,%rcx), %rdx
    jne 2f
    addq $8, %rcx
    cmpq $512, %rcx
    jne 1b
    fldpi
    fcomip %st(1), %st              /* what the function left: pi above 1 */
    jne 3f
    fstp %st(0)
    fld1
    fcomip %st(1), %st
    jne 3f
    fstp %st(0)
    xorl %eax, %eax
    jmp 4f
2:  movl $1, %eax
    jmp 4f
3:  movl $2, %eax
4:  addq $536, %rsp
    ret
    .size target_fill_vectors, . - target_fill_vectors

    .globl target_word
    .type target_word, @function
target_word:
    .cfi_startproc
    leaq word(%rip), %rax
    ret
    .cfi_endproc
    .size target_word, . - target_word

    .data
    .balign 8
word:
    .quad 4711

    .section .rodata
    .balign 32
before:
    .set i, 0
    .rept 128
    .quad 0x0123456789abcdef + i * 0x0101010101010101
    .set i, i + 1
    .endr

    .section .note.GNU-stack, "", @progbits
