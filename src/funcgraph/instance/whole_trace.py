"""The whole of an instance's buffer or snapshot as a trace, the bytes of a .fg; and how much was written."""

from __future__ import annotations

from errno import EINVAL

from funcgraph import _engine
from funcgraph.instance.instance import Instance
from funcgraph.instance.state import State

__all__ = ["whole_trace", "written_bytes"]


def whole_trace(instance: Instance, *, snapshot: bool) -> bytes:
    """Return a trace of what an instance holds. It stays there, and recording goes on.

    Args:
        instance: the instance.
        snapshot: of its snapshot; False: of its buffer.

    Raises:
        OSError: EINVAL: there is no snapshot. Others: there is no room for the trace.
        ValueError: the instance is closed.
    """
    state = instance._state
    with state.lock:
        if not snapshot:
            return state.trace_bytes()
        if not state.engine.has_snapshot:
            raise OSError(EINVAL, "no snapshot was taken", instance.name)
        return _engine.untraced(_snapshot_bytes, state)


def written_bytes(instance: Instance) -> int:
    """Return how many bytes of records were written into an instance's buffer since it was last cleared.

    Those that were overwritten count, those that a consumer had do not. They are not looked at.
    """
    return instance._state.engine.written_bytes


def _snapshot_bytes(state: State) -> bytes:
    from funcgraph.buffer import reading

    return reading.snapshot_bytes(state.engine, state.name, clock=state.clock)
