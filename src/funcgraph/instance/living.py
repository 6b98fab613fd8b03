"""The state of each living instance of this process, for files that tell of all."""

from __future__ import annotations

from funcgraph.instance.state import State

__all__ = ["STATES"]

#: Name -> state. Instance keeps it.
STATES: dict[str, State] = {}
