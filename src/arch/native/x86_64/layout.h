/* Where things are that both C and assembly know: a trampoline, an entry, a stub. */
#ifndef FG_X86_64_LAYOUT_H
#define FG_X86_64_LAYOUT_H

/* A trampoline: code, its data, and the moved instructions. */
#define FG_TRAMPOLINE_BYTES 128
#define FG_TRAMPOLINE_SITE 24  /* struct fg_native_site */
#define FG_PLACE_DOWN 5        /* of a place: where the stack pointer has changed, */
#define FG_PLACE_UP 11         /* and where it is changed back, to which fg_x86_64_place returns */
#define FG_TRAMPOLINE_MOVED 48 /* the moved instructions, and the jump to the rest of the function */

/* struct fg_native_entry, and the stub at the same offset. */
#define FG_ENTRY_BYTES 32
#define FG_ENTRIES 16384
#define FG_STUB_BYTES FG_ENTRY_BYTES
#define FG_STUB_RETURN 4 /* where the function returns to */
#define FG_STUB_PUSH 12  /* the instruction that pushes the caller's address */
#define FG_STUB_END 18   /* the instruction after it */

/* Where the slow path saves vector registers by moves, from a multiple of 64. It is handed on
 * with FG_SAVED_BY_MOVES added, which tells it from an area of XSAVE. */
#define FG_SAVED_BY_MOVES 1
#define FG_SAVED_COMPONENTS 0
#define FG_SAVED_MXCSR 8                   /* and a word to compare it with */
#define FG_SAVED_REGISTER(n) (64 + (n)*64) /* the lower bits first */
#define FG_SAVED_MASKS FG_SAVED_REGISTER(32)
#define FG_SAVED_BYTES_AVX FG_SAVED_REGISTER(16)
#define FG_SAVED_BYTES_AVX512 (FG_SAVED_MASKS + 64)

/* Components of the state (Intel SDM volume 1, 13.1). */
#define FG_STATE_X87 0x01
#define FG_STATE_AVX 0x04     /* the upper halves of ymm0 to ymm15 */
#define FG_STATE_MASKS 0x20   /* k0 to k7 */
#define FG_STATE_AVX512 0x40  /* the upper halves of zmm0 to zmm15 */
#define FG_STATE_AVX512H 0x80 /* zmm16 to zmm31 */

#endif
