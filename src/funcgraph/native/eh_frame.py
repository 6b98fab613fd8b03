"""Call frame information (.eh_frame): where code begins and ends, and how the stack is at its first byte.

Compilers describe each function and each part of a split one by an entry (FDE). It knows ends that no symbol
has, and names none. What is called has the return address on top of the stack at its first instruction; the
cold part of a function, an entry of the PLT, or a signal's return has something else there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from funcgraph.native.elf import Elf

__all__ = ["Extent", "extents"]

_RSP, _RETURN_ADDRESS = 7, 16
_PC_RELATIVE, _ABSOLUTE, _OMIT = 0x10, 0x00, 0xFF
#: Of a pointer's encoding, the low four bits: struct format and size.
_FORMATS = {
    0x00: ("<Q", 8), 0x02: ("<H", 2), 0x03: ("<I", 4), 0x04: ("<Q", 8), 0x0A: ("<h", 2), 0x0B: ("<i", 4),
    0x0C: ("<q", 8),
}  # fmt: skip
# What an instruction of a CFA program has after it: u: a ULEB128, s: a SLEB128, b: a block.
_OPERANDS = {
    0x00: "", 0x05: "uu", 0x06: "u", 0x07: "u", 0x08: "u", 0x09: "uu", 0x0A: "", 0x0B: "", 0x0C: "uu",
    0x0D: "u", 0x0E: "u", 0x0F: "b", 0x10: "ub", 0x11: "us", 0x12: "us", 0x13: "s", 0x14: "uu", 0x15: "us",
    0x16: "ub", 0x2E: "u", 0x2F: "uu",
}  # fmt: skip
_ADVANCES = (0x01, 0x02, 0x03, 0x04)


@dataclass(slots=True)
class Extent:
    """A piece of code that one entry describes: [begin, end).

    Attributes:
        is_entry: whether the return address is on top of the stack at its first byte, as after a call.
        has_landing_pads: whether exceptions may go on in it.
    """

    begin: int
    end: int
    is_entry: bool
    has_landing_pads: bool = False


@dataclass(slots=True)
class _State:
    """What the instructions up to the first byte have said."""

    register: int = -1
    offset: int = -1
    return_offset: int | None = None  # in units of the data alignment factor; None: undefined

    @property
    def is_entry(self) -> bool:
        return (self.register, self.offset, self.return_offset) == (_RSP, 8, 1)


@dataclass(frozen=True, slots=True)
class _Cie:
    """What several entries share."""

    encoding: int
    is_signal: bool
    has_data: bool
    state: _State


def extents(elf: Elf) -> list[Extent]:
    """Return the pieces of code that an object's .eh_frame describes, by address; []: it has none.

    What is damaged ends the list: a piece that is not known is only missing.
    """
    section = elf.section(".eh_frame")
    if section is None:
        return []
    reader = _Reader(elf.data(section), section.address)
    found = sorted(reader.run(), key=lambda extent: (extent.begin, extent.end))
    return [extent for extent in found if 0 < extent.begin < extent.end]


class _Reader:
    """The entries of one section, from first to last."""

    def __init__(self, data: bytes, address: int) -> None:
        self._data = data
        self._address = address
        self._cies: dict[int, _Cie | None] = {}

    def run(self) -> Iterator[Extent]:
        data, at = self._data, 0
        try:
            while at + 8 <= len(data):
                length, back = struct.unpack_from("<II", data, at)
                if length == 0 or length == 0xFFFFFFFF:  # the end; 64-bit entries: no linker writes them
                    return
                end = at + 4 + length
                if back and end <= len(data):
                    cie = self._cie(at + 4 - back)
                    if cie is not None:
                        yield self._extent(cie, at + 8, end)
                at = end
        except (struct.error, IndexError, ValueError):
            return

    def _extent(self, cie: _Cie, at: int, end: int) -> Extent:
        form, size = _FORMATS[cie.encoding & 0x0F]
        (begin,) = struct.unpack_from(form, self._data, at)
        if cie.encoding & 0x70 == _PC_RELATIVE:
            begin += self._address + at
        (length,) = struct.unpack_from(form.lower() if size == 8 else form, self._data, at + size)
        at += 2 * size
        has_landing_pads = False
        if cie.has_data:
            skip, at = _uleb(self._data, at)
            has_landing_pads = any(self._data[at : at + skip])  # the address of their table
            at += skip
        state = _State(cie.state.register, cie.state.offset, cie.state.return_offset)
        is_known = self._run_program(state, at, end)
        return Extent(
            begin, begin + length, is_known and not cie.is_signal and state.is_entry, has_landing_pads
        )

    def _cie(self, at: int) -> _Cie | None:
        if at not in self._cies:
            self._cies[at] = self._read_cie(at)
        return self._cies[at]

    def _read_cie(self, at: int) -> _Cie | None:
        data = self._data
        if at < 0:
            return None
        length, zero, version = struct.unpack_from("<IIB", data, at)
        end = at + 4 + length
        at += 9
        letters_end = data.index(b"\0", at)
        letters = data[at:letters_end].decode("ascii", "replace")
        if zero or version not in (1, 3) or (letters and letters[0] != "z"):
            return None
        _, at = _uleb(data, letters_end + 1)
        _, at = _uleb(data, at)  # SLEB128 has the same length
        at = at + 1 if version == 1 else _uleb(data, at)[1]
        encoding = _ABSOLUTE
        if letters:
            size, at = _uleb(data, at)
            encoding, known = _augmentation(letters, data[at : at + size])
            if not known:
                return None
            at += size
        if (
            encoding == _OMIT
            or encoding & 0x0F not in _FORMATS
            or encoding & 0x70 not in (_PC_RELATIVE, _ABSOLUTE)
        ):
            return None
        state = _State()
        if not self._run_program(state, at, end):
            return None
        return _Cie(encoding, "S" in letters, bool(letters), state)

    def _run_program(self, state: _State, at: int, end: int) -> bool:
        """Run instructions up to the first that leaves the first byte. Returns False if one is not known."""
        data = self._data
        while at < end:
            code = data[at]
            at += 1
            high, low = code & 0xC0, code & 0x3F
            if high == 0x40 or code in _ADVANCES:
                return True
            if high == 0x80:
                value, at = _uleb(data, at)
                _set_rule(state, low, value)
            elif high == 0xC0:
                pass
            elif code in _OPERANDS:
                values = []
                for kind in _OPERANDS[code]:
                    value, at = _uleb(data, at)
                    values.append(value)
                    if kind == "b":
                        at += value
                _apply(state, code, values)
            else:
                return False
        return True


def _augmentation(letters: str, data: bytes) -> tuple[int, bool]:
    """Return the encoding of an entry's pointers, and whether all letters are known."""
    encoding, at = _ABSOLUTE, 0
    for letter in letters[1:]:
        if letter == "R":
            encoding = data[at]
            at += 1
        elif letter == "L":
            at += 1
        elif letter == "P":
            if data[at] & 0x0F not in _FORMATS:
                return encoding, False
            at += 1 + _FORMATS[data[at] & 0x0F][1]
        elif letter not in "SB":
            return encoding, False
    return encoding, True


def _apply(state: _State, code: int, values: list[int]) -> None:
    if code == 0x0C:
        state.register, state.offset = values
    elif code == 0x0D:
        state.register = values[0]
    elif code == 0x0E:
        state.offset = values[0]
    elif code in (0x0F, 0x12, 0x13):  # an expression; factored offsets, which no x86 compiler writes
        state.register = -1
    elif code in (0x05, 0x07, 0x08, 0x09, 0x10, 0x11, 0x14, 0x15, 0x16):
        _set_rule(state, values[0], values[1] if code == 0x05 else None)


def _set_rule(state: _State, register: int, offset: int | None) -> None:
    if register == _RETURN_ADDRESS:
        state.return_offset = offset


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    """Return a ULEB128 number and the place after it. A SLEB128 number ends at the same place."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
