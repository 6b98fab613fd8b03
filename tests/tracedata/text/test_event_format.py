"""Events by the kernel's `format` texts: fields, values, and text by the event's own print fmt.

Texts are compared with what `trace-cmd report -N` prints of the same record.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kerneldat import KernelTrace, common, format_text

from funcgraph.kernel_format.c_expression import PrintError
from funcgraph.kernel_format.event_format import EventFormat, FormatError, parse_format
from funcgraph.kernel_format.print_format import compile_print

pytestmark = pytest.mark.one_python

SYMBOLS = {0xFFFFFFFF81000200: "two"}
FIELDS = [
    ("unsigned char", "u8", 8, 1, 0),
    ("signed char", "s8", 9, 1, 1),
    ("u16", "u16", 10, 2, 0),
    ("int", "s32", 12, 4, 1),
    ("unsigned long", "ul", 16, 8, 0),
    ("s64", "s64", 24, 8, 1),
    ("char", "arr[16]", 32, 16, 0),
    ("__data_loc char[]", "dyn", 48, 4, 0),
    ("u32", "nums[3]", 52, 12, 0),
    ("bool", "b", 64, 1, 0),
    ("__data_loc u8[]", "bytes", 68, 4, 0),
    ("void *", "ptr", 72, 8, 0),
    ("long long", "ll", 80, 8, 1),
]
RECORD = (
    common(300, 63)
    + struct.pack(
        "<BbHiQq16sI3IBxxxIQq",
        *(200, -5, 60000, -7, 0xFFFFFFFF81000204, -1234567890123, b"comm"),
        *((8 << 16) | 88, 1, 2, 0xFFFFFFFF, 1, (4 << 16) | 96, 0xFFFFFFFF81000300, -9),
    )
    + b"dynamic\0\x01\x02\xfe\xff"
)


def described(print_fmt: str) -> EventFormat:
    return parse_format(format_text("ev", 300, FIELDS, print_fmt), "test")


def find(address: int) -> tuple[str, int] | None:
    begin = address & ~0xFF
    return (SYMBOLS[begin], address - begin) if begin in SYMBOLS else None


def text(print_fmt: str) -> str:
    return described(print_fmt).print(RECORD, find)


# What trace-cmd prints too.
PRINT_FMTS = {
    '"%d %u %x %#x %08x %-5d|%5d", REC->s32, REC->u8, REC->ul, REC->u16, REC->u16, REC->s32, REC->s32': (
        "-7 200 81000204 0xea60 0000ea60 -7   |   -7"
    ),
    '"%s|%10s|%-10s|%.2s|%.*s", REC->arr, REC->arr, REC->arr, REC->arr, 3, REC->arr': (
        "comm|      comm|comm      |co|com"
    ),
    '"%s %s", __get_str(dyn), REC->b ? "yes" : "no"': "dynamic yes",
    '"%p %pS %ps %pf %pF", REC->ptr, (void *)REC->ul, (void *)REC->ul, (void *)REC->ul, (void *)REC->ul': (
        "0xffffffff81000300 two+0x4 two two two+0x4"
    ),
    '"%p %ps", REC->b ? 0 : 1, (void *)5': "(nil) 0x5",
    '"%lld %llu %ld %hd %hhd %hu", REC->s64, REC->s64, REC->s64, REC->u16, REC->u8, REC->s32': (
        "-1234567890123 18446742839141661493 -1234567890123 -5536 -56 65529"
    ),
    '"%s", __print_symbolic(REC->u8, { 200, "two hundred" }, { 1, "one" }, { -1, ((void *)0) })': (
        "two hundred"
    ),
    '"%s", __print_symbolic(REC->s8, { 200, "two hundred" }, { 1, "one" })': "0xfb",
    '"%s", __print_flags(REC->u8, "|", { 0x80, "A" }, { 0x40, "B" }, { 0x8, "C"}, {0x4, "D"})': "A|B|C",
    '"%s", __print_flags(REC->u8, "|", { 0x80, "A" })': "A|0x48",
    '"%s", __print_flags(REC->b & 2, "|", { 0x80, "A" }, { 0, "none" })': "",
    '"%s", __print_hex(REC->nums, 3)': "01 00 00",
    '"%s", __print_hex(__get_dynamic_array(bytes), __get_dynamic_array_len(bytes))': "01 02 fe ff",
    '"%s", __print_hex_str(REC->nums, 3)': "010000",
    '"%s", __get_bitmask(bytes)': "fffe0201",
    '"%d %d", REC->nums[1], ((REC->u16) >> 4) & 0xff': "2 166",
    '"a" "b" " %d %%", REC->u8 == 200': "ab 1 %",
    '"nothing"': "nothing",
    '"%s", REC->u8 > 5 ? __print_symbolic(REC->u8, {200, "x"}) : ""': "x",
    '"%lx %lX %#lx %llx", REC->ul, REC->ul, REC->ul, REC->s64': (
        "ffffffff81000204 FFFFFFFF81000204 0xffffffff81000204 fffffee08e04fb35"
    ),
    '"%u:%u %u", ((unsigned int) ((REC->u16) >> 8)), (REC->u16 & ((1U << 8) - 1)), sizeof(REC->u16)': (
        "234:96 2"
    ),
    '"%i %o %5.3d %zu", REC->s32, REC->u8, REC->u8, REC->u8': "-7 310   200 200",
    '"%*d|%-*d|", 8, REC->s32, 6, REC->s32': "      -7|-7    |",
    '"%d %d %d", !REC->u8, ~REC->u8, -REC->u8': "0 -201 -200",
    '"%Ld 0x%Lx", REC->s64, REC->ul': "-1234567890123 0xffffffff81000204",
    '"dev %d,%d", ((unsigned int) (REC->ul >> 20)), ((unsigned int) (REC->ul & ((1U << 20) - 1)))': (
        "dev -2032,516"
    ),
    '"%d", unknown_function(REC->u8)': (
        "[FAILED TO PARSE] u8=200 s8=-5 u16=60000 s32=-7 ul=0xffffffff81000204 s64=-1234567890123 arr=comm "
        "dyn=dynamic nums=ARRAY[01, 00, 00, 00, 02, 00, 00, 00, ff, ff, ff, ff] b=1 "
        "bytes=ARRAY[01, 02, fe, ff] ptr=0xffffffff81000300 ll=-9"
    ),
}

# Where trace-cmd 3.1.6 prints something else than the kernel, or nothing of use.
BETTER = {
    '"%s", __print_array(REC->nums, 3, 4)': "{0x1,0x2,0xffffffff}",
    '"%s", __print_array(__get_dynamic_array(bytes), __get_dynamic_array_len(bytes) / 1, 1)': (
        "{0x1,0x2,0xfe,0xff}"
    ),
    '"%+d|% d|%c%c|%td", REC->u8, REC->u8, REC->arr[0], 65, REC->s32': "+200| 200|cA|-7",
    '"%d %d", (int)REC->u8, (s8)REC->u8': "200 -56",
    '"%d", REC->u8 == 200 && REC->s32 < 0 || 0': "1",
    '"%d", 10 - 4 - 3': "3",
    '"%ld.%09ld", REC->s64 / 1000000000, REC->ul % 1000000000': "-1234.578845700",
    '"%d %s", ENUMERATOR, __print_symbolic(REC->u8, { ENUMERATOR, "x" })': "? 0xc8",
    '"%px %pK", REC->ptr, REC->ptr': "0xffffffff81000300 0xffffffff81000300",
    '"%pI4 %pM %pU", &REC->s32, REC->arr, REC->arr': (
        "249.255.255.255 63:6f:6d:6d:00:00 636f6d6d-0000-0000-0000-000000000000"
    ),
    '"%*pbl %*ph", 16, &REC->u16, 4, __get_dynamic_array(bytes)': "5-6,9,11,13-15 01 02 fe ff",
    '"%s\\t%s", REC->arr, "a \\"quote\\""': 'comm\ta "quote"',
    '"%d", ((REC)->u8) + (unsigned short)70000': "4664",
    '"%u %d", (u32)-1, 0xffffffff > -1': "4294967295 0",
}


@pytest.mark.parametrize("print_fmt", [*PRINT_FMTS, *BETTER])
def test_an_event_prints_by_its_format(print_fmt: str) -> None:
    assert text(print_fmt) == {**PRINT_FMTS, **BETTER}[print_fmt]


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")
def test_trace_cmd_prints_the_same(tmp_path: Path) -> None:
    formats = [format_text(f"ev{n}", 300 + n, FIELDS, print_fmt) for n, print_fmt in enumerate(PRINT_FMTS)]
    trace = KernelTrace(cpus=1, systems={"test": formats})
    for number in range(len(PRINT_FMTS)):
        trace.add(0, 10**9, common(300 + number, 63) + RECORD[8:])
    path = trace.save(tmp_path / "trace.dat")
    command = ["trace-cmd", "report", "-N", "-i", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    lines = result.stdout.splitlines()[1:]
    assert [line[len("            work-63    [000]     1.000000: ") + 22 :] for line in lines] == [
        *PRINT_FMTS.values()
    ]


@pytest.mark.parametrize(
    "print_fmt",
    [
        "",
        "REC->u8",
        '"%d"',
        '"%d %s", REC->s32',
        '"%d", REC->missing',
        '"%d", REC->u8 +',
        '"%d", (REC->u8',
        '"%y", REC->u8',
        '"%d", REC->arr',
        '"%d", REC->u8 / 0',
        '"%d", REC->u8 << 64',
        '"%d", REC->nums[3]',
        '"%d", *REC->ptr',
        '"%99999d", REC->u8',
        '"%s", __get_str(missing)',
        '"%s", __print_array(REC->nums, 3, 5)',
        '"%d", ' + "(" * 1000 + "1" + ")" * 1000,
        '"%d", ' + "-" * 1000 + "1",
        '"%d", ' + "1 ? 2 : " * 1000 + "3",
        '"%d", ' + "1 + " * 5000 + "1",
        '"%s", __print_flags(REC->u8, "|", { ' + "1 | " * 5000 + '1, "x" })',
    ],
)
def test_what_is_not_understood_is_printed_field_by_field(print_fmt: str) -> None:
    assert text(print_fmt).startswith("[FAILED TO PARSE] u8=200 s8=-5 u16=60000 ")


def test_fields_have_the_types_and_places_of_the_format() -> None:
    event = described('"x"')
    assert (event.system, event.name, event.number) == ("test", "ev", 300)
    assert list(event.common) == ["common_type", "common_flags", "common_preempt_count", "common_pid"]
    assert event.values(RECORD) == {
        "u8": 200,
        "s8": -5,
        "u16": 60000,
        "s32": -7,
        "ul": 0xFFFFFFFF81000204,
        "s64": -1234567890123,
        "arr": "comm",
        "dyn": "dynamic",
        "nums": struct.pack("<3I", 1, 2, 2**32 - 1),
        "b": 1,
        "bytes": b"\x01\x02\xfe\xff",
        "ptr": 0xFFFFFFFF81000300,
        "ll": -9,
    }
    nums = event.fields["nums"]
    assert (nums.type, nums.offset, nums.size, nums.item_size, nums.items(RECORD)) == (
        "u32",
        52,
        12,
        4,
        [1, 2, 2**32 - 1],
    )
    assert event.common["common_pid"].number(RECORD) == 63


def test_a_relative_place_is_counted_from_the_end_of_its_field() -> None:
    fields = [("u32", "n", 8, 4, 0), ("__rel_loc char[]", "name", 12, 4, 0)]
    event = parse_format(format_text("ev", 1, fields, '"%s %d", __get_rel_str(name), REC->n'))
    record = common(1, 63) + struct.pack("<II", 7, 5 << 16 | 0) + b"text\0"
    assert (event.values(record), event.print(record, find)) == ({"n": 7, "name": "text"}, "text 7")


@pytest.mark.parametrize(
    "broken",
    ["", "name: x\nformat:\n", "name: x\nID: many\n", "name: x\nID: -1\n", "name: x\nID: 65536\n", "ID: 5\n"],
)
def test_a_text_that_is_no_format_is_refused(broken: str) -> None:
    with pytest.raises(FormatError):
        parse_format(broken)


MARKS = ['"', ",", "(", ")", "{", "}", "[", "]", "+", "-", "?", ":", "&", " ", "\\"]
WORDS = ['"%d"', '"%s %*d"', "REC->", "u8", "arr", "0x1", "1ULL", "(s8)", "sizeof", "'c'", "%p"]
CALLS = ["__print_flags(", "__print_symbolic(", "__print_hex(", "__print_array(", "__get_str(dyn)"]
PIECES = st.sampled_from([*MARKS, *WORDS, *CALLS])


@settings(deadline=None, max_examples=500)
@given(st.lists(PIECES, max_size=25).map("".join), st.binary(max_size=120))
def test_no_format_and_no_record_raises_anything_else(print_fmt: str, record: bytes) -> None:
    event = described(print_fmt)
    assert isinstance(event.print(record, find), str)
    assert len(event.values(record)) == len(FIELDS)
    try:
        compile_print(print_fmt, event.fields)
    except PrintError:
        pass
