"""The events of this process, and which instances record them."""

from __future__ import annotations

from funcgraph.events import install_t, static
from funcgraph.events.asked import Asked
from funcgraph.events.installer import Installer, LiveEvent, numbers_of
from funcgraph.events.registry import Registry

__all__ = ["dynamic_events", "events", "start"]

_installer = Installer()
_static: dict[tuple[str, str], install_t.LiveStaticEvent] = {}


def _parameters(symbol: str) -> list[str] | None:
    """Return the names of a function's parameters; None: no one function has the name."""
    from funcgraph import _engine

    functions = _engine.functions_named([symbol])[symbol]
    codes = {function.code for function in functions}
    if len(codes) != 1 or (code := codes.pop()) is None:
        return None
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    return list(code.co_varnames[:count])


dynamic_events = Registry(_installer, parameters=_parameters, event_fields=static.names)
"""The definitions of this process: the kernel's files dynamic_events, kprobe_events and synthetic_events."""


def events() -> dict[tuple[str, str], LiveEvent | install_t.LiveStaticEvent]:
    """Return the events by group and name: the static ones, then the dynamic ones, the oldest first."""
    if not _static:
        for key, event in static.static_events().items():
            _static[key] = install_t.LiveStaticEvent(event, numbers_of)
    return {**_static, **_installer.events}


def start(handle: int, asked: Asked) -> None:
    """Have an instance of a recording record an event, which is made if it does not exist.

    Raises:
        OSError, ValueError: the event cannot be made.
    """
    definition = asked.definition
    if definition and all(known.text != definition.text for known in dynamic_events):
        _installer.is_pending = True
        try:
            dynamic_events.define(asked.text)
        finally:
            _installer.is_pending = False
    program = asked.filter.program.pack() if asked.filter else None
    event = events()[asked.name]
    event.prepare()
    event.engine.set(handle, True, program, ())
