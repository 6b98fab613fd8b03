"""Plan files have the layout of plan.h, are read back as they were written, and no damaged one is taken."""

from __future__ import annotations

import ctypes
import re
import struct
from pathlib import Path

import pytest
from compiled import link
from hypothesis import given, settings
from hypothesis import strategies as st

from funcgraph.native.plan_file import (
    CALLS,
    FIX_UP,
    FUNCTION,
    HEADER,
    MAGIC,
    ROOM,
    VERSION,
    DamagedPlanError,
    Plan,
    PlanEntry,
    pack,
)
from funcgraph.native.reasons import Reason

pytestmark = pytest.mark.one_python

PLAN_H = Path(__file__).parents[2] / "src/arch/native/plan.h"
BUILD_ID = bytes(range(20))
FIX_UPS = ((0x2000, 1, 5), (0x3000, 5, 9))
ENTRIES = [
    PlanEntry(
        0x1000, 40, ("malloc", "__libc_malloc"), Reason.HOOKABLE, 4, b"\x55\x48\x89\xe5\x50", b"\x55" * 9,
        FIX_UPS, 3, ROOM,
    ),
    PlanEntry(0x1040, 0, ("setjmp",), Reason.RETURNS_TWICE),
    PlanEntry(0x1080, 12, ("größe",), Reason.HOOKABLE, 0, b"\xb8\1\0\0\0", b"\xb8\1\0\0\0", (), 1, CALLS),
]  # fmt: skip
WHOLE = pack(ENTRIES, 62, BUILD_ID)


def test_a_plan_is_read_back_as_it_was_written() -> None:
    plan = Plan(WHOLE, BUILD_ID)
    assert list(plan.entries()) == ENTRIES
    assert plan.reasons() == {Reason.HOOKABLE: 2, Reason.RETURNS_TWICE: 1}
    assert len(plan) == 3
    assert plan.machine == 62


def test_a_plan_without_functions_is_one() -> None:
    assert list(Plan(pack([], 62, b""), b"").entries()) == []


def test_names_that_several_functions_have_are_kept_once() -> None:
    same = [PlanEntry(0x1000 + 16 * number, 16, ("init",), Reason.CALL) for number in range(100)]
    assert len(pack(same, 62, b"")) < HEADER.size + 100 * FUNCTION.size + 16


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_changed_byte_is_found(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(WHOLE) - 1))
    other = data.draw(st.integers(1, 255))
    damaged = WHOLE[:at] + bytes((WHOLE[at] ^ other,)) + WHOLE[at + 1 :]
    with pytest.raises(DamagedPlanError):
        Plan(damaged, BUILD_ID)


@given(st.binary(max_size=400) | st.integers(0, 300).map(lambda size: WHOLE[:size]))
@settings(max_examples=200, deadline=None)
def test_what_is_no_plan_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedPlanError):
        Plan(data, BUILD_ID)


def test_a_plan_of_another_object_is_refused() -> None:
    with pytest.raises(DamagedPlanError):
        Plan(WHOLE, b"\0" * 20)


def _c_text() -> str:
    if not PLAN_H.is_file():
        pytest.skip("plan.h is not here yet")
    return re.sub(r"/\*.*?\*/", "", PLAN_H.read_text(), flags=re.DOTALL)


def _c_sizes(name: str) -> list[int]:
    """Return the sizes of the fields of a struct; the reserved bytes at its end are left out."""
    body = re.search(rf"struct {name} {{(.*?)}};", _c_text(), re.DOTALL)
    assert body is not None
    constants = {name: int(value) for name, value in re.findall(r"#define (FG_PLAN_\w+) (\d+)u", _c_text())}
    sizes = []
    for bits, fields in re.findall(r"uint(\d+)_t ([^;]*);", body[1]):
        for field in fields.split(","):
            array = re.search(r"\[(\w+)\]", field)
            count = int(constants.get(array[1], array[1])) if array else 1
            if "reserved" not in field:
                sizes.append(int(bits) // 8 * count)
    return sizes


def _python_sizes(layout: struct.Struct) -> list[int]:
    fields = re.findall(r"(\d*)([a-zA-Z])", layout.format)
    widths = {"Q": 8, "I": 4, "H": 2, "B": 1}
    return [int(count or 1) if kind == "s" else widths[kind] for count, kind in _repeated(fields)]


def _repeated(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(count, kind) for count, kind in fields if kind != "x"]


@pytest.mark.parametrize(
    ("name", "layout", "of_reserve"),
    [("fg_plan_header", HEADER, 1), ("fg_plan_function", FUNCTION, 0), ("fg_plan_fix_up", FIX_UP, 0)],
)
def test_the_layouts_are_those_of_plan_h(name: str, layout: struct.Struct, of_reserve: int) -> None:
    sizes = _python_sizes(layout)
    assert sizes[: len(sizes) - of_reserve] == _c_sizes(name)
    assert f"sizeof(struct {name}) == {layout.size}" in _c_text()


def test_the_numbers_are_those_of_plan_h() -> None:
    text = _c_text()
    assert (
        dict(re.findall(r"(FG_PLAN_\w+) = (\d+),", text)).items()
        >= {
            **{f"FG_PLAN_{reason.name}": str(reason.value) for reason in Reason},
            "FG_PLAN_ROOM": str(ROOM),
            "FG_PLAN_CALLS": str(CALLS),
        }.items()
    )
    assert f"#define FG_PLAN_VERSION {VERSION}u" in text
    assert f'#define FG_PLAN_MAGIC "{MAGIC.decode()!r}"'.replace("'", "") in text


_CHECK = """
#include "arch/native/plan_file.h"
const char *check(const void *plan, size_t bytes)
{
    static struct fg_native_refusal refusal;
    struct fg_plan_file file;
    return fg_plan_check(plan, bytes, 62, &file, &refusal) ? "" : refusal.text;
}
"""


def test_the_reader_in_c_takes_what_the_writer_makes(tmp_path: Path) -> None:
    _c_text()
    source = tmp_path / "check.c"
    source.write_text(_CHECK)
    src = PLAN_H.parents[2]
    library = link(
        tmp_path / "check.so",
        ["gcc", "-std=gnu11", "-O1", "-fPIC", "-I", str(src)],
        [source, src / "arch/native/plan_file.c"],
        "-shared",
    )
    check = ctypes.CDLL(str(library)).check
    check.restype = ctypes.c_char_p
    check.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    assert check(WHOLE, len(WHOLE)) == b""
    damaged = WHOLE[:-20] + b"?" + WHOLE[-19:]
    assert b"damaged" in check(damaged, len(damaged))
