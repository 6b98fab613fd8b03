"""The source of a function: the lines of the file that the trace names, if it is there.

A trace is data of somebody else. It may name any file, so only what is a regular file is read, bounded, and
as the user who runs the server. No request names a file.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from funcgraph.tracedata.description import NATIVE, Function

__all__ = ["source_around", "source_of"]

_MOST_BYTES = 4 << 20
_MOST_LINES = 300
_MOST_COLUMNS = 500
_BEFORE = 2
_AROUND = 3
_CLOSING = ")]}"  # of arguments over several lines


def source_of(function: Function) -> dict[str, Any] | None:
    """Return the lines of a function with their numbers; None: they are not there."""
    if function.flags & NATIVE or function.line < 1 or not os.path.isabs(function.file):
        return None
    lines = _lines_of(function.file)
    if not lines or function.line > len(lines):
        return None
    first = max(function.line - _BEFORE, 1)
    last = min(_end_of(lines, function.line), first + _MOST_LINES - 1)
    shown = [[number, lines[number - 1][:_MOST_COLUMNS]] for number in range(first, last + 1)]
    return {"file": function.file, "line": function.line, "lines": shown}


def source_around(function: Function, line: int) -> dict[str, Any] | None:
    """Return the lines around one of a function; None: they are not there."""
    if function.flags & NATIVE or line < 1 or not os.path.isabs(function.file):
        return None
    lines = _lines_of(function.file)
    if not lines or line > len(lines):
        return None
    numbers = range(max(line - _AROUND, 1), min(line + _AROUND, len(lines)) + 1)
    shown = [[number, lines[number - 1][:_MOST_COLUMNS]] for number in numbers]
    return {"file": function.file, "line": line, "lines": shown}


def _lines_of(path: str) -> list[str] | None:
    """Return the lines of a text file; None: it is none that can be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening another one may do something
            return None
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        data = os.read(file, _MOST_BYTES)
    except OSError:
        return None
    finally:
        os.close(file)
    return None if b"\0" in data else data.decode("utf-8", "replace").splitlines()


def _end_of(lines: list[str], first: int) -> int:
    """Return the last line of the block that begins at a line: before the next one that is not indented more,
    once the block has one that is."""
    indent = _indent(lines[first - 1])
    in_body = False
    last = first
    for number in range(first + 1, min(len(lines), first + _MOST_LINES) + 1):
        line = lines[number - 1]
        if not line.strip():
            continue
        if _indent(line) > indent:
            in_body = True
        elif in_body and line.lstrip()[0] not in _CLOSING:
            break
        last = number
    return last


def _indent(line: str) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())
