"""The file of a plan, as plan.h describes it: one object's functions for a process that has no decoder.

    header     128 bytes
    functions  48 bytes each, by address
    fix-ups    16 bytes each
    code       the moved instructions of all functions
    names      of all functions, ended by NUL

All numbers are little-endian, all tables begin at multiples of eight bytes. The names of a function follow
each other, the best one first; an empty one ends them. What plan.h keeps in reserve has the revision of the
rules and a checksum of the header.
"""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from funcgraph import _plan
from funcgraph.native.reasons import Reason

__all__ = [
    "CALLS",
    "FIX_UP",
    "FUNCTION",
    "HEADER",
    "MAGIC",
    "PLACE",
    "ROOM",
    "VERSION",
    "DamagedPlanError",
    "Plan",
    "PlanEntry",
    "pack",
]

VERSION = 1
#: Of the rules by which functions are found, refused and moved: one more with each change of what plans say.
RULES = 2
MAGIC = b"FGPLAN\r\n"
#: struct fg_plan_header: the fields of Header.
HEADER = struct.Struct("<8sIHH32sQQQQIIIIII24x")
#: struct fg_plan_function: address, size, name, code, fix_up, reason, patch, displaced, moved, fix_ups,
#: instructions, flags, original.
FUNCTION = struct.Struct("<QIIIIHBBBBBB16s")
#: struct fg_plan_fix_up: target, at, end, kind.
FIX_UP = struct.Struct("<QBBB5x")
#: Bits of `flags`.
ROOM, CALLS, PLACE = 1, 2, 4
_REASON_AT, _STRIDE = 12, FUNCTION.size // 2  # of `reason` among 16-bit words
_DISPLACEMENT = 0  # the kind of a fix-up


class Header(NamedTuple):
    """The fields of struct fg_plan_header, and two of ours in its reserve."""

    magic: bytes
    version: int
    machine: int
    build_id_bytes: int
    build_id: bytes
    file_bytes: int
    checksum: int
    text_begin: int
    text_end: int
    functions: int
    fix_ups: int
    code_bytes: int
    name_bytes: int
    rules: int
    header_checksum: int = 0

    def pack(self) -> bytes:
        """Return its bytes, with their checksum."""
        return HEADER.pack(*self._replace(header_checksum=zlib.crc32(HEADER.pack(*self[:-1], 0))))


class DamagedPlanError(Exception):
    """A file is no plan of this version, or is damaged."""


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """A function of a plan: what struct fg_plan_function has of it.

    Attributes:
        size: its bytes at its entry, and displaced padding behind them; 0: not known.
        fix_ups: target, at and end of each.
    """

    address: int
    size: int
    names: tuple[str, ...]
    reason: Reason
    patch: int = 0
    original: bytes = b""
    moved: bytes = b""
    fix_ups: tuple[tuple[int, int, int], ...] = ()
    instructions: int = 0
    flags: int = 0


def pack(entries: Iterable[PlanEntry], machine: int, build_id: bytes) -> bytes:
    """Return the file of a plan.

    Args:
        entries: the functions, by address.
        machine: e_machine of the object.
        build_id: of the object; b"": it has none.
    """
    functions: list[bytes] = []
    fix_ups: list[bytes] = []
    code, names = bytearray(), _Names()
    begin = end = 0
    for entry in entries:
        begin, end = begin or entry.address, max(end, entry.address + max(entry.size, 1))
        functions.append(
            FUNCTION.pack(
                entry.address, entry.size, names.add(entry.names), len(code), len(fix_ups), entry.reason,
                entry.patch, len(entry.original), len(entry.moved), len(entry.fix_ups), entry.instructions,
                entry.flags, entry.original,
            )
        )  # fmt: skip
        code += entry.moved
        fix_ups += [FIX_UP.pack(*fix_up, _DISPLACEMENT) for fix_up in entry.fix_ups]
    code += bytes(-len(code) % 8)
    text = bytes(names.text) + bytes(-len(names.text) % 8)
    body = b"".join([*functions, *fix_ups, code, text])
    header = Header(
        MAGIC, VERSION, machine, len(build_id), build_id, HEADER.size + len(body), _plan.checksum(body),
        begin, end, len(functions), len(fix_ups), len(code), len(text), RULES,
    )  # fmt: skip
    return header.pack() + body


class _Names:
    """The table of names: each list of names once."""

    def __init__(self) -> None:
        self.text = bytearray()
        self._offsets: dict[tuple[str, ...], int] = {}

    def add(self, names: tuple[str, ...]) -> int:
        """Return where a list of names begins."""
        if names not in self._offsets:
            self._offsets[names] = len(self.text)
            self.text += b"".join(name.encode("utf-8", "replace") + b"\0" for name in (*names, ""))
        return self._offsets[names]


class Plan:
    """A plan, read back.

    Args:
        data: the file.
        build_id: of the object that it must be of; None: of any.

    Attributes:
        data: as given.
        build_id: of the object.
        machine: e_machine of the object.

    Raises:
        DamagedPlanError: it is of another version or object, or damaged.
    """

    def __init__(self, data: bytes, build_id: bytes | None = None) -> None:
        if len(data) < HEADER.size:
            raise DamagedPlanError
        header = Header(*HEADER.unpack_from(data))
        sizes = [
            HEADER.size, header.functions * FUNCTION.size, header.fix_ups * FIX_UP.size, header.code_bytes,
            header.name_bytes,
        ]  # fmt: skip
        view = memoryview(data)
        if (
            (header.magic, header.version, header.rules) != (MAGIC, VERSION, RULES)
            or build_id not in (None, header.build_id[: header.build_id_bytes])
            or header.file_bytes != len(data)
            or sum(sizes) != len(data)
            or header.pack() != data[: HEADER.size]
            or header.checksum != _plan.checksum(view[HEADER.size :])
        ):
            raise DamagedPlanError
        self.data = data
        self.build_id = header.build_id[: header.build_id_bytes]
        self.machine = header.machine
        ends = accumulate(sizes)
        self._functions, self._fix_ups, self._code, self._names = (
            view[begin:end] for begin, end in pairwise(ends)
        )

    def __len__(self) -> int:
        return len(self._functions) // FUNCTION.size

    def reasons(self) -> Mapping[Reason, int]:
        """Return how many functions there are with each reason."""
        counts = Counter(self._functions.cast("H")[_REASON_AT::_STRIDE])
        return {reason: counts[reason] for reason in Reason if counts[reason]}

    def entries(self) -> Iterator[PlanEntry]:
        """Yield the functions, by address."""
        fix_ups = [row[:3] for row in FIX_UP.iter_unpack(self._fix_ups)]
        code, text = bytes(self._code), bytes(self._names)
        for row in FUNCTION.iter_unpack(self._functions):
            (
                address,
                size,
                name,
                at,
                first,
                reason,
                patch,
                displaced,
                moved,
                count,
                instructions,
                flags,
                original,
            ) = row
            yield PlanEntry(
                address, size, _names_at(text, name), Reason(reason), patch, original[:displaced],
                code[at : at + moved], tuple(fix_ups[first : first + count]), instructions, flags,
            )  # fmt: skip


def _names_at(text: bytes, at: int) -> tuple[str, ...]:
    return tuple(text[at : text.index(b"\0\0", at)].decode().split("\0"))
