/* Where things are that both C and assembly know: a trampoline, an entry, a stub. */
#ifndef FG_X86_64_LAYOUT_H
#define FG_X86_64_LAYOUT_H

/* A trampoline: code, its data, and the moved instructions. */
#define FG_TRAMPOLINE_BYTES 128
#define FG_TRAMPOLINE_SITE 24  /* struct fg_native_site */
#define FG_PLACE_DOWN 5        /* of a place: where the stack pointer has changed, */
#define FG_PLACE_UP 11         /* and where it is changed back, to which fg_x86_64_place returns */
#define FG_TRAMPOLINE_MOVED 48 /* the moved instructions, and the jump to the rest of the function */

/* struct fg_native_entry, and the stub of the same number. */
#define FG_ENTRY_SHIFT 5
#define FG_ENTRY_BYTES (1 << FG_ENTRY_SHIFT)
#define FG_ENTRIES 16384
#define FG_STUB_BYTES FG_ENTRY_BYTES
#define FG_STUB_RETURN 4 /* where the function returns to */
#define FG_STUB_PUSH 12  /* the instruction that pushes the caller's address */
#define FG_STUB_END 18   /* the instruction after it */

#endif
