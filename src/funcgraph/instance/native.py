"""Native functions that filters of instances and profiles select: hooked before the filter changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["hook_selected"]

# Sets of patterns for which a function must be hooked. Those of `notrace` select nothing.
_SELECTING = ("filter", "graph", "graph_notrace")


def hook_selected(owner: str, patterns: Mapping[str, Iterable[str]]) -> None:
    """Have the native functions that patterns may stand for hooked.

    Args:
        owner: whose patterns they are, until hooking.release().
        patterns: set -> its patterns.

    Raises:
        OSError: EOPNOTSUPP: those of an object that is meant cannot be.
    """
    selecting = [pattern for name in _SELECTING for pattern in patterns.get(name, ()) if ":mod:" in pattern]
    if selecting:
        from funcgraph.native.hooking import hook_all

        hook_all(owner, selecting)
