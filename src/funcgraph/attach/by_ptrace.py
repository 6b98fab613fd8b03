"""Starting code in a process by ptrace: one of its threads is made to start a new thread.

The new thread takes the GIL and runs a short text, which finds the code in the exchange folder.
docs/guides/attach.md says where that is safe, and what is left when the attacher is killed at any moment.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections import Counter
from collections.abc import Callable

from funcgraph import _inject
from funcgraph.attach.code import code_of
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.attach.exchange import Exchange
from funcgraph.attach.gil_watch import GilWatch
from funcgraph.attach.loader_lock import LoaderLock
from funcgraph.attach.loop import loop_of
from funcgraph.attach.process import RESTORE_S
from funcgraph.attach.runtime import pending_lock_of
from funcgraph.attach.stub_place import free_place
from funcgraph.attach.target import Target

__all__ = ["Injection"]

_PAUSE_S = 0.001
_LONGEST_PAUSE_S = 0.02
_EAGER_S = 2.0  # that long, pauses stay short
#: After a call was queued, how long until other threads are looked at.
_QUEUED_S = 0.1
#: A new thread has not run the text after this: it may not have been started.
_SPAWNED_S = 0.5
_OTHER_THREADS = 8  # that are looked at in one round

_REASONS = {
    "handler": "in a signal handler",
    "loader": "in the dynamic loader",
    "loader lock": "running while one was in the dynamic loader",
    "allocator": "in malloc",
    "foreign": "waiting in code that Python did not call",
    "kernel": "in a system call that may hold locks",
    "code": "in C code",
    "no room": "at the end of its stack",
    "queues": "in Python code, but not the main thread",
    "waits": "waiting",
    "lock": "waiting for a lock of Python's",
    "taken": "used by another attacher",
    "GIL": "waiting while one held the GIL",
    "filter": "under another seccomp filter than the main thread",
    "signal": "about to get a signal, or stopped",
}


class Injection:
    """One text that a process is to run, to be used in a `with` statement.

    At its end nothing of it is left in the process, unless the new thread still runs.

    Args:
        target: the process.
        text: what the new thread runs.
        exchange: where it finds the code.
        loader: the loader's lock in it.
        deadline: how long another attacher is waited for.
    """

    def __init__(
        self, target: Target, text: str, exchange: Exchange, loader: LoaderLock, deadline: Deadline
    ) -> None:
        self._target = target
        self._text = text.encode()
        self._loader = loader
        self._deadline = deadline
        self._functions = _functions(target)
        loop = loop_of(target)
        self._places = (*code_of(target, loop), *pending_lock_of(target))
        self._before = set(target.process.threads())
        self._entered: set[int] = set()
        size = _inject.stub_bytes(len(self._text))
        self._place = free_place(target, size, exchange, deadline)
        self._content = bytes([self._place.cave.filler]) * size
        self._queued_at = self._spawned_at = 0.0
        self._gil = GilWatch(target, loop)
        self._gives_way: bool | None = None  # its holder, in this round; None: it was not looked at
        self._seen: Counter[str] = Counter()
        self._tried: set[int] = set()

    def __enter__(self) -> Injection:
        return self

    def __exit__(self, *exception: object) -> None:
        self._target.process.extend(self._deadline.left_s() + 2 * RESTORE_S)
        if self._entered and not self._target.process.has_ended():
            with contextlib.suppress(AttachError):  # it has ended meanwhile
                self._restore()
        self._target.process.let_main_thread_pass()

    def run_until(self, done: Callable[[], bool], deadline: Deadline) -> bool:
        """Try to start the text until `done()` is true. Return False: the time was over first."""
        pause, eager_until = _PAUSE_S, time.monotonic() + _EAGER_S
        self._target.process.extend(deadline.left_s() + RESTORE_S)
        while not done():
            if deadline.is_over() or self._target.process.has_ended():
                return done()
            if not self._waits_for_start():
                self._try_threads()
            time.sleep(pause)
            if time.monotonic() > eager_until:
                pause = min(pause * 1.2, _LONGEST_PAUSE_S)
        return True

    def why_not(self) -> str:
        """Return where the threads were found."""
        self._target.process.extend(RESTORE_S)
        holder = self._gil.holder()
        if self._queued_at or self._spawned_at:
            none = "no thread of it came back from C code, or gave up the GIL"
            return f"the interpreter did not run it: {holder or none}"
        found = ", ".join(f"{_REASONS.get(place, place)} ({n})" for place, n in self._seen.most_common(3))
        reasons = f"no safe moment came; its threads were {found or 'not to be stopped'}"
        return f"{reasons}; {holder}" if holder else reasons

    # ---- starting

    def _waits_for_start(self) -> bool:
        now = time.monotonic()
        if self._spawned_at:
            if now - self._spawned_at < _SPAWNED_S or self._is_entered():
                return True
            self._spawned_at = 0.0  # the thread was not started, or could not take the GIL: the program ends
        return bool(self._queued_at) and now - self._queued_at < _QUEUED_S

    def _try_threads(self) -> None:
        process = self._target.process
        self._gives_way = None
        if self._loader.holder():
            self._seen["loader lock"] += 1
            return
        if self._enter(process.pid, main=True):
            return
        others = [tid for tid in process.threads() if tid != process.pid]
        sleeping = [tid for tid in others if tid not in self._tried and process.state(tid) == "S"]
        if not sleeping:
            self._tried.clear()
        for tid in sleeping[:_OTHER_THREADS]:
            self._tried.add(tid)
            if self._enter(tid, main=False):
                return

    def _is_given_up(self) -> bool:
        """Return whether a new thread would get the GIL."""
        if self._gives_way is None:
            self._gives_way = self._gil.gives_way()
        return self._gives_way

    def _enter(self, tid: int, *, main: bool) -> bool:
        """Send a thread into the stub if it is at a place for it; return whether it was."""
        process = self._target.process
        state = process.state(tid)
        if state in "DXZ":
            return False
        if not main and process.filters(tid) != process.filters(process.pid):
            self._seen["filter"] += 1
            return False
        may_queue = main and not self._queued_at
        may_spawn = state == "S" and self._is_given_up()
        if not may_spawn and not may_queue:
            self._seen["GIL"] += 1
            return False
        if self._queued_at and self._is_entered():
            return False
        cave = self._place.cave
        try:
            entered, where = _inject.enter(
                process.handle, tid, process.is_same, (cave.low, cave.high), self._content, self._text,
                self._functions, self._places, may_spawn, may_queue,
            )  # fmt: skip
        except OSError as error:
            entered, where = self._failed(error)
        if entered:
            self._entered.add(tid)
            self._content = cave.now(self._target)[: len(self._content)]
        if entered and where == "queues":
            self._queued_at = time.monotonic()
        elif entered:
            self._spawned_at = time.monotonic()
        else:
            self._seen["GIL" if where in ("waits", "lock") and state == "S" else where] += 1
        return entered

    def _failed(self, error: OSError) -> tuple[bool, str]:
        """Return what an attempt came to whose thread could not be stopped; or raise why none can."""
        if error.errno in (errno.EBUSY, errno.ESRCH):
            return False, "signal"
        if error.errno == errno.ETIMEDOUT:
            return False, "kernel"
        if error.errno == errno.EPERM:  # its memory could be opened: so this is not about rights
            tracer = self._target.process.tracer()
            whom = f"process {tracer}, which may be a debugger" if tracer else "another process for a moment"
            return False, f"traced by {whom}"
        self._target.process.check()  # ESTALE says that it differs, but not how
        raise AttachError(self._target.pid, f"cannot be stopped: {error.strerror}")

    # ---- the end

    def _is_entered(self) -> bool:
        """Return whether a thread is in this injection's stub: one that was sent there, or a new one."""
        threads = self._entered | set(self._target.process.threads()) - self._before
        return self._place.is_in_use(sorted(threads))

    def _restore(self) -> None:
        """Take the stub away when no thread is in it any longer."""
        until = max(self._deadline.at, time.monotonic() + RESTORE_S)
        if self._queued_at:  # something else may have started the text: the call may be in the queue still
            # A thread that has not run since it was sent into the stub has yet to queue it.
            if not self._wait_until_unused(lambda: self._place.is_in_use(sorted(self._entered)), until):
                return
            self._place.unqueue()
        if self._wait_until_unused(self._is_entered, until):
            self._place.clear(self._content)

    @staticmethod
    def _wait_until_unused(is_in_use: Callable[[], bool], until: float) -> bool:
        """Wait until the stub is not in use. Return False: the time was over first."""
        while is_in_use():
            if time.monotonic() > until:
                return False
            time.sleep(_PAUSE_S)
        return True


def _functions(target: Target) -> tuple[int, int, int, int, int, int, int, int]:
    """Return the functions that a stub calls.

    Raises:
        AttachError: the process has no such function.
    """
    image = target.image
    found = {name: target.c_function(name) for name in ("pthread_create", "pthread_detach")}
    found["Py_AddPendingCall"] = image.address("Py_AddPendingCall")
    found["Py_IsInitialized"] = image.address("Py_IsInitialized")
    found["Py_IsFinalizing"] = image.address("Py_IsFinalizing", "_Py_IsFinalizing")
    for name in ("PyGILState_Ensure", "PyGILState_Release", "PyRun_SimpleString"):
        found[name] = image.address(name)
    missing = [name for name, address in found.items() if not address]
    if missing:
        raise AttachError(target.pid, f"its {target.python} has no {', '.join(missing)}")
    create, detach, queue, is_ready, is_ending, ensure, release, run = found.values()
    return create, detach, queue, is_ready, is_ending, ensure, release, run
