"""Probes of events on native functions: `f:NAME OBJECT:SYMBOL`."""

from __future__ import annotations

import sys
from errno import EOPNOTSUPP

from funcgraph import _engine
from funcgraph.definitions.definition import Definition
from funcgraph.definitions.field import Field

__all__ = ["meet_native", "native_fields", "release_native"]


def meet_native(definition: Definition) -> None:
    """Make the functions of a definition known to the engine, those of objects that are loaded later, too.

    Args:
        definition: of an event on native functions.

    Raises:
        OSError: EOPNOTSUPP: functions of a loaded object cannot be hooked, or no native function can on this
            machine.
    """
    if not hasattr(_engine, "native_meet"):
        raise OSError(EOPNOTSUPP, "native functions cannot be hooked on this machine")
    from funcgraph.native.hooking import hook_all  # it loads the reader of plans

    hook_all(_owner(definition.group, definition.event), [definition.pattern])


def release_native(group: str, event: str) -> None:
    """Look no longer for the functions of an event in objects that are loaded. It may be on none."""
    if hooking := sys.modules.get("funcgraph.native.hooking"):
        hooking.release(_owner(group, event))


def _owner(group: str, event: str) -> str:
    return f"event {group}/{event}"


def native_fields(definition: Definition) -> tuple[Field, ...]:
    """Return the fields of such a definition, with addresses in the place of variables.

    Raises:
        OSError: EOPNOTSUPP: no loaded object of the definition has one of the variables.
    """
    objects = definition.symbol.partition(":")[0]
    return tuple(
        field._replace(source=_at_address(field, objects)) if field.source[0] == "data" else field
        for field in definition.fields
    )


def _at_address(field: Field, objects: str) -> tuple[str, int]:
    from funcgraph.native.variables import variable_address  # few definitions have variables

    _, symbol, offset = field.source
    address = _engine.apart(lambda: variable_address(objects, str(symbol)))
    if address is None:
        raise OSError(EOPNOTSUPP, f"no loaded object that is named {objects} has the variable {symbol}")
    return ("imm", address + int(offset))
