"""Definitions of events on native functions: what they mean, how they read back, and what is refused where.

The texts and the carets are those that a Linux 7.2 kernel prints for the same mistakes (data of
tests/events/test_kernel_definitions.py), but where the kernel has no such error.

Broken by hand: the place of an error within +0(...) counted from the argument's start (test_what_is_wrong).
"""

from __future__ import annotations

import pytest
from fake_installer import FakeInstaller

from funcgraph import _engine
from funcgraph.definitions import messages
from funcgraph.definitions.definition import Definition
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.field import Field
from funcgraph.definitions.native_argument import PLACE_REGISTERS, REGISTERS
from funcgraph.definitions.parse import parse_definition
from funcgraph.events.registry import Registry


def parse(line: str) -> Definition:
    definition = parse_definition(line)
    assert isinstance(definition, Definition)
    assert parse_definition(definition.text) == definition
    return definition


def field(text: str, at: str = "") -> Field:
    return parse(f"f libc:malloc{at} x={text}").fields[0]


def test_a_colon_makes_the_target_native() -> None:
    definition = parse("f:mem/big libc:malloc size=$arg1:u64")
    assert (definition.is_native, definition.pattern) == (True, "malloc:mod:libc")
    assert (definition.group, definition.event, definition.is_return) == ("mem", "big", False)
    assert definition.text == "f:mem/big libc:malloc size=$arg1:u64"
    assert not parse("f shop.place").is_native
    assert not parse("p shop:place").is_native  # the kernel's [MOD:]SYM


def test_names_that_are_made_up() -> None:
    assert parse("f libc:malloc").event == "libc_malloc__entry"
    assert parse("f libc:malloc%return").event == "libc_malloc__exit"
    assert parse("f libc:malloc $retval").is_return
    assert (
        parse("f libstdc++:std::vector<int>::push_back*").pattern
        == "std::vector<int>::push_back*:mod:libstdc++"
    )
    assert [f.name for f in parse("f libc:malloc $arg1 $arg2:u8").fields] == ["arg1", "arg2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$arg1", ("x64", 0, ("arg", 1), ())),
        ("$arg9:s32", ("s32", 0, ("arg", 9), ())),
        ("%di:bool", ("bool", 0, ("reg", REGISTERS.index("di")), ())),
        ("%xmm0:f64", ("f64", 0, ("reg", REGISTERS.index("xmm0")), ())),
        ("$stack", ("x64", 0, ("sp",), ())),
        ("$stack3:u8", ("u8", 0, ("stack", 3), ())),
        ("$comm", ("string", 0, ("comm",), ())),
        ("$symbol", ("symbol", 0, ("symbol",), ())),
        ("\\-5", ("x64", 0, ("imm", -5), ())),
        ('\\"a:b"', ("string", 0, ("imm", "a:b"), ())),
        ("@0x1000:u8", ("u8", 0, ("imm", 4096), (("deref", 0),))),
        ("@environ", ("x64", 0, ("data", "environ", 0), (("deref", 0),))),
        ("+0(@environ+8):string", ("string", 0, ("data", "environ", 8), (("deref", 0), ("deref", 0)))),
        ("@x.0-0x10:u8", ("u8", 0, ("data", "x.0", -16), (("deref", 0),))),
        ("+8($arg2):string", ("string", 0, ("arg", 2), (("deref", 8),))),
        ("+u8($arg2):ustring", ("string", 0, ("arg", 2), (("deref", 8),))),
        ("-0x10(+8(%si)):u32[4]", ("u32", 4, ("reg", 3), (("deref", 8), ("deref", -16)))),
        ("+0(@0x10):u8", ("u8", 0, ("imm", 16), (("deref", 0), ("deref", 0)))),
        ("$arg1:b4@8/16", ("u16", 0, ("arg", 1), (("bits", 8 | 4 << 8),))),
        ("+0(\\4096):u8", ("u8", 0, ("imm", 4096), (("deref", 0),))),
    ],
)
def test_what_is_fetched(text: str, expected: tuple[object, ...]) -> None:
    assert field(text)[1:] == expected


