"""Prints an instance's trace that a function command dumps: the kernel's ftrace_dump().

Standard error is the console.

The command stops the recording, so the trace is still what it was then when the main thread gets here.
"""

from __future__ import annotations

import os

from funcgraph import _engine
from funcgraph.buffer import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from funcgraph.instance.state import State

__all__ = ["forget", "prepare"]

_STDERR = 2
_instances: dict[int, State] = {}  # by their handles: those that have such a command


def prepare(state: State) -> None:
    """Have dumps of an instance printed."""
    _instances[state.engine.handle] = state
    _engine.set_print_dump(_print)


def forget(state: State) -> None:
    """Have them printed no longer. It may not have been prepared."""
    _instances.pop(state.engine.handle, None)


def _print(handle: int, tid: int) -> None:
    """Print the trace of the instance with a handle; tid: only of this thread, 0: of all."""
    try:
        _engine.untraced(_write, handle, tid)
    except Exception:
        pass  # the instance is gone, or there is no room: the program must not be harmed


def _write(handle: int, tid: int) -> None:
    state = _instances[handle]
    with state.lock:
        text = reading.dump_text(state.engine, state.name, state.options, clock=state.clock, tid=tid)
    _put(f"funcgraph: dump of instance {state.name!r}\n{text}".encode("utf-8", "backslashreplace"))


def _put(data: bytes) -> None:
    while data:
        data = data[os.write(_STDERR, data) :]
