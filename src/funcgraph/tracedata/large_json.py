"""Decoding JSON with a list of millions of small lists.

As lists that json.loads() makes these take several times the memory of what is made of them, so they are made
one by one; and where they are very many, when somebody looks at them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["MOST_MADE", "decode_item", "decode_object"]

#: Of so many items all are made at once.
MOST_MADE = 1 << 16

_decode = json.JSONDecoder().raw_decode
_BLANKS = re.compile(r"[ \t\n\r]*")


def decode_object(text: str, key: str, make: Callable[[Any], object]) -> Any:
    """Return what json.loads() does; in an object, a list at `key` has make(item) for each item.

    Raises:
        json.JSONDecodeError, RecursionError: it is no JSON.
        Exception: any of make().
    """
    at = _after_blanks(text, 0)
    if not text.startswith("{", at):
        return json.loads(text)
    members: dict[str, Any] = {}
    at = _after_blanks(text, at + 1)
    is_first = True
    while not (is_first and text.startswith("}", at)):
        is_first = False
        name, at = _decode(text, at)
        if not isinstance(name, str):
            raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        at = _after_blanks(text, _after(":", text, at))
        if name == key and text.startswith("[", at):
            members[name], at = _decode_list(text, at + 1, make)
        else:
            members[name], at = _decode(text, at)
        at = _after_blanks(text, at)
        if text.startswith("}", at):
            break
        at = _after_blanks(text, _after(",", text, at))
    if _after_blanks(text, at + 1) != len(text):
        raise json.JSONDecodeError("Extra data", text, at + 1)
    return members


def decode_item(text: str) -> Any:
    """Return what the text of one item is."""
    return _decode(text)[0]


def _decode_list(text: str, at: int, make: Callable[[Any], object]) -> tuple[Sequence[object], int]:
    """Return the items from a place within brackets on, and the place after the closing one."""
    items: list[object] = []
    begin = at
    at = _after_blanks(text, at)
    if text.startswith("]", at):
        return items, at + 1
    while True:
        item, at = _decode(text, at)
        items.append(make(item))
        if len(items) > MOST_MADE:
            return _large_list(text, begin, make)
        at = _after_blanks(text, at)
        if text.startswith("]", at):
            return items, at + 1
        at = _after_blanks(text, _after(",", text, at))


def _large_list(text: str, at: int, make: Callable[[Any], object]) -> tuple[Sequence[object], int]:
    """The same, of a list with items. Each is made here once, as what is wrong with one must be known now."""
    from array import array  # only now: few traces have so many

    from funcgraph.tracedata.large_list import LargeList

    places = array("Q")
    while True:
        at = _after_blanks(text, at)
        places.append(at)
        item, at = _decode(text, at)
        make(item)
        at = _after_blanks(text, at)
        if text.startswith("]", at):
            return LargeList(len(places), lambda number: make(_decode(text, places[number])[0])), at + 1
        at = _after(",", text, at)


def _after_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    assert found is not None
    return found.end()


def _after(sign: str, text: str, at: int) -> int:
    at = _after_blanks(text, at)
    if not text.startswith(sign, at):
        raise json.JSONDecodeError(f"Expecting {sign!r} delimiter", text, at)
    return at + 1
