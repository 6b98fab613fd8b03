"""Where the variables of loaded objects are, in the process that looks for them: `@SYMBOL` of events."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from funcgraph import _engine
from funcgraph.native.elf import Elf
from funcgraph.native.errors import PlanError
from funcgraph.native.object_name import object_name
from funcgraph.native.symbols import symbol_address

__all__ = ["variable_address"]

_MAPPING = re.compile(r"^([0-9a-f]+)-[0-9a-f]+ \S+ ([0-9a-f]+) \S+ [1-9]\d* +(/.*)$", re.MULTILINE)
_PT_LOAD = 1
_PAGE = ~4095


def variable_address(objects: str, symbol: str) -> int | None:
    """Return the address of a symbol of a loaded object; None: there is none.

    Args:
        objects: a glob for the objects' names. The first one that has the symbol counts.
        symbol: its name, as the object's tables have it.
    """
    for path, places in _mapped():
        if _engine.glob_match(objects, object_name(path)):
            try:
                address = _look_up(path, places, symbol)
            except (OSError, PlanError):
                continue
            if address is not None:
                return address
    return None


def _mapped() -> Iterator[tuple[str, dict[int, int]]]:
    """Yield path and mappings of each file: offset in the file -> address."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    found: dict[str, dict[int, int]] = {}
    for match in _MAPPING.finditer(text):
        places = found.setdefault(match[3].replace("\\012", "\n"), {})
        places.setdefault(int(match[2], 16), int(match[1], 16))
    return iter(found.items())


def _look_up(path: str, places: dict[int, int], symbol: str) -> int | None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        elf = Elf(fd)
        address = symbol_address(elf, symbol)
        for kind, _, offset, begin, *_ in elf.segments:
            if kind == _PT_LOAD and address is not None and offset & _PAGE in places:
                return places[offset & _PAGE] - (begin & _PAGE) + address
    finally:
        os.close(fd)
    return None
