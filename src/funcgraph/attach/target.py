"""The Python in a process: its version and build, and where its functions are, read from its memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from funcgraph.attach.errors import AttachError
from funcgraph.attach.image import Image, images
from funcgraph.attach.process import Mapping, Process

__all__ = ["OLDEST", "Target", "find_target"]

#: The oldest CPython that funcgraph is for.
OLDEST = (3, 11)

# What a signal handler returns to: mov $15, %rax; syscall. glibc and musl have the same.
_SIGNAL_RETURN = bytes.fromhex("48c7c00f0000000f05")
_MAX_C_LIBRARY = 1 << 24  # bytes of code: that of glibc 2.41 has 1.5 MB
_VERSION_IN_NAME = re.compile(r"python(\d)\.(\d+)")
_C_LIBRARIES = re.compile(r"/(libc|libpthread|ld-musl|libc\.musl)[-.][^/]*$")


class Target(NamedTuple):
    """A process with a Python in it."""

    process: Process
    image: Image  # of the interpreter
    images: list[Image]
    mappings: list[Mapping]
    version: tuple[int, int]
    version_hex: int
    build: str  # "", "t" (no GIL), "d" (debug) or "td", as in sys.abiflags
    runtime: tuple[int, int] = (0, 0)  # _PyRuntime: address and size

    @property
    def pid(self) -> int:
        """The process."""
        return self.process.pid

    @property
    def python(self) -> str:
        """A name for messages: "CPython 3.13t"."""
        return f"CPython {self.version[0]}.{self.version[1]}{self.build}"

    def c_libraries(self) -> list[Image]:
        """Return the C library: before glibc 2.34 it is several."""
        return [image for image in self.images if _C_LIBRARIES.search(image.path)]

    def c_function(self, name: str) -> int:
        """Return the address of a function of the C library; 0: it was not found."""
        found = (image.address(name) for image in [*self.c_libraries(), *self.images])
        return next((address for address in found if address), 0)

    def code_of(self, image: Image) -> tuple[int, int]:
        """Return start and end of an image's code."""
        code = [segment for segment in image.segments if segment.is_code]
        return code[0].low, code[-1].high

    def loader(self) -> tuple[int, int]:
        """Return start and end of the dynamic loader's code; (0, 0) if the loader is in the C library."""
        for image in self.images:
            if re.match(r"ld[-.]|ld-linux", image.name) and "musl" not in image.name:
                return self.code_of(image)
        return 0, 0

    def signal_return(self) -> int:
        """Return the address that signal handlers return to; 0: it was not found."""
        for image in self.c_libraries():
            low, high = self.code_of(image)
            at = self.process.read(low, min(high - low, _MAX_C_LIBRARY)).find(_SIGNAL_RETURN)
            if at >= 0:
                return low + at
        return 0


def find_target(process: Process) -> Target:
    """Return the Python in a process.

    Raises:
        AttachError: there is none, or funcgraph is not for it.
    """
    mappings = process.mappings()
    found = list(images(process, mappings))
    # An executable or library with "python" in its name first; others embed the interpreter.
    for image in sorted(found, key=lambda image: "python" not in image.name):
        runtime = image.symbol("_PyRuntime")
        if runtime is not None and image.address("PyGILState_Ensure"):
            return _target(process, image, found, mappings, runtime)
    old = next((name for name in map(_old_python, found) if name), "")
    if old:
        raise AttachError(process.pid, f"it runs {old}: funcgraph needs CPython 3.11 or later")
    raise AttachError(process.pid, f"no CPython is loaded in it ({process.program() or 'a kernel thread'})")


def _target(
    process: Process,
    image: Image,
    found: list[Image],
    mappings: Sequence[Mapping],
    runtime: tuple[int, int],
) -> Target:
    at = image.address("Py_Version")
    version_hex = int.from_bytes(process.read(at, 8), "little") if at else 0
    version = version_hex >> 24 & 0xFF, version_hex >> 16 & 0xFF
    if version < OLDEST:
        name = _old_python(image) or "a CPython older than 3.11"
        raise AttachError(process.pid, f"it runs {name}: funcgraph needs CPython 3.11 or later")
    return Target(process, image, found, list(mappings), version, version_hex, _build(image), runtime)


def _build(image: Image) -> str:
    """Return the build, by functions that only such builds export."""
    free_threaded = image.address("_Py_MergeZeroLocalRefcount")
    debug = image.address("_Py_NegativeRefcount")
    return ("t" if free_threaded else "") + ("d" if debug else "")


def _old_python(image: Image) -> str:
    """Return "CPython 3.9" if an image is one by its name and its functions."""
    match = _VERSION_IN_NAME.search(image.name)
    if match is None or not image.address("PyGILState_Ensure", "PyRun_SimpleString"):
        return ""
    return f"CPython {match[1]}.{match[2]}"
