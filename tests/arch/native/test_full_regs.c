/* The full set of registers: users with FTRACE_OPS_FL_SAVE_REGS get each register as it was at the entry, the
 * return or the place; other users of the same call get none; and the program's registers stay as they are.
 *
 * Broken by hand: r11 of an entry was the trampoline's; a user without the flag got the set of the one before
 * it; the pushes of r14 and r15 were swapped; a general fprobe with the flag took the fast path. */
#include <asm/ptrace.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>

#include "engine/core/regs.h"
#include "support/check.h"
#include "support/general.h"
#include "support/native.h"
#include "target/target.h"

_Static_assert(sizeof(struct ftrace_native_regs) == sizeof(struct pt_regs), "as the kernel's");
_Static_assert(offsetof(struct ftrace_native_regs, orig_ax) == offsetof(struct pt_regs, orig_rax), "");
_Static_assert(offsetof(struct ftrace_native_regs, sp) == offsetof(struct pt_regs, rsp), "");

#define CARRY 0x1u
#define FIXED 0x2u /* always set */
#define ZERO 0x40u
#define COMPUTED 0x8d5u
#define INTERRUPTS 0x200u
#define IDENTIFICATION 0x200000u /* a program may change it, and nothing happens */

/* What a callback got. */
struct got {
    unsigned full, partial;
    struct ftrace_native_regs regs;
    uintptr_t return_address;
};

static void get(struct got *got, const struct ftrace_regs *regs)
{
    if (fg_regs_all(regs, &got->regs))
        got->full++;
    else
        got->partial++;
    got->return_address = fg_regs_return_address(regs);
}

/* ---- users of the graph */

struct user {
    struct probe probe; /* the first member: callbacks get the ops */
    struct got entry, ret;
};

static int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace;
    get(&((struct user *)ops->private_data)->entry, regs);
    return 1;
}

static void on_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace;
    get(&((struct user *)ops->private_data)->ret, regs);
}

static void user_begin(struct user *user, uint64_t flags)
{
    memset(user, 0, sizeof(*user));
    probe_init(&user->probe, "full", "target_*:mod:target", 0);
    fg_user_of(&user->probe.ops)->sees_native = true;
    user->probe.ops.entryfunc = on_entry;
    user->probe.ops.retfunc = on_return;
    user->probe.ops.private_data = user;
    user->probe.ops.flags = flags;
    probe_register(&user->probe);
}

static void user_end(struct user *user)
{
    probe_unregister(&user->probe);
    probe_done(&user->probe);
}

/* ---- fprobes */

struct fprobe_user {
    struct fprobe fp;
    struct got entry, ret;
};

static int on_fprobe_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                           struct ftrace_regs *regs, void *data)
{
    (void)func, (void)ret_ip, (void)data;
    get(&((struct fprobe_user *)fp->private_data)->entry, regs);
    return 0;
}

static void on_fprobe_exit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                           struct ftrace_regs *regs, void *data)
{
    (void)func, (void)ret_ip, (void)data;
    get(&((struct fprobe_user *)fp->private_data)->ret, regs);
}

static void fprobe_begin(struct fprobe_user *user, const char *pattern, uint64_t flags)
{
    memset(user, 0, sizeof(*user));
    user->fp = (struct fprobe){.entry_handler = on_fprobe_entry,
                               .exit_handler = on_fprobe_exit,
                               .private_data = user,
                               .flags = flags};
    native_probe_place(&user->fp, pattern);
}

/* ---- what they get */

#define CHECK_KEPT(regs)                                                                                     \
    do {                                                                                                     \
        CHECK_EQ((regs).bx, 0x10a);                                                                          \
        CHECK_EQ((regs).bp, 0x10b);                                                                          \
        CHECK_EQ((regs).r12, 0x10c);                                                                         \
        CHECK_EQ((regs).r13, 0x10d);                                                                         \
        CHECK_EQ((regs).r14, 0x10e);                                                                         \
        CHECK_EQ((regs).r15, 0x10f);                                                                         \
    } while (0)

