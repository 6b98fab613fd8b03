"""Probes of events at places in functions: `p:NAME SYM:LINE` and `p:NAME SYM+OFFSET`."""

from __future__ import annotations

from errno import EINVAL

from funcgraph import _engine
from funcgraph.definitions.definition import Definition
from funcgraph.kprobe import function_at

__all__ = ["add_place"]

_MOST = (1 << 31) - 1


def add_place(event: _engine.Event, definition: Definition, *, is_pending: bool) -> None:
    """Hit an event at the place of a definition, in the functions with its name, now and later.

    Args:
        event: the engine's half of the event.
        definition: of this event; it has a place.
        is_pending: the function may be defined later.

    Raises:
        OSError: ENOENT: no Python function has the name; EINVAL: the function has no code at this line, or
            cannot be probed at this offset; EILSEQ: no instruction begins at this offset; EADDRNOTAVAIL:
            several functions have this name and place; EEXIST: the fields are not the event's. Then nothing
            has changed.
    """
    assert definition.place is not None
    kind, number = definition.place
    if number > _MOST:
        raise OSError(EINVAL, f"no function has {kind} {number}")
    line, offset = (number, 0) if kind == "line" else (0, number)
    if not is_pending:
        _check(definition.symbol, line, offset)
    event.add_place(definition.symbol, line, offset, definition.fields)


def _check(symbol: str, line: int, offset: int) -> None:
    kprobe = _engine.Kprobe(_nothing, symbol, line=line or None, offset=None if line else offset)
    _engine.check_kprobe_at(kprobe, function_at(kprobe))


def _nothing(*_: object) -> None:
    pass
