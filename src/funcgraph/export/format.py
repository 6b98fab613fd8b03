"""What a format is: a row of the table of formats, which its module makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from funcgraph.export.source import Source


class ExportError(Exception):
    """A trace cannot be exported in this format. The text says why, and what would be right."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format.

    Attributes:
        name: its name on the command line.
        suffixes: of the names of its files; the first is that of files which we name.
        help: one line: what opens it.
        lacks: what a trace has and the format cannot hold, in one sentence; docs/reference/export.md says it
            too. "": nothing.
        write: writes what a source has into a binary file, from its beginning to its end.
        extra: the extra of the package that `write` needs, as `funcgraph[arrow]`; "": none.
        modules: what that extra brings, and `write` imports.
        is_text: whether a terminal can show it.
        is_picture: whether it draws the merged call tree: for the eye, so imports are folded.
    """

    name: str
    suffixes: tuple[str, ...]
    help: str
    lacks: str
    write: Callable[[Source, BinaryIO], None]
    extra: str = ""
    modules: tuple[str, ...] = ()
    is_text: bool = False
    is_picture: bool = False