#define CHECK_OTHERS(regs, first)                                                                            \
    do {                                                                                                     \
        CHECK_EQ((regs).ax, (first));                                                                        \
        CHECK_EQ((regs).cx, (first) + 1);                                                                    \
        CHECK_EQ((regs).dx, (first) + 2);                                                                    \
        CHECK_EQ((regs).si, (first) + 3);                                                                    \
        CHECK_EQ((regs).di, (first) + 4);                                                                    \
        CHECK_EQ((regs).r8, (first) + 5);                                                                    \
        CHECK_EQ((regs).r9, (first) + 6);                                                                    \
        CHECK_EQ((regs).r10, (first) + 7);                                                                   \
        CHECK_EQ((regs).r11, (first) + 8);                                                                   \
        CHECK_EQ((regs).orig_ax, UINT64_MAX);                                                                \
    } while (0)

/* Calls target_check_registers() with a value of its own in each register, and with these flags. */
static void call_with(uint64_t flags)
{
    uint64_t before = __builtin_ia32_readeflags_u64();

    __builtin_ia32_writeeflags_u64(before | flags);
    CHECK_EQ(target_fill_registers(), 0); /* all registers are as without a hook */
    CHECK_EQ(__builtin_ia32_readeflags_u64() & flags, flags);
    __builtin_ia32_writeeflags_u64(before);
}

static void check_segments(const struct ftrace_native_regs *regs)
{
    uint64_t cs, ss;

    __asm__("mov %%cs, %0" : "=r"(cs));
    __asm__("mov %%ss, %0" : "=r"(ss));
    CHECK_EQ(regs->cs, cs);
    CHECK_EQ(regs->ss, ss);
}

static void check_entry(const struct got *got, uint64_t flags)
{
    CHECK_EQ(got->full, 1);
    CHECK_EQ(got->partial, 0);
    CHECK_OTHERS(got->regs, 0x101u);
    CHECK_KEPT(got->regs);
    CHECK_EQ(got->regs.ip, (uintptr_t)target_check_registers);
    CHECK_EQ(got->regs.flags, flags | FIXED | INTERRUPTS);
    CHECK(got->return_address - (uintptr_t)target_fill_registers < 256);
    check_segments(&got->regs);
}

/* As the caller finds them. */
static void check_return(const struct got *got, const struct got *entry, uint64_t flags)
{
    CHECK_EQ(got->full, 1);
    CHECK_EQ(got->partial, 0);
    CHECK_OTHERS(got->regs, 0x201u);
    CHECK_KEPT(got->regs);
    CHECK_EQ(got->regs.ip, entry->return_address);
    CHECK_EQ(got->regs.sp, entry->regs.sp + 8);
    CHECK_EQ(got->regs.flags, flags | FIXED | INTERRUPTS);
    check_segments(&got->regs);
}

static void test_a_user_gets_all_registers(void)
{
    static struct user user;

    user_begin(&user, FTRACE_OPS_FL_SAVE_REGS);
    call_with(IDENTIFICATION);
    user_end(&user);
    check_entry(&user.entry, IDENTIFICATION);
    check_return(&user.ret, &user.entry, IDENTIFICATION);
}

static uintptr_t stack_of_call;

static void note_stack(void *arg)
{
    (void)arg;
    stack_of_call = (uintptr_t)__builtin_frame_address(0);
}

/* The return address is at the stack pointer; deeper calls are below it. */
static void test_the_stack_pointer(void)
{
    static struct user user;

    user_begin(&user, FTRACE_OPS_FL_SAVE_REGS);
    target_call(note_stack, NULL);
    user_end(&user);
    CHECK_EQ(user.entry.regs.ip, (uintptr_t)target_call);
    CHECK(user.entry.regs.sp > stack_of_call && user.entry.regs.sp - stack_of_call < 4096);
    CHECK_EQ(user.entry.regs.sp % 16, 8);
    CHECK_EQ(user.entry.regs.di, (uintptr_t)note_stack);
}

static void test_users_without_the_flag_get_none(void)
{
    static struct user users[4];
    static const uint64_t flags[] = {0, FTRACE_OPS_FL_SAVE_REGS, 0, FTRACE_OPS_FL_SAVE_REGS};

    for (size_t i = 0; i < NR_OF(flags); i++)
        user_begin(&users[i], flags[i]);
    call_with(0);
    for (size_t i = 0; i < NR_OF(flags); i++) {
        user_end(&users[i]);
        CHECK_EQ(users[i].entry.full, flags[i] != 0);
        CHECK_EQ(users[i].entry.partial, flags[i] == 0);
        CHECK_EQ(users[i].ret.full, flags[i] != 0);
        CHECK_EQ(users[i].ret.partial, flags[i] == 0);
    }
    check_entry(&users[3].entry, 0);
    check_return(&users[1].ret, &users[1].entry, 0);
}

