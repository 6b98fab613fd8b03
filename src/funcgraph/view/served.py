"""A trace that is served: its file, held open, its index, which a thread makes, and whether the file is still
what it was."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, TypeAlias

from funcgraph.tracedata.call_index import CallIndex, Lane
from funcgraph.tracedata.description import Function, TraceError
from funcgraph.tracedata.opened import Trace
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.view.request_error import RequestError

__all__ = ["Served", "State"]

State: TypeAlias = Literal["index", "ready", "replaced", "damaged"]
_PATIENCE_S = 1.0


class Served:
    """One of the traces.

    Args:
        number: in the list.
        path: of the file.

    Attributes:
        trace: the trace, as it was when it was opened.
        begin_ns: the time on the trace's clock to which all times of answers are relative.
        duration_ns: from there to its last event.

    Raises:
        TraceError: it is not a trace, or is damaged.
        OSError: it cannot be opened or read.
    """

    def __init__(self, number: int, path: str) -> None:
        self.number = number
        self.path = os.path.abspath(path)
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._facts = _facts(os.fstat(self._file))
            self.trace = Trace(self._file)
        except BaseException:
            os.close(self._file)
            raise
        shown = [task for task in self.trace.tasks if task.records]
        self.begin_ns = min((task.first_ns for task in shown), default=0)
        self.duration_ns = max((task.last_ns for task in shown), default=self.begin_ns) - self.begin_ns
        self._numbers = {function: number for number, function in enumerate(self.trace.functions)}
        self._index: CallIndex | None = None
        self._flaw = ""  # found while it was read
        self._done = threading.Event()

    def start(self) -> None:
        """Begin to make the index, in a thread that does not keep the process alive."""
        threading.Thread(target=self._make_index, name=f"index-{self.number}", daemon=True).start()

    def close(self) -> None:
        """Close the file."""
        self.trace.close()
        os.close(self._file)

    @property
    def functions(self) -> Sequence[Function]:
        return self.trace.functions

    def state(self) -> tuple[State, str]:
        """Return how the trace is, and a sentence about it, if there is anything to say."""
        if self._flaw:
            return "damaged", self._flaw
        with suppress(OSError):
            now = _facts(os.fstat(self._file))
            if now[2] < self._facts[2]:
                return "damaged", f"the file was truncated to {now[2]:,} of {self._facts[2]:,} bytes"
        try:
            there = _facts(os.stat(self.path))
        except OSError:
            return "replaced", "the file was removed or renamed; what is shown is the trace as it was"
        if there[:2] != self._facts[:2]:
            return "replaced", "the file was replaced; what is shown is the trace as it was"
        return ("ready" if self._index else "index"), ""

    def index(self) -> CallIndex:
        """Return the index, or wait a second for it.

        Raises:
            RequestError: it is not there yet, or cannot be made.
        """
        self._done.wait(_PATIENCE_S)
        if self._flaw:
            raise RequestError(409, self._flaw)
        if self._index is None:
            raise RequestError(503, "the index is being made", progress=self.progress())
        return self._index

    def is_indexed(self) -> bool:
        """Whether the index is there, or cannot be made."""
        return self._done.is_set()

    def progress(self) -> float:
        """Return how much of the index is there, from 0 to 1."""
        return 1.0 if self._done.is_set() else 0.0

    def lane(self, number: int) -> Lane:
        """Return a lane by its number. Raises RequestError: there is none."""
        lanes = self.index().lanes()
        if number >= len(lanes):
            raise RequestError(404, f"no lane {number}: the trace has {len(lanes)}")
        return lanes[number]

    def function(self, number: int) -> Function:
        """Return a function by its number. Raises RequestError: there is none."""
        if number >= len(self.functions):
            raise RequestError(404, f"no function {number}: the trace has {len(self.functions)}")
        return self.functions[number]

    def number_of(self, function: Function | None) -> int | None:
        """Return a function's number; None: it is not named."""
        return None if function is None else self._numbers[function]

    def reader(self) -> TraceFile:
        """Return another reader of the same file, for one thread."""
        return TraceFile(self._file, known=None if self.trace.is_kernel else self.trace.description)

    def note_flaw(self, error: TraceError | OSError) -> RequestError:
        """Keep that the file cannot be read any longer; return what to answer."""
        self._flaw = f"the trace cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        return RequestError(409, self._flaw)

    def _make_index(self) -> None:
        try:
            self._index = self.trace.index()
        except (TraceError, OSError) as error:
            self.note_flaw(error)
        except MemoryError:
            self._flaw = "there is not enough memory for the trace's index"
        finally:
            self._done.set()


def _facts(status: os.stat_result) -> tuple[int, int, int]:
    """Return what tells a file from another one, and its size."""
    return status.st_dev, status.st_ino, status.st_size
