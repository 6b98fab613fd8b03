"""What can be completed on a command line: of each command its options and their values, from its parser."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass

from funcgraph.export.formats import all_formats
from funcgraph.session.check import CHOICES
from funcgraph.settings.table import OPTIONS

__all__ = [
    "ANY_FILE",
    "COMMAND",
    "FUNCTION",
    "OTHER",
    "PROCESS",
    "TRACE",
    "Flag",
    "Value",
    "Words",
    "words_of",
]

TRACE = "trace"  # a trace, by the suffix of its name
ANY_FILE = "file"
PROCESS = "process"  # the id of a Python process
COMMAND = "command"  # the words of a command to run
FUNCTION = "function"  # the name of a function of the process after -P, or of the trace
OTHER = "other"  # what no shell can know, such as a pattern
#: The suffixes of traces, the last of those whose recording goes on.
SUFFIXES = ("fg", "dat", "part")

_FILE = re.compile(r"FILE|DIR|OBJECT|SESSION")
_FUNCTION = ("PATTERN", "FUNCTION")
_TRACE = re.compile(r"TRACE(?:\.fg)?|\[FORMAT\] FILE")


@dataclass(frozen=True)
class Value:
    """What a word can be: one of `words`, or of a kind."""

    kind: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flag:
    """An option: its names, the beginning of its help, and its value.

    Attributes:
        value: None: it takes none.
        must: whether the value cannot be left out.
    """

    names: tuple[str, ...]
    help: str
    value: Value | None
    must: bool


@dataclass(frozen=True)
class Words:
    """What can follow the name of a command: its flags, and `rest`, which is any other word."""

    flags: tuple[Flag, ...]
    rest: Value

    def flag_names(self) -> list[str]:
        """Return the names of all flags."""
        return [name for flag in self.flags for name in flag.names]

    def valued(self) -> list[Flag]:
        """Return the flags behind which a value must stand."""
        return [flag for flag in self.flags if flag.value is not None and flag.must]

    def valued_names(self) -> list[str]:
        """Return the names of those flags."""
        return [name for flag in self.valued() for name in flag.names]


def _rank(value: Value) -> int:
    return {FUNCTION: 0, TRACE: 1}.get(value.kind, 2)


def words_of(parser: argparse.ArgumentParser, *, runs_command: bool) -> Words:
    """Return what can follow the name of a command.

    Args:
        runs_command: whether the words after its options are a command to run.
    """
    flags = tuple(_flag(action) for action in parser._actions if action.option_strings)
    rest = [_value(action) for action in parser._actions if not action.option_strings]
    if runs_command:
        return Words(flags, Value(COMMAND))
    # Of several the one that is hard to type: FUNCTION FILE. -i has the files, too.
    known = [value for value in rest if value.kind != OTHER or value.words]
    return Words(flags, min(known, key=_rank, default=Value(OTHER)))


def _flag(action: argparse.Action) -> Flag:
    value = None if action.nargs == 0 else _value(action)
    # A menu of a shell has a line for each: what comes before details.
    text = re.split("[;:(]", action.help or "")[0].strip().replace("%%", "%")
    return Flag(tuple(action.option_strings), text, value, must=action.nargs not in ("?", "*"))


def _value(action: argparse.Action) -> Value:
    """Return what the value of an option, or an argument, can be."""
    kind = _kind(action)
    if action.choices is not None:
        return Value(kind, tuple(map(str, action.choices)))
    return Value(kind, tuple(_names(action)))


def _kind(action: argparse.Action) -> str:
    metavar = str(action.metavar or "")
    if metavar == "PID":
        return PROCESS
    if _TRACE.fullmatch(metavar) or (metavar == "FILE" and action.dest in ("input", "file", "files")):
        return TRACE
    if metavar in _FUNCTION or (metavar == "GLOB" and action.dest == "functions"):
        return FUNCTION
    return ANY_FILE if _FILE.match(metavar) else OTHER


def _names(action: argparse.Action) -> Mapping[str, object] | tuple[str, ...]:
    """Return the names that a value can have beside a parser's own choices."""
    if action.metavar in ("FORMAT", "[FORMAT] FILE"):
        return tuple(form.name for form in all_formats())
    if action.option_strings == ["-O"]:
        return tuple(f"{no}{name}" for name in OPTIONS for no in ("", "no"))
    return CHOICES.get(action.dest, ()) if action.metavar else ()
