"""A list of millions of small things, each made when somebody looks at it; and where they are in it.

A trace of four megabytes can name millions of functions, and few of them have calls. As objects they would
take several hundred bytes each.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar, overload

__all__ = ["MOST_KEPT", "LargeList", "numbers_of"]

#: Of so many items a list keeps each that was made.
MOST_KEPT = 1 << 16

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


class LargeList(Sequence[_T]):
    """The list.

    Args:
        size: how many items it has.
        make: returns the one of a number, always the same one.
    """

    def __init__(self, size: int, make: Callable[[int], _T]) -> None:
        self._size = size
        self._make = make
        self._kept: dict[int, _T] = {}

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_T]:
        return map(self._make, range(self._size))

    @overload
    def __getitem__(self, place: int) -> _T: ...
    @overload
    def __getitem__(self, place: slice) -> list[_T]: ...
    def __getitem__(self, place: int | slice) -> _T | list[_T]:
        if isinstance(place, slice):
            return [self._make(number) for number in range(self._size)[place]]
        number = range(self._size)[place]
        item = self._kept.get(number)
        if item is None:
            item = self._make(number)
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            self._kept[number] = item
        return item


class _Numbers(Mapping[_K, int]):
    """The number of the first item of each key: 20 bytes an item, as it keeps no keys."""

    def __init__(self, items: Sequence[_T], key: Callable[[_T], _K]) -> None:
        self._key_of: Callable[[int], _K] = lambda number: key(items[number])
        self._mask = (1 << (2 * len(items)).bit_length()) - 1
        self._slots = array("I", bytes(4 * (self._mask + 1)))  # the number plus 1; 0: free
        self._hashes = array("q", bytes(8 * len(items)))
        self._size = 0
        for number, item in enumerate(items):
            found = key(item)
            slot = self._slot(found)
            if not self._slots[slot]:
                self._slots[slot] = number + 1
                self._hashes[number] = hash(found)
                self._size += 1

    def __getitem__(self, key: _K) -> int:
        number = self._slots[self._slot(key)] - 1
        if number < 0:
            raise KeyError(key)
        return number

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[_K]:
        return (self._key_of(place - 1) for place in self._slots if place)

    def _slot(self, key: _K) -> int:
        """Return the slot that has the key, or the free one where it belongs."""
        hashed = hash(key)
        slot = hashed & self._mask
        while place := self._slots[slot]:
            if self._hashes[place - 1] == hashed and self._key_of(place - 1) == key:
                break
            slot = (slot + 1) & self._mask
        return slot


def numbers_of(items: Sequence[_T], key: Callable[[_T], _K]) -> Mapping[_K, int]:
    """Return the number of the first item of each key."""
    if isinstance(items, LargeList):
        return _Numbers(items, key)
    numbers: dict[_K, int] = {}
    for number, item in enumerate(items):
        numbers.setdefault(key(item), number)
    return numbers
