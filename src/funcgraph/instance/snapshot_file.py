"""The file `snapshot` of an instance: takes, empties and frees the snapshot that the instance keeps for it.

Instance.snapshot() returns snapshots that belong to the caller; the one of the file is apart from them.
"""

from __future__ import annotations

from funcgraph.instance.snapshot import Snapshot
from funcgraph.instance.state import State

__all__ = ["free", "read", "write"]

_COMMANDS = """\
#
#
# * Snapshot is {state} *
#
# Writing a number to this file:
# 0: frees the snapshot
# 1: takes a snapshot of the buffer
# any other: empties the snapshot
"""


def read(state: State) -> str:
    """Return the text of the snapshot; if there is none, how to take one."""
    kept = state.snapshot
    if isinstance(kept, Snapshot):
        return kept.trace()
    return f"# tracer: {state.engine.tracer}\n" + _COMMANDS.format(state="empty" if kept else "freed")


def write(state: State, number: int) -> None:
    """Carry out what a number asks for. The caller holds the lock.

    Raises:
        OSError: a snapshot was asked for and its file cannot be written; the one before is kept.
    """
    taken = Snapshot(state) if number == 1 else None
    stays = number > 1 and state.snapshot is not None
    free(state)
    state.snapshot = taken or (True if stays else None)


def free(state: State) -> None:
    """Remove the snapshot, if there is one."""
    kept, state.snapshot = state.snapshot, None
    if isinstance(kept, Snapshot):
        kept.close()
