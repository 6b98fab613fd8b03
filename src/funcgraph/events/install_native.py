"""Probes of events on native functions: `f:NAME OBJECT:SYMBOL`."""

from __future__ import annotations

from errno import EOPNOTSUPP

from funcgraph import _engine
from funcgraph.definitions.definition import Definition

__all__ = ["meet_native"]


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
    from funcgraph.native.hooking import hook  # it loads the reader of plans

    problems = hook([definition.pattern])
    if problems:
        raise OSError(EOPNOTSUPP, "; ".join(problems))
