"""Texts that grow side by side in one temporary file: for formats that have one thread after the other."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Hashable, Iterator
from types import TracebackType
from typing import Self

_BUFFERED_CHARACTERS = 8 << 20


class Spools:
    """Texts by key. Memory holds a few MiB of all of them together; the rest is in a file without a name.

    Example:
        >>> with Spools() as spools:
        ...     spools.add("a", "1,")
        ...     spools.add("b", "2,")
        ...     print(b"".join(spools.pieces("a")))
        b'1,'
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()
        self._size = 0
        self._buffered = 0
        self._parts: defaultdict[Hashable, list[str]] = defaultdict(list)
        self._places: defaultdict[Hashable, list[tuple[int, int]]] = defaultdict(list)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, key: Hashable, text: str) -> None:
        """Append to the text of a key."""
        self._parts[key].append(text)
        self._buffered += len(text)
        if self._buffered > _BUFFERED_CHARACTERS:
            self._flush()

    def pieces(self, key: Hashable) -> Iterator[bytes]:
        """Yield the text of a key, as UTF-8. It may be asked for when nothing more is added."""
        for place, size in self._places.get(key, ()):
            self._file.seek(place)
            yield self._file.read(size)
        yield "".join(self._parts.get(key, ())).encode()

    def _flush(self) -> None:
        for key, parts in self._parts.items():
            data = "".join(parts).encode()
            self._file.write(data)
            self._places[key].append((self._size, len(data)))
            self._size += len(data)
        self._parts.clear()
        self._buffered = 0