def test_results_are_at_returns() -> None:
    assert field("$retval:s64", "%return")[1:] == ("s64", 0, ("retval",), ())
    assert field("+0($retval):string")[3:] == (("retval",), (("deref", 0),))


@pytest.mark.parametrize(
    ("line", "message", "at"),
    [
        ("f :malloc", messages.BAD_PROBE_ADDR, ":malloc"),
        ("f libc:", messages.BAD_PROBE_ADDR, ""),
        ("f /lib/libc.so:malloc", messages.BAD_PROBE_ADDR, "/lib/libc.so:malloc"),
        ("f libc:malloc:mod:x", messages.BAD_PROBE_ADDR, "malloc:mod:x"),
        ("f libc:malloc%exit", messages.BAD_ADDR_SUFFIX, "%exit"),
        ("f libc:malloc size", messages.NOSUP_BTFARG, "size"),
        ("f libc:malloc x=+0(size)", messages.NOSUP_BTFARG, "size)"),
        ("f libc:malloc $arg*", messages.NOSUP_ALL_ARGS, "$arg*"),
        ("f libc:malloc x=$arg1.name", messages.NO_OBJECT, ".name"),
        ("f libc:malloc x=$arg1->name", messages.NO_OBJECT, "->name"),
        ("f libc:malloc x=+0($arg1[3])", messages.NO_OBJECT, "[3])"),
        ("f libc:malloc $arg0", messages.BAD_ARG_NUM, "$arg0"),
        ("f libc:malloc $arg256", messages.BAD_ARG_NUM, "$arg256"),
        ("f libc:malloc $stack256", messages.BAD_STACK_NUM, "$stack256"),
        ("f libc:malloc $exc", messages.BAD_VAR, "$exc"),
        ("f libc:malloc $nosuch", messages.BAD_VAR, "$nosuch"),
        ("f libc:malloc %nosuch", messages.BAD_REGISTER, "%nosuch"),
        ("f libc:malloc +0", messages.DEREF_NEED_BRACE, "+0"),
        ("f libc:malloc +0(", messages.BAD_FETCH_ARG, ""),
        ("f libc:malloc +0($arg1", messages.DEREF_OPEN_BRACE, ""),
        ("f libc:malloc +x($arg1)", messages.BAD_DEREF_OFFS, "+x($arg1)"),
        ("f libc:malloc +0($comm)", messages.COMM_CANT_DEREF, "$comm)"),
        ("f libc:malloc n=+0(0):u64", messages.BAD_FETCH_ARG, "0):u64"),
        ("f libc:malloc $arg1)", messages.BAD_FETCH_ARG, ")"),
        ("f libc:malloc @+0", messages.BAD_MEM_ADDR, "@+0"),
        ("f libc:malloc @0x", messages.BAD_MEM_ADDR, "@0x"),
        ("f libc:malloc @environ+x", messages.BAD_MEM_ADDR, "@environ+x"),
        ("f libc:malloc $arg1:string", messages.BAD_STRING, "string"),
        ("f libc:malloc $arg1:u8[3]", messages.BAD_STRING, "3]"),
        ("f libc:malloc $arg1:object", messages.NO_NATIVE_TYPE, "object"),
        ("f libc:malloc $arg1:len", messages.BAD_TYPE, "len"),
        ("f libc:malloc $comm:u8", messages.NEED_STRING_TYPE, "u8"),
        ("f libc:malloc \\x", messages.BAD_IMM, "x"),
        (f"f libc:malloc {'+0(' * 17}$arg1{')' * 17}", messages.TOO_MANY_OPS, f"$arg1{')' * 17}"),
    ],
)
def test_what_is_wrong(line: str, message: messages.Message, at: str) -> None:
    with pytest.raises(ProbeError) as caught:
        parse_definition(line)
    error = caught.value
    assert (error.message, error.errno) == (message.text, message.errno)
    assert error.command[error.caret :].partition(" ")[0] == at


