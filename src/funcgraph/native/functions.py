"""The functions of an object: each once, whatever many symbols and pieces it has, and where each ends."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from funcgraph.native.eh_frame import Extent, extents
from funcgraph.native.elf import Elf
from funcgraph.native.never import is_unsafe_object, reason_of_names
from funcgraph.native.reasons import Reason
from funcgraph.native.references import resolvers
from funcgraph.native.symbols import Symbol, symbols
from funcgraph.native.unnamed import unnamed_functions, unnamed_name

__all__ = ["Function", "Layout", "layout_of"]

#: GCC and clang move what seldom runs out of a function. A part is jumped to, never called.
_PART = re.compile(r"(.+?)\.(?:cold|__part)(?:\.\d+)?")
#: How many spans that begin before an address are looked at. Only some functions in assembly overlap.
_MOST_NESTED = 8
#: Several functions of one name have each all parts of that name.
_MOST_PARTS = 256


@dataclass(slots=True)
class Function:
    """One function.

    Attributes:
        address: of its entry.
        size: its bytes at the entry, without parts elsewhere; 0: not known.
        limit: where something else begins: its bytes and the padding behind them end there.
        names: as the symbols have them.
        parts: other pieces of it, [begin, end).
        reason: why it is not hooked, as far as that is known by now.
    """

    address: int
    size: int
    limit: int
    names: list[str]
    parts: list[tuple[int, int]] = field(default_factory=list)
    reason: Reason = Reason.HOOKABLE

    @property
    def end(self) -> int:
        return self.address + self.size if self.size else self.limit

    def owns(self, address: int) -> bool:
        """Return whether an instruction at `address` is of this function."""
        if self.address <= address < self.end:
            return True
        return any(begin <= address < end for begin, end in self.parts)


@dataclass(slots=True)
class Layout:
    """All that is known of where code begins.

    Attributes:
        functions: by address.
        starts: each address at which something begins: functions, parts, pieces without a name, labels that
            other objects see.
    """

    functions: list[Function]
    starts: list[int]
    _spans: list[tuple[int, int, Function]] = field(default_factory=list)

    def __post_init__(self) -> None:
        spans = [(function.address, function.end, function) for function in self.functions]
        spans += [(*part, function) for function in self.functions for part in function.parts]
        self._spans = sorted(spans, key=lambda span: span[:2])

    def start_before(self, address: int) -> int:
        """Return where the code that `address` is in begins; -1: not known."""
        index = bisect_right(self.starts, address) - 1
        return self.starts[index] if index >= 0 else -1

    def pieces(self, address: int) -> list[int]:
        """Return numbers that are the same for all code that belongs together with that at an address."""
        return [function.address for function in self.owners(address)] or [self.start_before(address)]

    def owners(self, address: int) -> list[Function]:
        """Return the functions that an instruction is of: several if one part may be of each of them."""
        index = bisect_right(self._spans, address, key=lambda span: span[0])
        near = self._spans[max(index - _MOST_NESTED, 0) : index]
        return [function for begin, end, function in near if address < end]


def layout_of(elf: Elf) -> Layout:
    """Find the functions of an object.

    Raises:
        PlanError: the object is damaged.
    """
    found = symbols(elf)
    pieces = {extent.begin: extent for extent in extents(elf)}
    _add_unnamed(elf, found, pieces)
    sections = {
        (section.address, section.address + section.size) for section in elf.sections if section.is_code
    }
    starts = sorted({*found, *pieces, *(address for section in sections for address in section)})
    limits = dict(pairwise(starts))
    ends = _Ends(sections)
    parts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    functions = []
    for address in sorted(found):
        symbol, end = found[address], ends.of(address)
        if not symbol.names or end == 0:
            continue
        size = min(symbol.size or _size_of_piece(pieces.get(address)), end - address)
        base = _base_of_part(symbol.names)
        if base:
            parts[base].append((address, address + size))
        else:
            functions.append(_function(symbol, size, limits[address]))
    for function in functions:
        function.parts += [part for name in function.names for part in parts.get(name, ())]
        if len(function.parts) > _MOST_PARTS:
            function.reason, function.parts = Reason.SHARED_BYTES, []
    if is_unsafe_object(elf):
        for function in functions:
            function.reason = Reason.UNSAFE
    _refuse_odd(functions, pieces, sorted(pieces))
    return Layout(functions, starts)


class _Ends:
    """Where the sections of code end."""

    def __init__(self, sections: Iterable[tuple[int, int]]) -> None:
        self._sections = sorted(sections)
        self._begins = [begin for begin, _ in self._sections]

    def of(self, address: int) -> int:
        """Return the end of the section that an address is in; 0: it is in none."""
        index = bisect_right(self._begins, address) - 1
        end = self._sections[index][1] if index >= 0 else 0
        return end if address < end else 0


def _add_unnamed(elf: Elf, found: dict[int, Symbol], pieces: dict[int, Extent]) -> None:
    """Add the functions that have no symbol."""
    begins = sorted(found)
    spans = [(begin, begin + found[begin].size) for begin in begins]
    rest = [
        piece
        for piece in pieces.values()
        if piece.begin not in found and not _is_covered(piece.begin, begins, spans)
    ]
    for address in unnamed_functions(elf, rest):
        found[address] = Symbol(address, pieces[address].end - address, {unnamed_name(address)})
    for address in resolvers(elf) & found.keys():
        found[address].is_resolver = True


def _is_covered(address: int, begins: Sequence[int], spans: Sequence[tuple[int, int]]) -> bool:
    index = bisect_right(begins, address) - 1
    return index >= 0 and address < spans[index][1]


def _size_of_piece(piece: Extent | None) -> int:
    return piece.end - piece.begin if piece else 0


def _base_of_part(names: set[str]) -> str:
    """Return the name of the function that these are names of a part of; "": of none."""
    matches = [_PART.fullmatch(name) for name in names]
    return matches[0][1] if matches[0] and all(matches) else ""


def _function(symbol: Symbol, size: int, limit: int) -> Function:
    function = Function(symbol.address, size, limit, sorted(symbol.names))
    function.reason = Reason.IFUNC_RESOLVER if symbol.is_resolver else reason_of_names(symbol.names)
    return function


def _refuse_odd(functions: Sequence[Function], pieces: dict[int, Extent], begins: Sequence[int]) -> None:
    """Refuse what is not entered by a call, or begins in the middle of other code."""
    end = 0
    for function in functions:
        if function.reason is Reason.HOOKABLE:
            piece = pieces.get(function.address)
            if piece is not None:
                if not piece.is_entry:
                    function.reason = Reason.SHARED_BYTES
            elif function.address < end or _is_inside(function.address, pieces, begins):
                function.reason = Reason.SHARED_BYTES
        end = max(end, function.address + function.size)


def _is_inside(address: int, pieces: dict[int, Extent], begins: Sequence[int]) -> bool:
    index = bisect_right(begins, address) - 1
    return index >= 0 and begins[index] < address < pieces[begins[index]].end
