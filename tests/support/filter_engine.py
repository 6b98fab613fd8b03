"""The engine's filters, compiled by themselves (tests/events/filter_probe.c)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

from compiled import link
from event_image import Image
from extension import WARNINGS

from funcgraph.events.filter_program import Program

ROOT = Path(__file__).parents[2]
SOURCES = [
    ROOT / "tests/events/filter_probe.c",
    *sorted((ROOT / "src/engine/filter").glob("filter*.c")),
    ROOT / "src/engine/filter/text_glob.c",
    ROOT / "src/engine/ring/field.c",
]


class _CField(ctypes.Structure):
    """struct fg_field."""

    _fields_ = (
        *(("offset", ctypes.c_uint16), ("type", ctypes.c_uint8), ("count", ctypes.c_uint8)),
        ("fault_bit", ctypes.c_uint16),
    )


class Engine:
    """The engine's filters."""

    def __init__(self, folder: Path) -> None:
        library = folder / "filter_probe.so"
        flags = ["-std=gnu11", "-O1", "-g", "-fPIC", *WARNINGS, f"-I{ROOT / 'src'}"]
        sanitize = ("-fsanitize=undefined", "-fno-sanitize-recover=all")
        link(library, ["gcc", *flags, *sanitize], SOURCES, "-shared", *sanitize)
        self._library = ctypes.CDLL(str(library))
        self._library.probe_matches.restype = ctypes.c_bool
        self._library.probe_matches.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint32)
        self._library.fg_event_filter_free.argtypes = (ctypes.c_void_p,)

    def names(self, table: str) -> tuple[str, ...]:
        """Return the names in a table of filter.h: "operations", "operands" or "sources"."""
        words = ctypes.c_char_p.in_dll(self._library, f"probe_{table}").value
        assert words is not None
        return tuple(words.decode().split())

    def name_task(self, name: str | None) -> None:
        """Give this thread a task with this name; None: no task."""
        self._library.probe_name_task(None if name is None else name.encode())

    def make(self, program: bytes, layout: Sequence[tuple[int, int, int]]) -> EngineFilter:
        """Return a filter of the bytes of a program. Raises OSError."""
        made = ctypes.c_void_p()
        fields = (_CField * len(layout))(*layout)
        error = self._library.probe_make(
            ctypes.byref(made), program, ctypes.c_size_t(len(program)), fields, len(layout)
        )
        if error:
            raise OSError(-error, "fg_event_filter_make")
        return EngineFilter(self._library, made)

    def matches(self, program: Program, image: Image, n: int | None = None) -> bool:
        """Return whether a filter accepts an image, of which only the first `n` bytes are there."""
        made = self.make(program.pack(), image.layout)
        return made.matches(image.bytes[:n])


class EngineFilter:
    """A filter that the engine made."""

    def __init__(self, library: ctypes.CDLL, made: ctypes.c_void_p) -> None:
        self._library = library
        self._made = made

    def __del__(self) -> None:
        self._library.fg_event_filter_free(self._made)

    def matches(self, image: bytes) -> bool:
        """Return whether the filter accepts an image."""
        found: bool = self._library.probe_matches(self._made, image, len(image))
        return found
