"""The interpreter's state, read from outside: its GIL, and what it offers to debuggers.

From 3.13 on CPython says where its fields are: `_PyRuntime` begins with a table of offsets
(`_Py_DebugOffsets` in Include/internal/pycore_debug_offsets.h, before 3.14 in pycore_runtime.h). Before, the
offsets are those of the headers of 3.11 and 3.12, which have not changed within a version.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from funcgraph.attach.errors import AttachError
from funcgraph.attach.target import Target

__all__ = ["Debugger", "Gil", "debugger_of", "gil_of", "pending_lock_of", "thread_of"]

_COOKIE = b"xdebugpy"
_WORD = 8

#: Version -> positions in the table of offsets, in words: of the interpreter's id, next, main thread and GIL
#: (locked, holder); of the first of the six of debugger_support (0: before 3.14); of a thread's id.
_TABLE = {
    (3, 13): (7, 8, 9, 17, 18, 0, 25),
    (3, 14): (7, 8, 10, 18, 19, 89, 28),
    (3, 15): (7, 8, 10, 18, 19, 105, 31),
}
#: Version -> where a thread state has the thread's id (PyThreadState.native_thread_id).
_THREAD_ID = {(3, 11): 160, (3, 12): 144}
_SWITCHES = 8  # from a GIL's `locked` to its `switch_number` (struct _gil_runtime_state)
_INTERPRETERS_HEAD = 5
_MAX_INTERPRETERS = 1000
_SCRIPT_PATH_BYTES = 512


class Debugger(NamedTuple):
    """PEP 768: where a script's path goes, for the main thread.

    Args:
        enabled: address of the switch (int).
        pending: of the request (int).
        path: of the path.
        eval_breaker: of the word that makes the thread look (PEP 768, "Implementation").
    """

    enabled: int
    pending: int
    path: int
    eval_breaker: int


class Gil(NamedTuple):
    """The GIL of the main interpreter.

    Args:
        is_held: whether somebody holds it.
        holder: address of the thread state that does, or did so last.
        switches: how often another thread got it than the one that had it last.
    """

    is_held: bool
    holder: int
    switches: int


class _Runtime:
    """The table of offsets, and the main interpreter."""

    def __init__(self, target: Target) -> None:
        self.process = target.process
        self.address = target.runtime[0]
        if self.process.read(self.address, _WORD) != _COOKIE:
            raise AttachError(target.pid, f"its {target.python} has no table of offsets")
        self.positions = _TABLE[target.version]
        self.interpreter = self._main_interpreter(target)

    def offset(self, position: int) -> int:
        """Return an entry of the table."""
        return self.word(self.address + position * _WORD)

    def word(self, address: int) -> int:
        """Return a 64-bit word of memory."""
        return int.from_bytes(self.process.read(address, _WORD), "little")

    def _main_interpreter(self, target: Target) -> int:
        """Return the address of the interpreter with the id 0."""
        ident, following = (self.offset(position) for position in self.positions[:2])
        interpreter = self.word(self.address + self.offset(_INTERPRETERS_HEAD))
        for _ in range(_MAX_INTERPRETERS):
            if not interpreter:
                break
            if self.word(interpreter + ident) == 0:
                return interpreter
            interpreter = self.word(interpreter + following)
        raise AttachError(target.pid, "its interpreter is not initialized, or no longer")


def gil_of(target: Target) -> Gil:
    """Return the state of the GIL; without one, it is free."""
    if "t" in target.build:
        return Gil(False, 0, 0)
    process, runtime = target.process, target.runtime[0]
    if target.version == (3, 11):
        at, holder = runtime + 376, runtime + 368
    elif target.version == (3, 12):
        interpreter = int.from_bytes(process.read(runtime + 48, 8), "little")
        if not interpreter:
            return Gil(False, 0, 0)
        gil = int.from_bytes(process.read(interpreter + 384, 8), "little")
        at, holder = gil + 16, gil + 8
    else:
        state = _Runtime(target)
        at, holder = (state.interpreter + state.offset(position) for position in state.positions[3:5])
    locked: int = struct.unpack("<i", process.read(at, 4))[0]
    words = (int.from_bytes(process.read(address, 8), "little") for address in (holder, at + _SWITCHES))
    return Gil(locked != 0, *words)


def thread_of(target: Target, state: int) -> int:
    """Return the thread that a thread state is of, by its number in the process's namespace; 0: unknown.

    Raises:
        AttachError: the thread state is gone, or the process.
    """
    if target.version in _TABLE:
        runtime = _Runtime(target)
        at = runtime.offset(runtime.positions[6])
    else:
        at = _THREAD_ID.get(target.version, 0)
    return int.from_bytes(target.process.read(state + at, 8), "little") if state and at else 0


def pending_lock_of(target: Target) -> tuple[int, int]:
    """Return the kind and the address of the lock of the main thread's pending calls.

    The kinds: 0: it is not known; 1: a semaphore; 2: a PyMutex.
    """
    process, runtime = target.process, target.runtime[0]
    if "d" in target.build or "t" in target.build:
        return 0, 0
    if target.version == (3, 13):
        return 2, runtime + 2648
    if target.version == (3, 12):
        return _semaphore(target, int.from_bytes(process.read(runtime + 2024, 8), "little"))
    if target.version == (3, 11):
        interpreter = int.from_bytes(process.read(runtime + 48, 8), "little")
        if interpreter:
            return _semaphore(target, int.from_bytes(process.read(interpreter + 112, 8), "little"))
    return 0, 0


def _semaphore(target: Target, address: int) -> tuple[int, int]:
    """Return the lock if it is a semaphore: no more than 1, with a number of waiters above that."""
    try:
        value, waiters = struct.unpack("<II", target.process.read(address, 8))
    except AttachError:
        return 0, 0
    return (1, address) if value <= 1 and waiters < 1 << 16 else (0, 0)


def debugger_of(target: Target) -> Debugger:
    """Return where the main thread of CPython 3.14 or later takes a debugger's request.

    Raises:
        AttachError: it takes none.
    """
    if target.version not in _TABLE:
        raise AttachError(target.pid, f"it runs {target.python}, which this funcgraph does not know")
    state = _Runtime(target)
    first = state.positions[5]
    breaker, support, enabled, pending, path, size = (state.offset(first + index) for index in range(6))
    if size != _SCRIPT_PATH_BYTES:
        raise AttachError(target.pid, f"its {target.python} takes paths of {size} bytes, not 512")
    thread = state.word(state.interpreter + state.offset(state.positions[2]))
    if not thread:
        raise AttachError(target.pid, "its interpreter has no main thread")
    debugger = thread + support
    return Debugger(state.interpreter + enabled, debugger + pending, debugger + path, thread + breaker)
