"""Moved code does what the displaced instructions do: read again, and run beside the original."""

from __future__ import annotations

import ctypes
import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from moved import MovedCode, fixed_up
from planned import build, elf_at, entries_of, loaded_object, needs_decoder, plan_of

from funcgraph.native.plan_file import CALLS, PlanEntry
from funcgraph.native.reasons import Reason

pytestmark = [pytest.mark.one_python, needs_decoder]

#: What this Python runs on, and how much of it can be hooked at least.
OBJECTS = {r"libc\.so\.6": 0.97, r"libpython3\.\d+t?\.so\.1\.0": 0.97, r"libsqlite3\.so\.0\.\S+": 0.97}
SOMEWHERE = 0x7000_0000


@functools.cache
def entries_of_library(pattern: str) -> list[PlanEntry]:
    return entries_of(loaded_object(pattern))


@pytest.mark.parametrize("pattern", OBJECTS)
def test_nearly_all_functions_of_what_python_runs_on_can_be_hooked(pattern: str) -> None:
    entries = entries_of_library(pattern)
    hookable = sum(entry.reason is Reason.HOOKABLE for entry in entries)
    assert len(entries) > 1000
    assert hookable / len(entries) >= OBJECTS[pattern]


@pytest.mark.parametrize("pattern", OBJECTS)
def test_each_moved_instruction_of_a_library_is_the_displaced_one(pattern: str) -> None:
    compared = 0
    for entry in entries_of_library(pattern):
        if entry.reason is Reason.HOOKABLE:
            assert list(_moved_text(entry)) == list(_displaced_text(entry)), entry.names
            compared += 1
    assert compared > 1000


def _decoded(code: bytes, address: int) -> Iterator[Any]:
    from iced_x86 import Decoder

    return iter(Decoder(64, code, ip=address))


def _text(instruction: Any) -> str:
    """Return an instruction with absolute addresses; how long its operands are does not matter."""
    return str(instruction).replace("short ", "").replace("near ptr ", "")


def _moved_text(entry: PlanEntry) -> Iterator[str]:
    for instruction in _decoded(fixed_up(entry, SOMEWHERE), SOMEWHERE):
        is_next = instruction.is_call_near and instruction.near_branch_target == instruction.next_ip + 1
        yield "call" if is_next else _text(instruction)


def _displaced_text(entry: PlanEntry) -> Iterator[str]:
    """Yield what the moved code must be: no nops, nothing that does not run, calls made of jumps."""
    from iced_x86 import FlowControl, Mnemonic

    for instruction in _decoded(entry.original, entry.address + entry.patch):
        if instruction.is_call_near or instruction.is_call_near_indirect:
            assert entry.flags & CALLS
            yield from (line.format(behind=instruction.next_ip) for line in _call_lines(instruction.next_ip))
            yield _text(instruction).replace("call", "jmp")
        elif instruction.mnemonic != Mnemonic.NOP:
            yield _text(instruction)
        if instruction.flow_control in (FlowControl.UNCONDITIONAL_BRANCH, FlowControl.RETURN):
            return
        if instruction.flow_control == FlowControl.INDIRECT_BRANCH:
            return


def _call_lines(behind: int) -> list[str]:
    from iced_x86 import Decoder

    lea = Decoder(64, b"\x48\x8d\x05\0\0\0\0", ip=behind - 7).decode()  # as the decoder prints the address
    return ["call", "int 3", "push rax", _text(lea), "mov [rsp+8],rax", "pop rax"]


