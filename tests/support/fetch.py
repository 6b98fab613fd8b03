"""Runs fetch programs (src/arch/cpython/fetch/) on the caller's frame, and reads their images."""

from __future__ import annotations

import functools
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import extension
from compiled import link
from event_image import FAULT, TYPES, decode_element, size_of

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
_READ = ("values", "brief", "cfunction", "regs", "variables")
_VALUE = ("plain_values", "shown_values", "value_parts", "attribute", "numpy", "pandas", "utf8")
SOURCES = [
    ROOT / "tests/events/fetch_probe.c",
    *sorted((SRC / "arch/cpython/fetch").glob("*.c")),
    *(SRC / f"arch/cpython/read/{name}.c" for name in _READ),
    *(SRC / f"arch/cpython/value/{name}.c" for name in _VALUE),
    SRC / "arch/cpython/base/assumptions.c",
    *(SRC / f"engine/fetch/{name}.c" for name in ("layout", "texts")),
    *(SRC / f"engine/core/{name}.c" for name in ("value_style", "pattern")),
    SRC / "engine/ring/field.c",
]
FLAGS = ["-std=gnu11", "-O1", "-fPIC", "-fvisibility=hidden", "-ffunction-sections"]
FLAGS += ["-DPy_BUILD_CORE=1", "-DPy_BUILD_CORE_MODULE=1"]


def attr(*names: str) -> tuple[tuple[Any, ...], ...]:
    return tuple(("attr", name) for name in names)


def at(*places: int) -> tuple[tuple[Any, ...], ...]:
    return tuple(("index", place) for place in places)


def key(*keys: str | int) -> tuple[tuple[Any, ...], ...]:
    return tuple(("key", one) for one in keys)


LEN: tuple[tuple[Any, ...], ...] = (("len",),)


@functools.cache
def probe() -> Any:
    """Compile and import the extension module."""
    folder = Path(tempfile.mkdtemp(prefix="fetch-"))
    target = folder / f"fetch_probe{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = ["gcc", *FLAGS, *extension.WARNINGS, "-I", str(SRC)]
    command += ["-isystem", sysconfig.get_paths()["include"]]
    link(target, command, SOURCES, "-shared", "-Wl,--gc-sections")
    module = extension.load(target, "fetch_probe")
    target.unlink()
    folder.rmdir()
    return module


class Watch:
    """Sees each Python function that is called while it is the profile function.

    But those that the collector of garbage calls, at any moment: hypothesis has one.
    """

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_qualname
        if event == "call" and not name.endswith("gc_callback"):
            self.seen.append(name)


def is_set(image: bytes, bit: int) -> bool:
    return bool(image[bit // 8] >> bit % 8 & 1)


def decode(program: Any, image: bytes) -> dict[str, Any]:
    """Read all fields of an image."""
    fields_at, _, _, fields = probe().table(program)
    names = list(TYPES)
    assert image[:fields_at] == b"\xa5" * fields_at  # the caller's part
    values: dict[str, Any] = {}
    for name, number, count, offset, fault_bit in fields:
        step = size_of(names[number])
        elements = [
            FAULT
            if fault_bit and is_set(image, fault_bit + i)
            else decode_element(image, offset + i * step, names[number])
            for i in range(count or 1)
        ]
        values[name] = elements if count else elements[0]
    return values


def fetch(
    subject: object, steps: tuple[tuple[Any, ...], ...] = (), type_name: str = "value", count: int = 0
) -> object:
    """Fetch from an object, twice, so that what the first one leaves to the second is used too.

    Returns what the image has, or FAULT if a fault was counted; the image then has a fault as well.
    """
    program = probe().new([("x", type_name, count, ("name", "subject"), steps)], False)
    at_place, watch, before = probe().at_place, Watch(), sys.getprofile()
    sys.setprofile(watch)
    try:
        image, faults = at_place(program)
        again = at_place(program)
    finally:
        sys.setprofile(before)
    assert not watch.seen
    assert again == (image, faults)
    value = decode(program, image)["x"]
    if not faults:
        assert value is not FAULT
        return value
    assert faults == 1
    if not count:
        assert value == "(fault)" if type_name == "string" else value is FAULT
    else:
        assert {"string": "(fault)"}.get(type_name, FAULT) in value
    return FAULT
