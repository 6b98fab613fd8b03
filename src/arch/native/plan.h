/* A plan: which functions an object (a library, the program) has, which of them can be hooked and how,
 * and else why not. Made outside of the traced process (`funcgraph plan`), read here. One file for each
 * object:
 *
 *     header | functions, sorted by address | fix-ups | code: moved instructions | names
 *
 * Little-endian. Each table begins at a multiple of 8; what fills the place before it is 0. The Python
 * writer has the same layout in `struct` formats; a test compares the two. Addresses are those of the
 * object's file: virtual, before relocation. */
#ifndef FG_PLAN_H
#define FG_PLAN_H

#include <stddef.h>
#include <stdint.h>

#define FG_PLAN_MAGIC "FGPLAN\r\n" /* without the NUL */
#define FG_PLAN_VERSION 1u
#define FG_PLAN_BUILD_ID_BYTES 32u
#define FG_PLAN_ORIGINAL_BYTES 16u
#define FG_PLAN_ALIGNMENT 8u

/* Why a function cannot be hooked. */
enum fg_plan_reason {
    FG_PLAN_HOOKABLE = 0,
    FG_PLAN_TOO_SHORT = 1,
    FG_PLAN_JUMP_TARGET = 2,    /* something jumps to its displaced bytes */
    FG_PLAN_INDIRECT_JUMP = 3,  /* an indirect jump may lead into its displaced bytes */
    FG_PLAN_CALL = 4,           /* a call is among its displaced instructions */
    FG_PLAN_UNMOVABLE = 5,      /* an instruction that means something else in another place */
    FG_PLAN_RETURNS_TWICE = 6,  /* setjmp, vfork */
    FG_PLAN_SHARED_BYTES = 7,   /* shares its bytes with another function, or is a part of a split one */
    FG_PLAN_IFUNC_RESOLVER = 8, /* the dynamic loader calls it before the object is relocated */
    FG_PLAN_BAD_CODE = 9,       /* no instructions, or not at the beginning of one */
    FG_PLAN_UNSAFE = 10,        /* the hook itself or the dynamic loader uses it */
    FG_PLAN_NO_PLACE = 11,      /* no instruction of the function begins at this place */
    FG_PLAN_IN_HEAD = 12,       /* the hook of the function's entry displaces the place */
    FG_PLAN_NR_REASONS
};

/* Bits of fg_plan_function.flags. */
enum fg_plan_flags {
    FG_PLAN_ROOM = 1,  /* the compiler left room for a hook: the displaced bytes are nops */
    FG_PLAN_CALLS = 2, /* its moved call has another return address than a shadow stack would have */
    FG_PLAN_PLACE = 4, /* no function, but an instruction within one: the one entry of a plan of its own */
};

/* Kinds of fix-ups. */
enum fg_plan_fix_up_kind {
    FG_PLAN_FIX_UP_DISPLACEMENT_32 = 0, /* the distance from `end` to the target, in 32 bits */
};

struct fg_plan_header {
    uint8_t magic[8];
    uint32_t version;
    uint16_t machine; /* e_machine of the object */
    uint16_t build_id_bytes;
    uint8_t build_id[FG_PLAN_BUILD_ID_BYTES];
    uint64_t file_bytes;
    uint64_t checksum;             /* FNV-1a, 64 bits, of all that follows the header */
    uint64_t text_begin, text_end; /* what the functions lie in */
    uint32_t functions, fix_ups;   /* counts */
    uint32_t code_bytes, name_bytes;
    uint32_t rules; /* the revision of the planner's rules, for the planner */
    uint8_t reserved[28];
};

struct fg_plan_function {
    uint64_t address;  /* of its entry */
    uint32_t size;     /* 0: not known */
    uint32_t name;     /* offset of its names, the best first; each ends with NUL, an empty one ends them */
    uint32_t code;     /* offset of the moved instructions in the code */
    uint32_t fix_up;   /* number of its first fix-up */
    uint16_t reason;   /* enum fg_plan_reason */
    uint8_t patch;     /* offset of the first displaced byte from the entry */
    uint8_t displaced; /* how many bytes: whole instructions */
    uint8_t moved;     /* bytes of moved instructions, without the jump back to the rest */
    uint8_t fix_ups;   /* how many */
    uint8_t instructions; /* how many begin in the displaced bytes */
    uint8_t flags;
    uint8_t original[FG_PLAN_ORIGINAL_BYTES]; /* the bytes from `patch` on; `displaced` of them count */
};

struct fg_plan_fix_up {
    uint64_t target; /* the address that the operand means */
    uint8_t at;      /* where the operand is in the function's moved instructions */
    uint8_t end;     /* where the distance to the target counts from: the end of its instruction */
    uint8_t kind;    /* enum fg_plan_fix_up_kind */
    uint8_t reserved[5];
};

_Static_assert(sizeof(struct fg_plan_header) == 128, "the format of plans");
_Static_assert(offsetof(struct fg_plan_header, file_bytes) == 48, "the format of plans");
_Static_assert(offsetof(struct fg_plan_header, functions) == 80, "the format of plans");
_Static_assert(sizeof(struct fg_plan_function) == 48, "the format of plans");
_Static_assert(offsetof(struct fg_plan_function, reason) == 24, "the format of plans");
_Static_assert(offsetof(struct fg_plan_function, original) == 32, "the format of plans");
_Static_assert(sizeof(struct fg_plan_fix_up) == 16, "the format of plans");

#endif
