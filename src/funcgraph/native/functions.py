"""The functions of an object: each once, whatever many symbols and pieces it has, and where each ends."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from funcgraph.native.eh_frame import Extent, extents
from funcgraph.native.elf import Elf
from funcgraph.native.never import reason_of_names
from funcgraph.native.reasons import Reason
from funcgraph.native.symbols import Symbol, symbols

__all__ = ["Function", "Layout", "layout_of"]

#: GCC and clang move what seldom runs out of a function. A part is jumped to, never called.
_PART = re.compile(r"(.+?)\.(?:cold|__part)(?:\.\d+)?")
#: Names that link-time optimisation gives to functions that are local to a file.
_LOCAL_SUFFIX = re.compile(r"\.(?:lto_priv|llvm)\.\d+(?:\.lto_priv\.\d+)?")


@dataclass(slots=True)
class Function:
    """One function.

    Attributes:
        address: of its entry.
        size: its bytes at the entry, without parts elsewhere; 0: not known.
        limit: where something else begins: its bytes and the padding behind them end there.
        names: as the symbols have them, the best one first.
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

    def start_before(self, address: int) -> int:
        """Return where the code that `address` is in begins; -1: not known."""
        index = bisect_right(self.starts, address) - 1
        return self.starts[index] if index >= 0 else -1


def layout_of(elf: Elf) -> Layout:
    """Find the functions of an object.

    Raises:
        PlanError: the object is damaged.
    """
    found = symbols(elf)
    pieces = {extent.begin: extent for extent in extents(elf)}
    ends = [(section.address, section.address + section.size) for section in elf.sections if section.is_code]
    starts = sorted({*found, *pieces, *(address for pair in ends for address in pair)})
    limits = dict(zip(starts, [*starts[1:], starts[-1] if starts else 0], strict=True))
    parts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    functions = []
    for address in sorted(found):
        symbol = found[address]
        if not symbol.names:
            continue
        size = symbol.size or _size_of_piece(pieces.get(address))
        base = _base_of_part(symbol.names)
        if base:
            parts[base].append((address, address + size))
        else:
            functions.append(_function(symbol, size, limits[address]))
    for function in functions:
        for name in function.names:
            function.parts += parts.get(name, ())
    _refuse_odd(functions, pieces, sorted(pieces))
    return Layout(functions, starts)


def _size_of_piece(piece: Extent | None) -> int:
    return piece.end - piece.begin if piece else 0


def _base_of_part(names: set[str]) -> str:
    """Return the name of the function that these are names of a part of; "": of none."""
    matches = [_PART.fullmatch(name) for name in names]
    return matches[0][1] if matches[0] and all(matches) else ""


def _function(symbol: Symbol, size: int, limit: int) -> Function:
    names = sorted(symbol.names, key=lambda name: (len(name), name.startswith("_"), name))
    function = Function(symbol.address, size, limit, names)
    function.reason = Reason.IFUNC_RESOLVER if symbol.is_resolver else reason_of_names(names)
    return function


def plain(name: str) -> str:
    """Return a function's name without what link-time optimisation added."""
    return _LOCAL_SUFFIX.sub("", name)


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
