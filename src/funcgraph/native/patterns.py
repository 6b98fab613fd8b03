"""Patterns of functions that may stand for native ones: those with ":mod:"."""

from __future__ import annotations

import re

from funcgraph import _engine

__all__ = ["function_glob", "is_of_object", "may_be_native", "object_glob", "place_of"]

_OF_OBJECT = ":mod:"
_PLACE = re.compile(r".+\+[1-9]\d*")


def object_glob(pattern: str) -> str:
    """Return the glob for names of objects that a pattern has; "": it has none.

    >>> object_glob("sqlite3_step:mod:libsqlite3")
    'libsqlite3'
    """
    return pattern.rpartition(_OF_OBJECT)[2] if _OF_OBJECT in pattern else ""


def function_glob(pattern: str) -> str:
    """Return the glob for names of functions that a pattern with an object has; "": all of them.

    >>> function_glob("sqlite3_step:mod:libsqlite3")
    'sqlite3_step'
    """
    return pattern.rpartition(_OF_OBJECT)[0]


def may_be_native(pattern: str) -> bool:
    """Return whether a pattern may stand for native functions. "*" alone stands for all Python modules."""
    glob = object_glob(pattern)
    return not glob.startswith("!") and bool(glob.strip("*?"))


def is_of_object(pattern: str, name: str) -> bool:
    """Return whether a pattern may stand for functions of the object of that name."""
    return may_be_native(pattern) and _engine.glob_match(object_glob(pattern), name)


def place_of(pattern: str) -> str:
    """Return the place in a native function that a pattern of an event names; "": it names functions.

    >>> place_of("sqlite3_step+12:mod:libsqlite3")
    'sqlite3_step+12'
    """
    function = function_glob(pattern)
    return function if _PLACE.fullmatch(function) else ""
