"""Prints an instance's trace that a function command dumps: the kernel's ftrace_dump().

Standard error is the console.

The command stops the recording, so the trace is still what it was then when the main thread gets here. Native
code cannot have the main thread come here: a thread of ours waits for its dumps. It begins with the first
command of a native function, and ends with the process.
"""

from __future__ import annotations

import _thread
import atexit
import os
from errno import EOPNOTSUPP

from funcgraph import _engine
from funcgraph.buffer import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from funcgraph.instance.state import State

__all__ = ["forget", "prepare"]

_STDERR = 2
_EXIT_WAIT_S = 10
_instances: dict[int, State] = {}  # by their handles: those that have such a command
# Held while a dump of native functions is printed; by the process that has a thread for them. A fork's child
# has none.
_printing: dict[int, _thread.LockType] = {}


def prepare(state: State, *, are_native: bool = False) -> None:
    """Have dumps of an instance printed.

    Args:
        are_native: also those of commands of native functions.

    Raises:
        OSError: EOPNOTSUPP: native functions, and this is not the main interpreter, which would have to wait
            for the thread at its end.
    """
    is_main = _engine.set_print_dump(_print)
    if are_native and not is_main:
        raise OSError(EOPNOTSUPP, "dumps of native functions are printed in the main interpreter alone")
    _instances[state.engine.handle] = state
    if are_native:
        _start_thread()


def _start_thread() -> None:
    if os.getpid() in _printing:
        return
    lock = _printing[os.getpid()] = _thread.allocate_lock()
    atexit.register(_print_last, os.getpid(), lock)
    _thread.start_new_thread(_engine.apart, (_print_each, lock))


def _print_each(lock: _thread.LockType) -> None:
    while True:
        _engine.wait_for_dump()
        with lock:
            _print_noted()


def _print_last(pid: int, lock: _thread.LockType) -> None:
    """Print what was dumped just before the program ends."""
    if pid == os.getpid() and lock.acquire(timeout=_EXIT_WAIT_S):
        _engine.apart(_print_noted)
        lock.release()


def _print_noted() -> None:
    while noted := _engine.take_dump():
        _print(*noted)


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
