"""Functions of an object, and where each piece of its code begins."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from funcgraph.native.reasons import Reason

__all__ = ["Function", "Layout"]

#: How many spans that begin before an address are looked at. Only some functions in assembly overlap.
_MOST_NESTED = 8


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
    _spans: list[tuple[int, int, list[Function]]] = field(init=False)  # by begin; each with whose it may be

    def __post_init__(self) -> None:
        spans: dict[tuple[int, int], list[Function]] = defaultdict(list)
        for function in self.functions:
            for span in ((function.address, function.end), *function.parts):
                spans[span].append(function)
        self._spans = [(begin, end, spans[begin, end]) for begin, end in sorted(spans)]

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
        return [function for _, end, functions in near if address < end for function in functions]
