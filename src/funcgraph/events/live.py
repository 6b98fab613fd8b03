"""The dynamic events of this process, and which instances record them."""

from __future__ import annotations

from funcgraph.events.asked import Asked
from funcgraph.events.installer import Installer, LiveEvent
from funcgraph.events.registry import Registry

__all__ = ["dynamic_events", "events", "start"]

_installer = Installer()


def _parameters(symbol: str) -> list[str] | None:
    """Return the names of a function's parameters; None: no one function has the name."""
    from funcgraph import _engine

    functions = _engine.functions_named([symbol])[symbol]
    codes = {function.code for function in functions}
    if len(codes) != 1 or (code := codes.pop()) is None:
        return None
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return list(code.co_varnames[:count])


dynamic_events = Registry(_installer, parameters=_parameters)
"""The definitions of this process: the kernel's files dynamic_events, kprobe_events and synthetic_events."""


def events() -> dict[tuple[str, str], LiveEvent]:
    """Return the events by group and name, the oldest first."""
    return dict(_installer.events)


def start(handle: int, asked: Asked) -> None:
    """Have an instance of a recording record an event, which is made if it does not exist.

    Raises:
        OSError, ValueError: the event cannot be made.
    """
    key = (asked.definition.group, asked.definition.event)
    if all(definition.text != asked.definition.text for definition in dynamic_events):
        dynamic_events.define(asked.text, is_pending=True)
    program = asked.filter.program.pack() if asked.filter else None
    _installer.events[key].engine.set(handle, True, program, ())