static void test_fprobes_get_what_they_asked_for(void)
{
    static struct fprobe_user users[3];
    static const uint64_t flags[] = {0, FTRACE_OPS_FL_SAVE_REGS, 0};

    for (size_t i = 0; i < NR_OF(flags); i++)
        fprobe_begin(&users[i], "target_*:mod:target", flags[i]);
    call_with(IDENTIFICATION);
    for (size_t i = 0; i < NR_OF(flags); i++) {
        CHECK_EQ(fg_fprobe_unregister(&users[i].fp), 0);
        CHECK_EQ(users[i].entry.full, flags[i] != 0);
        CHECK_EQ(users[i].ret.full, flags[i] != 0);
        CHECK_EQ(users[i].ret.partial, flags[i] == 0);
    }
    check_entry(&users[1].entry, IDENTIFICATION);
    check_return(&users[1].ret, &users[1].entry, IDENTIFICATION);
}

/* The fast path saves no full set: with the flag they take the slow one. */
static void test_general_fprobes_get_it(void)
{
    static struct fprobe_user user;

    for (uint64_t flag = 0; flag <= FTRACE_OPS_FL_SAVE_REGS; flag += FTRACE_OPS_FL_SAVE_REGS) {
        fprobe_begin(&user, "target_*:mod:target", FTRACE_OPS_FL_GENERAL_REGS | flag);
        call_with(0);
        CHECK_EQ(fg_fprobe_unregister(&user.fp), 0);
        CHECK_EQ(user.entry.full, flag != 0);
        CHECK_EQ(user.ret.full, flag != 0);
        CHECK_EQ(user.ret.partial, flag == 0);
    }
    check_entry(&user.entry, 0);
    check_return(&user.ret, &user.entry, 0);
}

/* A call that longjmp() ends has no registers: not those of another one. */
static void test_a_lost_return_has_none(void)
{
    static struct fprobe_user user;
    jmp_buf buffer;

    fprobe_begin(&user, "target_longjmp:mod:target", FTRACE_OPS_FL_SAVE_REGS);
    if (!setjmp(buffer))
        target_longjmp(&buffer);
    CHECK_EQ(fg_fprobe_unregister(&user.fp), 0);
    CHECK_EQ(user.entry.full, 1);
    CHECK_EQ(user.ret.full, 0);
}

/* Within a function all flags are in use, and all are known. */
static void test_a_place_has_all_flags(void)
{
    static struct fprobe_user user;

    fprobe_begin(&user, "target_place+14:mod:target", FTRACE_OPS_FL_SAVE_REGS);
    CHECK_EQ(target_place(5), 23);
    CHECK_EQ(user.entry.full, 1);
    CHECK_EQ(user.entry.regs.di, 5);
    CHECK_EQ(user.entry.regs.ip, (uintptr_t)target_place + 14);
    CHECK_EQ(user.entry.regs.flags & (CARRY | ZERO), ZERO);
    CHECK_EQ(target_place(4), 19);
    CHECK_EQ(user.entry.regs.flags & COMPUTED & (CARRY | ZERO), CARRY);
    CHECK_EQ(fg_fprobe_unregister(&user.fp), 0);
    fprobe_begin(&user, "target_place+14:mod:target", 0);
    CHECK_EQ(target_place(5), 23);
    CHECK_EQ(user.entry.full, 0);
    CHECK_EQ(fg_fprobe_unregister(&user.fp), 0);
}

int main(void)
{
    CHECK(native_meet(native_begin(), "*:mod:target") > 10);
    native_place("target_place", 14, 8, 2);
    test_a_user_gets_all_registers();
    test_the_stack_pointer();
    test_users_without_the_flag_get_none();
    test_fprobes_get_what_they_asked_for();
    test_general_fprobes_get_it();
    test_a_lost_return_has_none();
    test_a_place_has_all_flags();
    return 0;
}
