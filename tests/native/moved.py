"""Moved code of plans, put into memory as a hook does it: near its object, written, then made executable."""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterable
from pathlib import Path

from funcgraph.native.plan_file import PlanEntry

_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22
_PAGE = 4096
_REACH = 1 << 31
JUMP = b"\xff\x25\0\0\0\0"  # to the address that follows

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def fixed_up(entry: PlanEntry, address: int, bias: int = 0) -> bytes:
    """Return the moved code of a function as it has to be at an address.

    Args:
        bias: from addresses in the object's file to those in memory.
    """
    code = bytearray(entry.moved)
    for target, at, end in entry.fix_ups:
        struct.pack_into("<i", code, at, target + bias - (address + end))
    return bytes(code)


def place_near(base: int, size: int, rights: int = _READ | _EXECUTE) -> int:
    """Return the address of new memory that is less than 2 GiB from an object."""
    for distance in range(1 << 26, _REACH - (1 << 28), 1 << 26):
        for hint in (base - distance, base + distance):
            if hint <= 0:
                continue
            place = _libc.mmap(hint, max(size, 1), rights, _PRIVATE_ANONYMOUS, -1, 0)
            if abs(place - base) < _REACH - (1 << 27):
                return int(place)
            _libc.munmap(place, max(size, 1))
    raise AssertionError("no memory near the object")


class MovedCode:
    """The moved code of functions of a loaded object, ready to run.

    Args:
        path: of the object.
        entries: the functions.
    """

    def __init__(self, path: Path, entries: Iterable[PlanEntry]) -> None:
        hooked = [entry for entry in entries if entry.original]
        self.bias = _base(path)
        self._bytes = -(-sum(len(entry.moved) + 32 for entry in hooked) // _PAGE) * _PAGE
        self._address = place_near(self.bias, self._bytes, _READ | _WRITE)
        self._functions: dict[int, int] = {}
        at = self._address
        for entry in hooked:
            rest = self.bias + entry.address + entry.patch + len(entry.original)
            code = fixed_up(entry, at, self.bias) + JUMP + struct.pack("<Q", rest)
            ctypes.memmove(at, code, len(code))
            self._functions[entry.address] = at
            at += -(-len(code) // 16) * 16
        assert _libc.mprotect(self._address, self._bytes, _READ | _EXECUTE) == 0

    def of(self, entry: PlanEntry) -> int:
        """Return the address of the moved code of a function."""
        return self._functions[entry.address]


def _base(path: Path) -> int:
    """Return where a loaded object begins."""
    maps = Path("/proc/self/maps").read_text()
    found = re.search(rf"^([0-9a-f]+)-.* {re.escape(str(path))}$", maps, re.MULTILINE)
    assert found is not None, path
    return int(found[1], 16)
