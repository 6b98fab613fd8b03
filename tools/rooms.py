"""The rooms of src/ and what each may know, read from the #include lines.

A room is a folder. It may use itself and what `KNOWS` says. No circle of files is allowed, neither in one room nor over
several. `tests/test_rooms.py` holds the tree to this.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.layout import ROOT

SRC = ROOT / "src"

#: Room -> the rooms below it that it may use, and with them all that those may use.
KNOWS: dict[str, tuple[str, ...]] = {
    "include": (),
    "engine/core": ("include",),
    "engine/ring": ("engine/core",),
    "engine/graph": ("engine/ring",),
    "engine/probe": ("engine/graph",),
    "engine/tracer": ("engine/probe",),
    "arch/elf": ("engine/core",),
    "arch/cpython/base/compat": ("engine/core",),
    "arch/cpython/base": ("arch/cpython/base/compat", "engine/graph"),
    "arch/cpython/read": ("arch/cpython/base",),
    "arch/cpython/hook": ("arch/cpython/read", "engine/tracer"),
    "arch/cpython/latency": ("arch/cpython/hook", "arch/elf"),
    "tracedata/base": ("engine/core", "engine/ring"),
    "tracedata/spool": ("tracedata/base",),
    "tracedata/make": ("tracedata/spool",),
    "tracedata/read": ("tracedata/base",),
    "tracedata/view": ("tracedata/read",),
    "binding/base": ("arch/cpython/hook",),
    "binding/graph": ("binding/base", "engine/tracer"),
    "binding/probe": ("binding/graph",),
    "binding/capi": ("binding/probe",),
    "binding/engine": ("binding/capi", "arch/cpython/latency"),
    "binding/tracedata": ("tracedata/view", "tracedata/make"),
    "binding/environ": (),
}

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def c_arrows() -> dict[str, set[str]]:
    """Return for each C unit (a path below src/ without suffix) the units that it includes."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for file in sorted(SRC.rglob("*.[ch]")):
        unit = str(file.relative_to(SRC).with_suffix(""))
        for name in _INCLUDE.findall(file.read_text()):
            if (SRC / name).is_file():
                arrows[unit].add(str(Path(name).with_suffix("")))
        arrows[unit].discard(unit)
    return arrows


def known(room: str) -> set[str]:
    """Return all rooms that `room` may use, itself among them."""
    return {room}.union(*(known(below) for below in KNOWS[room]))


def room_of(unit: str) -> str:
    return unit.rpartition("/")[0]


def arrows_up(arrows: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield "a -> b" for each arrow to a room that the user's room may not know."""
    for user, used in sorted(arrows.items()):
        allowed = known(room_of(user))
        yield from (f"{user} -> {unit}" for unit in sorted(used) if room_of(unit) not in allowed)


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected groups of more than one unit (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(unit: str) -> None:
        order[unit] = low[unit] = len(order)
        stack.append(unit)
        for used in sorted(arrows.get(unit, ())):
            if used not in order:
                visit(used)
                low[unit] = min(low[unit], low[used])
            elif used in stack:
                low[unit] = min(low[unit], order[used])
        if low[unit] == order[unit]:
            at = stack.index(unit)
            group = sorted(stack[at:])
            del stack[at:]
            if len(group) > 1:
                found.append(group)

    for unit in sorted(arrows):
        if unit not in order:
            visit(unit)
    return found


def main() -> None:
    arrows = c_arrows()
    for arrow in arrows_up(arrows):
        print("up:", arrow)
    for group in circles(arrows):
        print("circle:", " ".join(group))


if __name__ == "__main__":
    main()
