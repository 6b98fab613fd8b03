"""Prints an instance's trace that a function command dumps: the kernel's ftrace_dump(), with standard error as the
console.

The command stops the recording, so the trace is still what it was then when the main thread gets here.
"""

from __future__ import annotations

import os

from funcgraph import _engine

__all__ = ["prepare"]

_STDERR = 2


def prepare() -> None:
    """Have dumps printed, from now on. What that needs is imported now: not in the middle of the program's work."""
    from funcgraph.instance import reading

    assert reading
    _engine.set_print_dump(_print)


def _print(handle: int, tid: int) -> None:
    """Print the trace of the instance with a handle; tid: only of this thread, 0: of all."""
    try:
        _engine.untraced(_write, handle, tid)
    except Exception:
        pass  # the instance is gone, or there is no room: the program must not be harmed


def _write(handle: int, tid: int) -> None:
    from funcgraph.instance import reading
    from funcgraph.instance.instance import instances

    for instance in instances().values():
        state = instance._state
        if state.engine.handle == handle:
            with state.lock:
                text = reading.dump_text(state.engine, state.name, state.options, clock=state.clock, tid=tid)
            _put(f"funcgraph: dump of instance {state.name!r}\n{text}".encode("utf-8", "backslashreplace"))


def _put(data: bytes) -> None:
    while data:
        data = data[os.write(_STDERR, data) :]
