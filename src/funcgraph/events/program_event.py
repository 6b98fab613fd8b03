"""Static events that the program declares: funcgraph.trace_event().

A program that nobody records imports this module, so it imports only the engine. What only an error or an
instance needs is imported then.
"""

from __future__ import annotations

import sys

from funcgraph import _engine

TYPE_CHECKING = False  # typing is not imported in a traced process
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from funcgraph._engine import TraceEvent

__all__ = ["trace_event"]

_TYPES = {int: "s64", float: "f64", str: "string", bytes: "string", bool: "bool"}
_NAME_CHARACTERS = 63  # event_name.NAME_CHARACTERS
_FIELD_CHARACTERS = 32  # fetch_argument's

_SYNTHETIC = "synthetic"  # synthetic_definition.GROUP


def trace_event(group: str, name: str, /, **fields: type | str) -> TraceEvent:
    """Declare a static event of the program, and return what hits it when it is called.

        paid = funcgraph.trace_event("shop", "paid", amount=int, user=str)

        def pay(order):
            paid(amount=order.amount, user=order.user.name)

    A call does nothing until somebody wants the event: an instance, `funcgraph record -e shop:paid`, a write
    to `set_event`. Then it is an event like CPython's own (docs/reference/events.md): it has
    `events/shop/paid/` with `enable`, `filter`, `trigger`, `hist`, `format` and `id`, histograms and
    synthetic events use it, and it stands in traces of all formats. A recording
    that names it before it is declared has it from then on.

    An event stays until the process ends. To declare it again gives the same event, so a module can be
    reloaded. In another interpreter it is declared for itself, and has no hits from here.

    The kernel's TRACE_EVENT (include/trace/events, Documentation/trace/events.rst).

    Args:
        group: the event's group, a C identifier of at most 63 characters. Not one of CPython's
            (py, asyncio, ftrace), and not `synthetic`.
        name: its name in the group, a C identifier of at most 63 characters.
        fields: field -> type, in the order of the event's arguments: int (s64), float (f64), str or bytes
            (string), bool, or the name of a type that docs/reference/events.md lists: "u8", "s32", "x64",
            "value". A field's name is a C identifier of at most 32 characters.

    Returns:
        What hits the event.

    Raises:
        ValueError: a name or a type is none; the fields take too much room; the group is taken; the event
            exists with other fields, or as a dynamic event.
        TypeError: a name is no str.
    """
    _check_name("group", group, _NAME_CHARACTERS)
    _check_name("name", name, _NAME_CHARACTERS)
    if group == _SYNTHETIC:
        raise ValueError(f"group {group!r} is for synthetic events: take another one")
    described = []
    for number, (field, kind) in enumerate(fields.items(), 1):
        _check_field(field)
        described.append((field, _type_of(field, kind), 0, ("arg", number), ()))
    if (live := _live()) and live.is_dynamic(group, name):
        raise ValueError(f"{group}/{name} is a dynamic event: delete its definition, or take another name")
    event = _declare(group, name, tuple(described))
    if live := _live():  # another thread may have loaded it meanwhile
        live.declare(group, name)
    return event


def _live() -> ModuleType | None:
    """Return the module that has the events of this process; None: nobody has used any."""
    return sys.modules.get("funcgraph.events.live")


def _declare(group: str, name: str, fields: tuple[tuple[Any, ...], ...]) -> TraceEvent:
    try:
        return _engine.trace_event(group, name, fields)
    except ValueError:
        raise _no_type(*_first_unknown(fields)) from None
    except FileExistsError:
        difference = _difference(group, name, {field[0]: field[1] for field in fields})
        raise ValueError(f"{group}/{name} is declared with other fields: {difference}") from None
    except PermissionError:
        raise ValueError(f"group {group!r} is for CPython's own events: take another one") from None
    except OSError as error:  # E2BIG
        raise ValueError(f"{group}/{name}: {error.strerror}") from None


def _difference(group: str, name: str, here: dict[str, str]) -> str:
    """Return how the fields of a declared event differ from those given."""
    text = next(text for *names, text, _ in _engine.static_events() if names == [group, name])
    there = dict(word.split(":") for word in text.split())
    for field in {**there, **here}:
        if field not in here or field not in there:
            return f"field {field!r} is only {'there' if field in there else 'here'}"
        if there[field] != here[field]:
            return f"field {field!r} is {there[field]} there, {here[field]} here"
    return f"the fields are in another order: {', '.join(there)} there"


def _check_name(what: str, text: str, characters: int) -> None:
    """Raise TypeError or ValueError unless a text is a C identifier."""
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    if not (text.isascii() and text.isidentifier() and len(text) <= characters):
        raise ValueError(
            f"invalid {what} {text!r}: must be a C identifier of at most {characters} characters"
        )


def _check_field(name: str) -> None:
    _check_name("field", name, _FIELD_CHARACTERS)
    if name.startswith(("common_", "__probe_")):
        from funcgraph.definitions.fetch_argument import RESERVED

        if name in RESERVED:
            raise ValueError(f"invalid field {name!r}: each event has one of that name")


def _type_of(field: str, kind: type | str) -> str:
    """Return the name of a field's type; the engine checks one that is given by name."""
    if isinstance(kind, str):
        return kind
    if isinstance(kind, type) and kind in _TYPES:
        return _TYPES[kind]
    raise _no_type(field, kind)


def _no_type(field: str, kind: object) -> ValueError:
    from funcgraph.definitions.field import FIELD_TYPES

    names = ", ".join([*(known.__name__ for known in _TYPES), *map(repr, FIELD_TYPES)])
    return ValueError(f"invalid type of field {field!r}: {kind!r}; must be one of {names}")


def _first_unknown(fields: tuple[tuple[Any, ...], ...]) -> tuple[str, str]:
    """Return name and type of the first field whose type the engine does not know."""
    from funcgraph.definitions.field import FIELD_TYPES

    return next((field[0], field[1]) for field in fields if field[1] not in FIELD_TYPES)