@pytest.mark.parametrize("pattern", OBJECTS)
def test_no_branch_of_a_library_leads_into_displaced_bytes(pattern: str) -> None:
    """All instructions of all functions are decoded, which the planner does not."""
    from iced_x86 import Decoder

    path = loaded_object(pattern)
    entries = entries_of_library(pattern)
    blocks = elf_at(path).code
    targets = set()
    for entry in entries:
        block = next(block for block in blocks if block.address <= entry.address < block.end)
        at = entry.address - block.address
        for instruction in Decoder(64, block.data[at : at + entry.size], ip=entry.address):
            targets.add(instruction.near_branch_target)
    spoiled = [
        entry.names
        for entry in entries
        if entry.reason is Reason.HOOKABLE
        for begin in (entry.address + entry.patch,)
        if not targets.isdisjoint(range(begin + 1, begin + len(entry.original)))
    ]
    assert spoiled == []
    assert len(targets) > 10_000


Int, Long, Text, Double = ctypes.c_int, ctypes.c_long, ctypes.c_char_p, ctypes.c_double
Byte = ctypes.c_ubyte
TEXTS = [b"", b"7", b"-12x", b"  42", b"0x1f", b"hello", b"Hello, world", b"3.5e2", b"a" * 100]
NUMBERS = [0, 1, -1, 2, 7, 64, 97, 65, 48, 255, -1000, 2**31 - 1]
DOUBLES = [0.0, 1.0, -1.0, 0.5, 1e-300, 1e300, 3.14159, -2.71828, 1e16]
#: Function of the C library -> result and arguments, which are taken from the lists above.
PURE: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(
        ["toupper", "tolower", "isalpha", "isdigit", "isspace", "isupper", "ispunct"], (Int, Byte)
    ),
    **dict.fromkeys(["abs", "toascii", "ffs", "htonl", "htons", "gnu_dev_major"], (Int, Int)),
    **dict.fromkeys(["labs", "llabs", "ffsl"], (Long, Long)),
    **dict.fromkeys(["atoi", "inet_addr"], (Int, Text)),
    **dict.fromkeys(["atol", "atoll", "a64l"], (Long, Text)),
    **dict.fromkeys(["strverscmp", "strcoll"], (Int, Text, Text)),
    **dict.fromkeys(["strerrordesc_np", "sigabbrev_np"], (Text, Int)),
    "basename": (Text, Text),
    "strcasestr": (Text, Text, Text),
    "strtol": (Long, Text, ctypes.c_void_p, Int),
    "atof": (Double, Text),
    "gnu_get_libc_version": (Text,),
}
PURE_MATH: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(["cbrt", "erf", "erfc", "logb", "asinh", "acosh", "tanh"], (Double, Double)),
    **dict.fromkeys(
        ["fmod", "hypot", "copysign", "nextafter", "fdim", "remainder"], (Double, Double, Double)
    ),
    **dict.fromkeys(["ldexp", "scalbn"], (Double, Double, Int)),
}
PURE_SQLITE: dict[str, tuple[Any, ...]] = {
    "sqlite3_libversion": (Text,),
    "sqlite3_libversion_number": (Int,),
    "sqlite3_complete": (Int, Text),
    "sqlite3_stricmp": (Int, Text, Text),
    "sqlite3_strglob": (Int, Text, Text),
    "sqlite3_strlike": (Int, Text, Text, Int),
    "sqlite3_errstr": (Text, Int),
}
VALUES: dict[Any, list[Any]] = {
    Byte: list(range(256)),
    Int: NUMBERS,
    Long: NUMBERS,
    Text: TEXTS,
    Double: DOUBLES,
    ctypes.c_void_p: [None],
}


@pytest.mark.parametrize(
    ("pattern", "functions", "least"),
    [(r"libc\.so\.6", PURE, 20), (r"libm\.so\.6", PURE_MATH, 10), (r"libsqlite3\.so\.0\S*", PURE_SQLITE, 5)],
    ids=["libc", "libm", "libsqlite3"],
)
def test_functions_do_the_same_through_their_moved_head(
    pattern: str, functions: dict[str, tuple[Any, ...]], least: int
) -> None:
    path = loaded_object(pattern)
    plan = plan_of(path)
    here = {name: plan[name] for name in functions if name in plan and plan[name].original}
    moved = MovedCode(path, here.values())
    for name, entry in here.items():
        prototype = ctypes.CFUNCTYPE(*functions[name])
        original, copy = prototype(moved.bias + entry.address), prototype(moved.of(entry))
        for arguments in _arguments(functions[name][1:]):
            assert _same(original(*arguments), copy(*arguments)), (name, arguments)
    assert len(here) >= least


