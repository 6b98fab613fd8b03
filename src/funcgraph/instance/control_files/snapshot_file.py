"""The file `snapshot` of an instance: takes, empties and frees the snapshot that the engine keeps for it.

A snapshot is the buffer's contents at one moment. They leave the buffer for it, as in the kernel. Triggers
and function commands take it, too. Instance.snapshot() returns copies, which are apart from it.
"""

from __future__ import annotations

from funcgraph import _engine
from funcgraph.instance.state import State

__all__ = ["read", "write"]

_COMMANDS = """\
#
#
# * Snapshot is {state} *
#
# Writing a number to {file}:
# 0: frees the snapshot
# 1: takes a snapshot of the buffer
# any other: empties the snapshot
"""


def read(state: State, lane: int | None = None) -> str:
    """Return the text of the snapshot; if it has no records, how to take one.

    Args:
        lane: only what this lane has; None: all.
    """
    with state.lock:
        text = _engine.untraced(_text, state, lane) if state.engine.has_snapshot else ""
    condition = "allocated" if state.engine.has_snapshot else "freed"
    file = "this file" if lane is None else "the file snapshot of all lanes"
    return text or f"# tracer: {state.engine.tracer}\n" + _COMMANDS.format(state=condition, file=file)


def _text(state: State, lane: int | None) -> str:
    from funcgraph.buffer import reading

    lanes = state.shown.only() if lane is None else (lane,) if lane in state.shown else ()
    return reading.snapshot_text(state.engine, state.name, state.options, clock=state.clock, lanes=lanes)


def write(state: State, number: int) -> None:
    """Carry out what a number asks for. The caller holds the lock.

    Raises:
        MemoryError: there is none for a snapshot.
    """
    state.engine.write_snapshot(number)
