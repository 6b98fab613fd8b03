"""No arrow between rooms runs up, and no files depend on each other in a circle (tools/rooms.py)."""

from __future__ import annotations

import re

import pytest

from tools import rooms

pytestmark = pytest.mark.one_python


def test_no_include_runs_up() -> None:
    assert list(rooms.arrows_up(rooms.c_arrows())) == []


def test_no_includes_form_a_circle() -> None:
    assert rooms.circles(rooms.c_arrows()) == []


def test_each_file_is_in_a_room() -> None:
    assert {rooms.room_of(unit) for unit in rooms.c_arrows()} == rooms.KNOWS.keys()


#: What knows how events lie in a trace.dat: what makes one, and what reads one.
_KNOW_WIRE = (
    "tracedata/make/",
    "tracedata/read/dat/",
    "tracedata/read/cursor.c",
    "tracedata/read/trace_file.c",
)


def test_only_writer_and_reader_of_trace_dat_know_its_images() -> None:
    """All others see decoded events (trace_event.h), which also come from a .fg."""
    including = re.compile(r'^#include "tracedata/base/wire\.h"', re.MULTILINE)
    files = [file for file in rooms.SRC.rglob("*.[ch]") if including.search(file.read_text())]
    knowing = [file.relative_to(rooms.SRC).as_posix() for file in files]
    assert [file for file in knowing if not file.startswith(_KNOW_WIRE)] == []
    # A header would tell others.
    assert [file for file in knowing if file.endswith(".h") and "/make/" not in file] == []
    assert len(knowing) > 5


#: What belongs to one machine: its name, its registers (also by the kernel's names, as members), its
#: instructions, and bytes of these.
_OF_A_MACHINE = re.compile(
    r"""x86|amd64|aarch64|arm64 | \basm\b|__asm__|__builtin_ia32|immintrin|arm_neon
    | \b[re](ax|bx|cx|dx|si|di|bp|sp|ip|flags)\b | \br(8|9|1[0-5])[dwb]?\b | \b[xyz]mm\d*\b
    | (->|\.)(ax|bx|cx|dx|si|di|bp|orig_ax)\b | \bREG_[A-Z]+\b | \bint3\b|endbr
    | \b0x[0-9a-f]{2}\b""",
    re.VERBOSE | re.IGNORECASE,
)


def test_what_all_machines_share_of_native_hooks_has_nothing_of_one() -> None:
    """Broken by hand: hook.c wrote the jump's first byte itself; regs.c read a register by its name."""
    shared = [*(rooms.SRC / "arch/native").glob("*.[ch]")]
    assert len(shared) > 20
    assert [
        f"{file.name}: {found[0]}" for file in shared for found in _OF_A_MACHINE.finditer(file.read_text())
    ] == []
    # It finds them where they are.
    own = "".join(file.read_text() for file in (rooms.SRC / "arch/native/x86_64").iterdir())
    assert {"rsp", "r11", "xmm0", "endbr", "0xe9", "->ax", "__asm__"} <= {
        found[0] for found in _OF_A_MACHINE.finditer(own)
    }


@pytest.mark.parametrize("layer", rooms.WITHOUT_PYTHON)
def test_only_the_arch_and_the_binding_include_python(layer: str) -> None:
    """CPython's headers are Python.h and those of its folders `cpython/` and `internal/`."""
    including = re.compile(r'^\s*#\s*include\s*[<"](Python\.h|cpython/|internal/pycore)', re.MULTILINE)
    files = [*(rooms.SRC / layer).rglob("*.[ch]")]
    assert files
    assert [file.name for file in files if including.search(file.read_text())] == []


def test_no_symbol_is_used_from_below_and_none_in_a_circle() -> None:
    """Of the engine and of tracedata, whose objects need no Python."""
    arrows = rooms.link_arrows(rooms.compile_objects())
    # It sees arrows at all.
    assert arrows["engine/graph/call"] >= {"engine/graph/end", "engine/core/root"}
    assert "tracedata/read/cursor" in arrows["tracedata/read/merge"]
    assert list(rooms.arrows_up(arrows)) == []
    assert rooms.circles(arrows) == []


def test_arrows_up_and_circles_are_found() -> None:
    arrows = {
        "engine/core/a": {"engine/graph/b"},
        "engine/graph/b": {"engine/core/c"},
        "engine/core/c": set(),
    }
    assert list(rooms.arrows_up(arrows)) == ["engine/core/a -> engine/graph/b"]
    assert rooms.circles(arrows) == []
    assert rooms.circles({**arrows, "engine/core/c": {"engine/core/a"}}) == [
        ["engine/core/a", "engine/core/c", "engine/graph/b"]
    ]
