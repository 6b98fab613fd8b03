"""Each reason for which a function cannot be hooked, in an object that has it, and neighbours that can."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from planned import build, entries_of, needs_decoder, plan_of

from funcgraph import _engine
from funcgraph.native.plan_file import CALLS, ROOM
from funcgraph.native.reasons import Reason

pytestmark = [pytest.mark.one_python, needs_decoder]

#: Name -> the reason that it must have, and the code between its beginning and its end.
BODIES = {
    "plain": (Reason.HOOKABLE, "push %rbx; mov %rdi, %rbx; sub $16, %rsp; add $16, %rsp; pop %rbx; ret"),
    "one_instruction": (Reason.HOOKABLE, "mov $1, %eax; ret"),
    "padding_behind_its_end": (Reason.HOOKABLE, "ret"),
    "loop_to_its_entry": (Reason.JUMP_TARGET, "0: dec %rdi; inc %rax; cmp $0, %rdi; jne 0b; ret"),
    "loop_into_its_head": (Reason.JUMP_TARGET, "xor %eax, %eax; 0: inc %rax; dec %rdi; jne 0b; ret"),
    "loop_behind_its_head": (Reason.HOOKABLE, "mov $0, %eax; 0: inc %rax; dec %rdi; jne 0b; ret"),
    "far_loop_into_its_head": (
        Reason.JUMP_TARGET,
        "xor %eax, %eax; 0: inc %rax; dec %rdi; .skip 200, 0x90; jne 0b; ret",
    ),
    "loop_instruction": (Reason.JUMP_TARGET, "mov %rdi, %rcx; 0: inc %rax; loop 0b; ret"),
    "jump_from_elsewhere": (Reason.JUMP_TARGET, "xor %eax, %eax; inside: inc %rax; add $8, %rax; ret"),
    "jumps_elsewhere": (Reason.HOOKABLE, "mov $7, %eax; jmp inside"),
    "address_of_its_head": (Reason.INDIRECT_JUMP, "xor %eax, %eax; label: inc %rax; add $8, %rax; ret"),
    "loads_that_address": (Reason.HOOKABLE, "lea label(%rip), %rax; ret"),
    "recursion": (Reason.HOOKABLE, "push %rbx; mov $1, %edi; call recursion; pop %rbx; ret"),
    "call_at_the_end_of_its_head": (Reason.HOOKABLE, "sub $8, %rsp; call plain; add $8, %rsp; ret"),
    "short_call_in_its_head": (Reason.CALL, "push %rbx; call *%rax; pop %rbx; nop; nop; ret"),
    "call_by_its_stack": (Reason.CALL, "push %rdi; nop; call *(%rsp); pop %rdi; ret"),
    "traps": (Reason.UNMOVABLE, "nop; ud2; mov $1, %eax; ret"),
    "transaction": (Reason.UNMOVABLE, "nop; xbegin 0f; 0: mov $1, %eax; ret"),
    "sixteen_bytes": (
        Reason.HOOKABLE,
        "xor %eax, %eax; test %edi, %edi; movl $0x12345678, %fs:0x11223344(%rax,%rdi,2); ret",
    ),
    "seventeen_bytes": (
        Reason.UNMOVABLE,
        "mov %rdi, %rax; nop; movl $0x12345678, %fs:0x11223344(%rax,%r9,2); movl $1, %fs:8(%r9); ret",
    ),
    "no_code": (Reason.BAD_CODE, ".byte 0x06, 0x06, 0x06, 0x06, 0x06, 0x06; ret"),
    "setjmp": (Reason.RETURNS_TWICE, "mov $0, %eax; ret"),
    "vfork": (Reason.RETURNS_TWICE, "mov $0, %eax; ret"),
    "dlsym": (Reason.UNSAFE, "mov $0, %eax; ret"),
    "code_behind_its_end": (Reason.INDIRECT_JUMP, "ret; inc %rax; inc %rbx; inc %rcx; ret"),
    "computed": (Reason.INDIRECT_JUMP, "xor %eax, %eax; case: add %rdi, %rax; inc %rax; ret"),
    "landing_place_in_its_head": (Reason.INDIRECT_JUMP, "nop; endbr64; mov $1, %eax; ret"),
    "frame_of_its_own": (Reason.SHARED_BYTES, ".cfi_def_cfa_offset 32; mov $1, %eax; add $24, %rsp; ret"),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bodies = "\n".join(f"fn {name}\n{body}\nendfn {name}" for name, (_, body) in BODIES.items())
    data = ".data\n.balign 8\n.quad case\n"  # as the table of a `goto *` has it
    return build(tmp_path_factory.mktemp("refusals"), bodies + "\n" + data)


@pytest.mark.parametrize("name", BODIES)
def test_each_reason(library: Path, name: str) -> None:
    entry = plan_of(library)[name]
    assert entry.reason is BODIES[name][0]
    assert (len(entry.original) >= 5) == (entry.reason is Reason.HOOKABLE)


def test_what_is_displaced_counts_only_what_may_run(library: Path) -> None:
    plan = plan_of(library)
    assert (plan["padding_behind_its_end"].moved, plan["padding_behind_its_end"].instructions) == (b"\xc3", 1)
    assert len(plan["padding_behind_its_end"].original) == 5
    assert plan["one_instruction"].instructions == 1
    assert plan["plain"].instructions == 3


def test_moved_calls_are_marked(library: Path) -> None:
    plan = plan_of(library)
    assert plan["call_at_the_end_of_its_head"].flags & CALLS
    assert not plan["recursion"].flags & CALLS  # the call is behind its head


def test_functions_that_are_too_short_are_refused(tmp_path: Path) -> None:
    plan = plan_of(
        build(
            tmp_path,
            """
            .text
            .globl short, next
            .type short, @function
            .type next, @function
            short: xor %eax, %eax
            ret
            .size short, . - short
            next: mov $1, %eax
            ret
            .size next, . - next
            """,
        )
    )
    assert plan["short"].reason is Reason.TOO_SHORT
    assert plan["next"].reason is Reason.HOOKABLE


def test_an_entry_in_the_middle_of_a_head_spoils_it(tmp_path: Path) -> None:
    plan = plan_of(
        build(
            tmp_path,
            """
            fn outer
            xor %eax, %eax
            .globl inner
            .type inner, @function
            inner: mov $1, %edx
            ret
            .size inner, . - inner
            endfn outer
            """,
        )
    )
    assert plan["outer"].reason is Reason.SHARED_BYTES
    assert plan["inner"].reason is Reason.SHARED_BYTES  # nobody says what its stack is like


def test_an_entry_in_the_middle_of_an_instruction_spoils_it(tmp_path: Path) -> None:
    source = """
        fn outer
        xor %eax, %eax
        .byte 0x48, 0xb8  # movabs, whose operand is an instruction, too
        .globl inner
        inner: mov $1, %edx
        nop
        nop
        nop
        ret
        endfn outer
    """
    assert plan_of(build(tmp_path, source))["outer"].reason is Reason.SHARED_BYTES


def test_the_jump_is_behind_endbr64(tmp_path: Path) -> None:
    source = "int f(int x) { return x * 3 + 1; }"
    with_it = plan_of(build(tmp_path, source, "-fcf-protection=branch", language="c"))["f"]
    without = plan_of(build(tmp_path, source, "-fcf-protection=none", language="c"))["f"]
    assert (with_it.patch, without.patch) == (4, 0)
    assert with_it.original == without.original


def test_a_loop_to_the_entry_behind_endbr64_spoils_it(tmp_path: Path) -> None:
    body = "endbr64; 0: dec %rdi; add $1, %rax; cmp $0, %rdi; jne 0b; ret"
    assert plan_of(build(tmp_path, f"fn f\n{body}\nendfn f"))["f"].reason is Reason.JUMP_TARGET


@pytest.mark.parametrize(
    "flags",
    [
        ("-fpatchable-function-entry=5",),
        ("-fpatchable-function-entry=8", "-fcf-protection=branch"),
        ("-pg", "-mfentry", "-mnop-mcount", "-fno-pic", "-Wno-error"),
    ],
    ids=["nops", "endbr64-nops", "mfentry"],
)
def test_room_that_the_compiler_left_is_used(tmp_path: Path, flags: tuple[str, ...]) -> None:
    plan = plan_of(build(tmp_path, "int f(int x) { return x * 3; }", *flags, language="c"))
    assert plan["f"].reason is Reason.HOOKABLE
    assert plan["f"].flags & ROOM
    assert plan["f"].moved == b""


@pytest.mark.parametrize("section", [".rodata", ".text"])
def test_jump_tables_to_the_head_refuse_it(tmp_path: Path, section: str) -> None:
    plan = plan_of(
        build(
            tmp_path,
            """
            .macro switch name, case
            fn \\name
            xor %eax, %eax
            .L\\name\\()_a: add $1, %rax
            cmp $10, %rax
            .L\\name\\()_b: lea .L\\name\\()_table(%rip), %rdx
            movslq (%rdx,%rdi,4), %rcx
            add %rdx, %rcx
            jmp *%rcx
            endfn \\name
            .section SECTION
            .balign 4
            .L\\name\\()_table: .long .L\\name\\()_b - .L\\name\\()_table
            .long .L\\name\\()_\\case - .L\\name\\()_table
            .endm
            switch spoiled, a
            switch harmless, b
            """.replace("SECTION", section),
        )
    )
    assert plan["spoiled"].reason is Reason.INDIRECT_JUMP
    assert plan["harmless"].reason is Reason.HOOKABLE


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("packed", ["-Wl,-z,pack-relative-relocs", "-Wl,-z,nopack-relative-relocs"])
def test_a_label_in_a_table_of_addresses_refuses_its_function(
    tmp_path: Path, packed: str, place: int
) -> None:
    words = ["spoiled"] * 4
    words[place] = "label"
    source = f"""
        fn spoiled
        xor %eax, %eax
        label: add %rdi, %rax
        add $8, %rax
        ret
        endfn spoiled
        .data
        .balign 8
        .quad {", ".join(words)}
    """
    assert plan_of(build(tmp_path, source, packed))["spoiled"].reason is Reason.INDIRECT_JUMP


def test_parts_are_no_functions_and_their_jumps_count(tmp_path: Path) -> None:
    plan = plan_of(
        build(
            tmp_path,
            """
            fn f
            .Lentry: test %edi, %edi
            je f.cold
            mov $1, %eax
            ret
            endfn f
            fn tail_call
            mov $2, %edi
            jmp .Lentry
            endfn tail_call
            fn g
            test %edi, %edi
            je g.cold
            .Lbehind: mov $1, %eax
            ret
            endfn g
            .section .text.unlikely, "ax", @progbits
            .type f.cold, @function
            .type g.cold, @function
            f.cold: inc %rdi
            jmp .Lentry
            .size f.cold, . - f.cold
            g.cold: inc %rdi
            jmp .Lbehind
            .size g.cold, . - g.cold
            """,
        )
    )
    assert set(plan) == {"f", "g", "tail_call"}
    assert plan["f"].reason is Reason.JUMP_TARGET
    assert plan["g"].reason is Reason.HOOKABLE


def test_parts_of_a_name_that_many_functions_have_count_for_each(tmp_path: Path) -> None:
    files = []
    for number in range(20):
        files.append(tmp_path / f"{number}.s")
        files[-1].write_text(f"""
            .type f, @function
            f: test %edi, %edi
            je f.cold
            mov ${number}, %eax
            ret
            .size f, . - f
            .section .text.unlikely, "ax", @progbits
            .type f.cold, @function
            f.cold: inc %rdi
            jmp f
            .size f.cold, . - f.cold
            .section .note.GNU-stack, ""
        """)
    library = tmp_path / "libx.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", str(library), *map(str, files)], check=True)
    assert [entry.reason for entry in entries_of(library)] == [Reason.JUMP_TARGET] * 20


def test_real_cold_parts_and_parts_that_are_called(tmp_path: Path) -> None:
    source = """
    void fail(const char *) __attribute__((cold, noreturn));
    int f(int x) { if (x > 10) fail("large"); return x + 1; }
    """
    plan = plan_of(build(tmp_path, source, "-freorder-blocks-and-partition", language="c"))
    assert set(plan) == {"f"}


def test_names_of_one_function_are_in_one_entry_and_the_best_is_first(tmp_path: Path) -> None:
    body = "mov $1, %eax; ret"
    source = f"fn __libc_name\n{body}\nendfn __libc_name\n"
    source += "".join(
        f".globl {alias}\n.type {alias}, @function\n.set {alias}, __libc_name\n"
        for alias in ("name", "__name")
    )
    assert plan_of(build(tmp_path, source))["name"].names == ("name", "__name", "__libc_name")


def test_resolvers_of_ifuncs_are_refused(tmp_path: Path) -> None:
    source = """
    static int one(void) { return 1; }
    static void *choose(void) { return one; }
    int chosen(void) __attribute__((ifunc("choose")));
    int calls(void) { return chosen() + 1; }
    """
    plan = plan_of(build(tmp_path, source, language="c"))
    assert plan["chosen"].reason is Reason.IFUNC_RESOLVER
    assert plan["one"].reason is Reason.HOOKABLE


def test_symbols_without_a_size_end_where_call_frame_information_says(tmp_path: Path) -> None:
    plan = plan_of(
        build(
            tmp_path,
            """
            .text
            .globl f
            .type f, @function
            f: .cfi_startproc
            mov $1, %eax
            ret
            .cfi_endproc
            .skip 20, 0x90
            """,
        )
    )
    assert (plan["f"].size, plan["f"].reason) == (6, Reason.HOOKABLE)


C_LIBRARY = ("-Wl,--no-as-needed", "-lc")

STRIPPED = """
static __attribute__((noinline)) int called(int x) { return x * 7 + 3; }
static int used(int x) { return x * 5 + 2; }
int (*pointer)(int) = used;
int exported(int x) { return called(x) + pointer(x); }
"""


def test_functions_of_stripped_objects_have_their_address_for_a_name(tmp_path: Path) -> None:
    path = build(tmp_path, STRIPPED, *C_LIBRARY, language="c")
    called, used = (plan_of(path)[name].address for name in ("called", "used"))
    subprocess.run(["strip", str(path)], check=True)
    plan = plan_of(path)
    assert {f"<{called:#x}>", f"<{used:#x}>", "exported"} <= set(plan)
    assert plan[f"<{called:#x}>"].reason is Reason.HOOKABLE


def test_without_a_c_library_elsewhere_nothing_without_a_name_is_hooked(tmp_path: Path) -> None:
    path = build(tmp_path, STRIPPED, language="c")
    subprocess.run(["strip", str(path)], check=True)
    assert set(plan_of(path)) == {"exported"}


def test_code_of_stripped_objects_that_no_call_enters_is_no_function(tmp_path: Path) -> None:
    source = """
        fn exported
        lea .Lpiece(%rip), %rax
        ret
        endfn exported
        .Lpiece: .cfi_startproc
        .cfi_def_cfa_offset 32
        mov $1, %eax
        add $24, %rsp
        ret
        .cfi_endproc
    """
    path = build(tmp_path, source, *C_LIBRARY)
    subprocess.run(["strip", str(path)], check=True)
    assert set(plan_of(path)) == {"exported"}


def test_parts_of_stripped_objects_are_no_functions(tmp_path: Path) -> None:
    source = """
    int printf(const char *, ...);
    void abort(void) __attribute__((noreturn));
    static __attribute__((cold, noinline)) void fail(int x) { printf("%d", x); abort(); }
    int exported(int *x) { if (*x > 3) { printf("large"); fail(*x); } return printf("%d", *x) + 1; }
    """
    path = build(tmp_path, source, *C_LIBRARY, "-freorder-blocks-and-partition", language="c")
    named = {entry.address for entry in plan_of(path).values()}
    subprocess.run(["strip", str(path)], check=True)
    assert {entry.address for entry in plan_of(path).values()} <= named


def test_names_of_cpp_are_readable(tmp_path: Path) -> None:
    source = """
    namespace shop {
        template <class T> struct Cart { int add(T x) const; ~Cart(); };
        template <class T> int Cart<T>::add(T x) const { return x + 1; }
        template <class T> Cart<T>::~Cart() {}
        template struct Cart<int>;
        template <class T> T total(T x) { return x; }
        template long total<long>(long);
    }
    bool operator<(shop::Cart<int> const &, int) { return true; }
    """
    plan = plan_of(build(tmp_path, source, "-fno-exceptions", language="c++"))
    assert {"shop::Cart<int>::add", "shop::Cart<int>::~Cart", "shop::total<long>", "operator<"} <= set(plan)


@pytest.mark.parametrize("soname", ["ld-linux-x86-64.so.2", "libjvm.so"])
def test_nothing_is_hooked_in_objects_that_look_at_return_addresses(tmp_path: Path, soname: str) -> None:
    plan = plan_of(build(tmp_path, "int f(int x) { return x * 3; }", f"-Wl,-soname={soname}", language="c"))
    assert plan["f"].reason is Reason.UNSAFE


def test_nothing_is_hooked_in_code_of_go(tmp_path: Path) -> None:
    source = """
        fn f
        mov $1, %eax
        ret
        endfn f
        .section .gopclntab, "a", @progbits
        .quad 0
    """
    assert plan_of(build(tmp_path, source))["f"].reason is Reason.UNSAFE


def test_nothing_is_hooked_in_funcgraph_itself() -> None:
    assert {entry.reason for entry in plan_of(_engine.__file__).values()} == {Reason.UNSAFE}


def test_room_of_xray_is_used(tmp_path: Path) -> None:
    if shutil.which("clang") is None:
        pytest.skip("clang is not here")
    source = tmp_path / "x.c"
    source.write_text("int f(int x) { return x * 3; }")
    flags = ["-O2", "-fPIC", "-fxray-instrument", "-fxray-instruction-threshold=1", "-c"]
    command = ["clang", *flags, "-o", str(tmp_path / "x.o"), str(source)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this clang has no XRay for this processor")
    library = tmp_path / "libx.so"
    words = ["gcc", "-shared", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all", "-o", str(library)]
    subprocess.run([*words, str(tmp_path / "x.o")], check=True)
    assert plan_of(library)["f"].reason is Reason.HOOKABLE
    assert plan_of(library)["f"].flags & ROOM