def _arguments(kinds: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return up to a hundred sets of arguments."""
    found = list(itertools.product(*(VALUES[kind] for kind in kinds)))
    return random.Random(27).sample(found, min(len(found), 100))


def _same(first: Any, second: Any) -> bool:
    return bool(first == second or (first != first and second != second))


#: A function for each way in which an instruction is moved.
KINDS = {
    "short_jump": "test %rdi, %rdi; js 0f; lea 1(%rdi), %rax; ret; 0: mov $77, %rax; ret",
    "near_jump": "test %rdi, %rdi; js far; mov %rdi, %rax; ret; .skip 300, 0x90; far: mov $78, %rax; ret",
    "jump_out": "mov %rdi, %rax; jmp 0f; ud2; 0: add $3, %rax; ret",
    "jrcxz_over": "mov %rdi, %rcx; jrcxz 0f; lea 5(%rcx), %rax; ret; 0: mov $79, %eax; ret",
    "loop_on": "mov %rdi, %rcx; loop 0f; mov $80, %eax; ret; 0: lea 6(%rcx), %rax; ret",
    "loads": "mov value(%rip), %rax; add %rdi, %rax; ret",
    "compares": "xor %eax, %eax; cmpl $1234, value(%rip); sete %al; add %rdi, %rax; ret",
    "compares_with_a_byte": "cmpb $7, value(%rip); setne %al; movzbl %al, %eax; ret",
    "address": "lea value(%rip), %rax; mov (%rax), %rax; sub %rdi, %rax; ret",
    "indirect_jump": "mov %rdi, %rax; jmp *pointer(%rip)",
    "only_a_jump": "jmp target@PLT",
    "call_and_back": "sub $8, %rsp; call target@PLT; add $8, %rsp; add $100, %rax; ret",
    "call_by_pointer": "push %rbx; call *pointer(%rip); pop %rbx; lea 3(%rax), %rax; ret",
    "call_by_register": "push %r12; mov table@GOTPCREL(%rip), %r11; call *8(%r11); pop %r12; ret",
    "keeps_rax": "mov %rdi, %rax; .byte 0x3e; call add_rax@PLT; ret",
    "nops_first": "nopl 0(%rax,%rax,1); lea 9(%rdi), %rax; ret",
    "returns_its_caller": "push %rbx; call caller@PLT; pop %rbx; ret",
}
REST = """
fn target
    lea 1(%rdi,%rdi,1), %rax
    ret
endfn target
fn add_rax
    add %rdi, %rax
    ret
endfn add_rax
fn caller
    mov (%rsp), %rax
    mov returns_its_caller@GOTPCREL(%rip), %rcx
    sub %rcx, %rax
    ret
endfn caller
.data
.balign 8
value: .quad 1234
pointer: .quad target
.globl table
table: .quad 0, target
"""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    bodies = "\n".join(f"fn {name}\n{body}\nendfn {name}" for name, body in KINDS.items())
    return build(tmp_path_factory.mktemp("kinds"), bodies + REST)


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_moved_instruction_does_the_same(kinds: Path, name: str) -> None:
    original: Callable[[int], int] = getattr(ctypes.CDLL(str(kinds)), name)
    entry = plan_of(kinds)[name]
    assert entry.reason is Reason.HOOKABLE
    prototype = ctypes.CFUNCTYPE(Long, Long)
    moved = MovedCode(kinds, [entry])
    assert ctypes.cast(original, ctypes.c_void_p).value == moved.bias + entry.address
    before, after = prototype(moved.bias + entry.address), prototype(moved.of(entry))
    for argument in (0, 1, 2, -1, 7, 1234, -(2**40), 2**62):
        assert before(argument) == after(argument)
