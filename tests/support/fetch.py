"""Runs fetch programs (src/arch/cpython/fetch/) on the caller's frame, and reads their images."""

from __future__ import annotations

import functools
import struct
import subprocess
import sys
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import extension

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
SOURCES = [
    ROOT / "tests/events/fetch_probe.c",
    *sorted((SRC / "arch/cpython/fetch").glob("*.c")),
    *(SRC / f"arch/cpython/read/{name}.c" for name in ("values", "regs", "variables", "utf8")),
    SRC / "arch/cpython/base/assumptions.c",
    SRC / "engine/ring/field.c",
]
FLAGS = ["-std=gnu11", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-ffunction-sections"]
FLAGS += ["-Wl,--gc-sections", "-DPy_BUILD_CORE=1", "-DPy_BUILD_CORE_MODULE=1"]

#: FG_FIELD_TYPES: name -> how struct reads an element; None: it refers to a text or value.
TYPES: dict[str, str | None] = {
    "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "s8": "b", "s16": "h", "s32": "i", "s64": "q",
    "x8": "B", "x16": "H", "x32": "I", "x64": "Q", "f64": "d", "bool": "B", "char": "B", "string": None,
    "symbol": "Q", "object": None, "value": None,
}  # fmt: skip
FIRST_FIELD = {False: 16, True: 24}


class Fault:
    """What stands for a value that only code of the program could have told."""

    def __repr__(self) -> str:
        return "FAULT"


FAULT = Fault()


@dataclass(frozen=True)
class Sized:
    """A container, as an image has it: its type's name and its length."""

    type: str
    length: int


@dataclass(frozen=True)
class Object:
    """Any other object, as an image has it."""

    type: str
    address: int


@dataclass(frozen=True)
class Big:
    """An int of more than 64 bits, as an image has it."""

    is_negative: bool
    bits: int


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
    command += ["-isystem", sysconfig.get_paths()["include"], *map(str, SOURCES), "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
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


def decode_value(data: bytes) -> object:
    """Read a tagged value of record.h."""
    tag, rest = data[0], data[1:]
    if tag in (8, 9):
        length, n = struct.unpack_from("<QB", rest)
        text = rest[9:]
        assert len(text) == n
        whole = text.decode() if tag == 8 else text
        return whole if len(whole) == length else (whole, length)
    if tag in (10, 11):
        number, n = struct.unpack_from("<QB", rest)
        assert len(rest) == 9 + n
        return (Sized if tag == 10 else Object)(rest[9:].decode(), number)
    if tag == 6:
        negative, bits = struct.unpack("<BI", rest)
        return Big(bool(negative), bits)
    if tag in (4, 5, 7):
        return struct.unpack({4: "<b", 5: "<q", 7: "<d"}[tag], rest)[0]
    assert not rest
    return {1: None, 2: True, 3: False, 12: FAULT}[tag]


def decode_element(image: bytes, offset: int, type_name: str) -> object:
    layout = TYPES[type_name]
    if layout:
        return struct.unpack_from("<" + layout, image, offset)[0]
    start, length = struct.unpack_from("<HH", image, offset)
    data = image[start : start + length]
    assert len(data) == length
    if not data:
        return None
    if type_name == "string":
        assert data[-1] == 0
        return data[:-1].decode(errors="surrogateescape")
    return decode_value(data)


def decode(program: Any, image: bytes) -> dict[str, Any]:
    """Read all fields of an image."""
    fields_at, _, _, fields = probe().table(program)
    names = list(TYPES)
    assert image[:fields_at] == b"\xa5" * fields_at  # the caller's part
    values: dict[str, Any] = {}
    for name, number, count, offset in fields:
        step = struct.calcsize("<" + (TYPES[names[number]] or "I"))
        elements = [decode_element(image, offset + i * step, names[number]) for i in range(count or 1)]
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
        assert value in ({"string": "(fault)"}.get(type_name, 0), FAULT)
    return FAULT
