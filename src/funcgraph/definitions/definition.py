"""A dynamic event's definition, read from a line in the kernel's syntax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcgraph.definitions.field import Field

__all__ = ["COMPONENTS", "Definition", "EventFields", "Parameters", "Place", "Variables"]

#: Returns the parameters of the function of this name ("module.qualname"), or None if they are not known.
Parameters = Callable[[str], Sequence[str] | None]

#: Returns all variables of the function of this name, or None if they are not known.
Variables = Callable[[str], list[str] | None]

#: Returns the names of the fields of an event, given its group and its name, or None if there is no such
#: event. The group is "" where a `t` names none: then the event is a static one of any group.
EventFields = Callable[[str, str], Sequence[str] | None]

#: ("line", 42) or ("offset", 16): where in its function a kprobe is.
Place = tuple[str, int]

#: Who reads the definitions of each kind, as error_log names it.
COMPONENTS = {
    "f": "trace_fprobe",
    "t": "trace_fprobe",
    "p": "trace_kprobe",
    "r": "trace_kprobe",
    "e": "event_probe",
    "s": "synthetic_events",
}


class Definition(NamedTuple):
    """A dynamic event that one line defines, unless it is a synthetic one.

    Attributes:
        kind: "f": at entries or returns of functions; "p": at a place in a function; "r": at returns;
            "t": on a static event; "e": on an event.
        group: the event's group: "fprobes", "kprobes", "tracepoints", "eprobes" or the one given.
        event: the event's name.
        symbol: the function, "module.qualname", for an "f" also a glob; on native functions
            "object:symbol"; for a "t" the static event, for an "e" "group.event".
        place: the place of a "p" that is not at its function's entry.
        is_return: the event is at a function's return: "r", and "f" with `%return`.
        fields: what is fetched.
        arguments: how each of them reads back: `NAME=FETCHARG`.
        maxactive: the number after an "r"; it is kept, and limits nothing.
        filter: of an "e": what stands after `if`. It does not read back.
        module: of a "p" or "r" that names its function as `module:qualname`. This module may be imported
            later.
    """

    kind: str
    group: str
    event: str
    symbol: str
    place: Place | None
    is_return: bool
    fields: tuple[Field, ...]
    arguments: tuple[str, ...]
    maxactive: int = 0
    filter: str = ""
    module: str = ""

    @property
    def target(self) -> str:
        """What the event is on, as it reads back: "app.load%return", "app.load:42", "app:load"."""
        function = self.symbol
        if self.module:
            function = f"{self.module}:{function.removeprefix(f'{self.module}.')}"
        if self.is_native and self.kind != "f":
            return self.pattern
        if self.place is not None:
            kind, number = self.place
            return f"{function}{':' if kind == 'line' else '+'}{number}"
        return f"{function}%return" if self.is_return and self.kind == "f" else function

    @property
    def is_native(self) -> bool:
        """Whether it is on native functions."""
        return self.kind in "fpr" and ":" in self.symbol

    @property
    def pattern(self) -> str:
        """The functions as filters have them: "shop.*", "malloc:mod:libc"; a place: "malloc+8:mod:libc"."""
        if not self.is_native:
            return self.symbol
        module, _, symbol = self.symbol.partition(":")
        return f"{symbol}{f'+{self.place[1]}' if self.place else ''}:mod:{module}"

    @property
    def base(self) -> tuple[str, str]:
        """The group and the name of the event that a "t" or an "e" is on; a "t" may give no group."""
        group, dot, event = self.symbol.replace("/", ".").partition(".")
        return (group, event) if dot else ("", group)

    @property
    def text(self) -> str:
        """The definition as it reads back in dynamic_events."""
        head = f"{self.kind}{self.maxactive or ''}:{self.group}/{self.event}"
        return " ".join((head, self.target, *self.arguments))