def test_a_place_in_a_native_function() -> None:
    """It is named as in filters: OBJECT:SYMBOL would be the kernel's [MOD:]SYM, a Python module."""
    definition = parse("p:mem/at malloc+0x8:mod:libc size=%bx:u64 ip=%ip sp=%sp")
    assert (definition.is_native, definition.symbol, definition.place) == (True, "libc:malloc", ("offset", 8))
    assert definition.pattern == definition.target == "malloc+8:mod:libc"
    assert definition.text == "p:mem/at malloc+8:mod:libc size=%bx:u64 ip=%ip sp=%sp"
    assert definition.fields[0].source == ("reg", len(REGISTERS) + PLACE_REGISTERS.index("bx"))
    assert [field.source for field in definition.fields[1:]] == [("ip",), ("sp",)]
    assert parse("p malloc+8:mod:libc").event == "p_malloc_8"
    assert not parse("p malloc:mod:libc $arg1").place
    assert parse("r malloc:mod:libc $retval").is_return
    assert parse("p operator+:mod:libx").symbol == "libx:operator+"
    assert parse("p operator++8:mod:libx").place == ("offset", 8)


@pytest.mark.parametrize(
    ("line", "message", "at"),
    [
        ("p malloc+8:mod:", messages.BAD_PROBE_ADDR, ""),
        ("p +8:mod:libc", messages.BAD_PROBE_ADDR, "+8:mod:libc"),
        ("p mal*+8:mod:libc", messages.BAD_PROBE_ADDR, "mal*+8:mod:libc"),
        ("p malloc+8:mod:lib*", messages.BAD_PROBE_ADDR, "lib*"),
        ("p malloc+8:mod:/lib/libc.so", messages.NO_MATCHING_TYPE, ""),
        (f"p malloc+{1 << 32}:mod:libc", messages.BAD_PROBE_ADDR, f"{1 << 32}:mod:libc"),
        ("r malloc+8:mod:libc", messages.BAD_RETPROBE, "malloc+8:mod:libc"),
        ("p malloc+8:mod:libc $arg1", messages.ARG_INSIDE, "$arg1"),
        ("p malloc+8:mod:libc $retval", messages.RETVAL_ON_PROBE, "$retval"),
        ("p malloc:mod:libc %bx", messages.BAD_REGISTER, "%bx"),
        ("f libc:malloc %r12", messages.BAD_REGISTER, "%r12"),
    ],
)
def test_what_is_wrong_with_a_place(line: str, message: messages.Message, at: str) -> None:
    with pytest.raises(ProbeError) as caught:
        parse_definition(line)
    assert caught.value.message == message.text
    assert not at or caught.value.command[caught.value.caret :].partition(" ")[0] == at


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("f libc:malloc size", "give $argN"),
        ("f libc:malloc x=$arg1.name", "+OFFSET($arg1)"),
        ("f libc:malloc s=$arg1:string", "+0($arg1):string"),
        ("f libc:malloc %rdi", "Registers: ax"),
        ("f libc:malloc $arg1:value", "Types: u8"),
        ("f /lib/libc.so:malloc", "libc:malloc"),
    ],
)
def test_an_error_says_what_would_be_right(line: str, hint: str) -> None:
    with pytest.raises(ProbeError) as caught:
        parse_definition(line)
    assert hint in str(caught.value).splitlines()[-1]


def test_registers_are_those_that_the_hook_has_saved() -> None:
    if not hasattr(_engine, "native_registers"):
        pytest.skip("native functions cannot be hooked on this machine")
    assert _engine.native_registers() == ([*REGISTERS, *PLACE_REGISTERS], len(PLACE_REGISTERS))


def test_the_table_lists_and_deletes_them() -> None:
    registry = Registry(FakeInstaller())
    registry.write("dynamic_events", "f:m/x libc:malloc n=$arg1:u64\nf:m/x libc:calloc n=$arg2:u64\n")
    assert registry.read() == "f:m/x libc:malloc n=$arg1:u64\nf:m/x libc:calloc n=$arg2:u64\n"
    with pytest.raises(ProbeError, match="different from existing"):
        registry.define("f:m/x libc:free n=$arg1:u32")
    registry.delete("-:m/x libc:malloc")
    assert registry.read() == "f:m/x libc:calloc n=$arg2:u64\n"
