"""A trace that is served: its file, held open, its index, which a thread makes, and whether the file is still
what it was."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import BinaryIO, Literal, TypeAlias

from funcgraph.tracedata.call_index import CallIndex, Lane
from funcgraph.tracedata.description import Function, Task, TraceError
from funcgraph.tracedata.flaw import is_written
from funcgraph.tracedata.large_list import numbers_of
from funcgraph.tracedata.opened import Trace
from funcgraph.tracedata.run_table import RunTable
from funcgraph.tracedata.selected_time import COUNTING_CLOCKS
from funcgraph.tracedata.summary import function_key
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.view.kept_trees import KeptTrees
from funcgraph.view.live_files import LiveFiles
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError

__all__ = ["Served", "State"]

State: TypeAlias = Literal["index", "ready", "replaced", "damaged"]
_FG = b"FGTRACE"  # FG_SPOOL_MAGIC without its version
_PART = ".part"  # of a name: a recorder writes it
_PATIENCE_S = 1.0
_FEW_EVENTS = 200_000


class Served:
    """One of the traces.

    Args:
        number: in the list.
        path: of the file.
        before: the same trace when it had less: both share its file and the origin of its times.
        live: the files of a recording that goes on; then `path` is only what pages show.

    Attributes:
        trace: the trace, as it was when it was opened.
        version: how often it has grown.
        begin_ns: the time on the trace's clock to which all times of answers are relative.
        duration_ns: from there to its last event.
        tasks: those that the trace describes.
        has_times: whether its clock counts time.
        base: the trace with which this one is compared; None: with none.
        trees: the call trees that were asked for last.
        kept_runs: what task_lanes.py keeps, for which it has `run_lock`.

    Raises:
        TraceError: it is not a trace, or is damaged.
        OSError: it cannot be opened or read.
    """

    def __init__(
        self, number: int, path: str, before: Served | None = None, live: LiveFiles | None = None
    ) -> None:
        self.number = number
        self.path = path if live else os.path.abspath(path)
        self._live = live
        self._live_key = live.key() if live else None
        self.version: int = before.version + 1 if before else 0
        # The file is closed with the last of those that share it: requests may still use an older one.
        self._open_file: BinaryIO = live.open() if live else before._open_file if before else _opened(path)
        self._file = self._open_file.fileno()
        try:
            self._facts = _facts(os.fstat(self._file))
            self.trace = Trace(self._file)
        except BaseException:
            if before is None or live:
                self._open_file.close()
            raise
        shown = [task for task in self.trace.tasks if task.records]
        self._is_fg = os.pread(self._file, len(_FG), 0) == _FG
        self.begin_ns = min((task.first_ns for task in shown), default=0)
        if before is not None and before.trace.nr_events:
            self.begin_ns = before.begin_ns
        self.duration_ns = max((task.last_ns for task in shown), default=self.begin_ns) - self.begin_ns
        self.tasks = frozenset(self.trace.tasks)
        self.has_times = self.trace.clock not in COUNTING_CLOCKS
        self.base: Served | None = before.base if before else None
        self.trees = KeptTrees()
        self.run_lock = threading.Lock()
        self.kept_runs: object = None
        self._first = numbers_of(self.trace.functions, function_key)
        self._canonical: list[int] = []  # empty of very many functions
        if isinstance(self._first, dict):
            self._canonical = [self._first[function_key(function)] for function in self.trace.functions]
        self._index: CallIndex | None = None
        self._flaw = ""  # found while it was read
        self._is_recorded = self.trace.flaw is not None and self.trace.flaw.is_usual
        if live:
            self._is_recorded = live.is_written()
        self._done = threading.Event()
        self._progress = 0.0

    def start(self) -> None:
        """Begin to make the index, in a thread that does not keep the process alive."""
        threading.Thread(target=self._make_all, name=f"index-{self.number}", daemon=True).start()

    def make_index(self, progress: Callable[[float], object] | None = None) -> None:
        """Make the index here and now. Raises RequestError: it cannot be made.

        Args:
            progress: called with the share that is there, 0 to 1.
        """
        if self._index is None:
            self._make_index(progress or self._note_progress)
        self.index()

    def runs(self) -> RunTable:
        """Return when tasks and greenlets run, or which thread has a CPU. The index must be there.

        Raises:
            RequestError: the trace cannot be read.
        """
        with self.run_lock:
            try:
                return self.trace.runs()
            except (TraceError, OSError) as error:
                raise self.note_flaw(error) from None

    def close(self) -> None:
        """Close the file."""
        self.trace.close()
        self._open_file.close()

    def grown(self) -> Served | None:
        """Return the trace with its index as it is now; None: it has not grown, or cannot be read.

        What is returned takes the place of this one. Requests that have begun go on with this one.
        """
        if self._live is not None:
            return self._grown_live(self._live)
        if not self.is_growing or os.fstat(self._file).st_size <= self._facts[2]:
            self._is_recorded = self.is_growing and is_written(self._file)
            return None
        try:
            newer = Served(self.number, self.path, self)
            newer.make_index()
            newer.runs()
        except (TraceError, OSError) as error:
            self.note_flaw(error)
        except RequestError:
            pass  # its state says why
        else:
            return newer
        return None

    def _grown_live(self, live: LiveFiles) -> Served | None:
        """The same, of files that change: what cannot be read now can be a moment later."""
        is_written = live.is_written()
        try:
            if live.key() != self._live_key:
                newer = Served(self.number, self.path, self, live)
                newer.make_index()
                newer.runs()
                return newer
            self._is_recorded = is_written
        except (TraceError, OSError, RequestError):
            self._is_recorded = live.is_written()
        return None

    @property
    def is_live(self) -> bool:
        """Whether it is a recording that this server's command made, in files that go with it."""
        return self._live is not None

    @property
    def first_ns(self) -> int:
        """Return the first time that the trace has, relative: 0, unless older events were dropped."""
        first_ns = min((task.first_ns for task in self.trace.tasks if task.records), default=0)
        return max(first_ns - self.begin_ns, 0)

    @property
    def is_growing(self) -> bool:
        """Whether it is being recorded."""
        return self._is_recorded and not self._flaw

    @property
    def functions(self) -> Sequence[Function]:
        return self.trace.functions

    @property
    def can_seek(self) -> bool:
        """Whether a part is read without all that is before it; of a small trace that does not matter."""
        return self._is_fg or self.trace.nr_events <= _FEW_EVENTS

    def part(self, parameters: Parameters) -> tuple[int, int]:
        """Return the part of the time that a request is about, on the trace's clock."""
        begin, end = parameters.time("begin"), parameters.time("end")
        if end <= begin:
            raise RequestError(400, f"end must be after begin, got {end} and {begin}")
        return self.begin_ns + begin, self.begin_ns + end

    def part_or_all(self, parameters: Parameters) -> tuple[int, int]:
        """The same, where none of it need be given."""
        begin, end = parameters.time("begin", 0), parameters.time("end", self.duration_ns + 1)
        if end <= begin:
            raise RequestError(400, f"end must be after begin, got {end} and {begin}")
        return self.begin_ns + begin, self.begin_ns + end

    def state(self) -> tuple[State, str]:
        """Return how the trace is, and a sentence about it, if there is anything to say."""
        if self._flaw:
            return "damaged", self._flaw
        with suppress(OSError):
            now = _facts(os.fstat(self._file))
            if now[2] < self._facts[2]:
                return "damaged", f"the file was truncated to {now[2]:,} of {self._facts[2]:,} bytes"
        if self._live is not None:
            return ("ready" if self._index else "index"), ""
        there = self._place()
        if there is None:
            return "replaced", "the file was removed or renamed; what is shown is the trace as it was"
        if there != self._facts[:2]:
            return "replaced", "the file was replaced; what is shown is the trace as it was"
        return ("ready" if self._index else "index"), ""

    def _place(self) -> tuple[int, int] | None:
        """Return what lies at the path, None: nothing. A recorder that ends gives FILE.part the name FILE."""
        there = _place_at(self.path)
        name = self.path.removesuffix(_PART)
        if there != self._facts[:2] and name != self.path and _place_at(name) == self._facts[:2]:
            self.path = name
            return self._facts[:2]
        return there

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
        return 1.0 if self._done.is_set() else min(self._progress, 0.99)

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
        return None if function is None else self._first[function_key(function)]

    def number_or_unknown(self, function: Function | None) -> int:
        """The same; the number of functions stands for one that is not named."""
        return len(self.functions) if function is None else self._first[function_key(function)]

    def canonical(self, number: int) -> int:
        """Return the first number that the same function has."""
        if number >= len(self.functions):
            return len(self.functions)
        return (
            self._canonical[number] if self._canonical else self._first[function_key(self.functions[number])]
        )

    def call_buffers(self) -> list[int]:
        """Return the buffers that have calls. Two instances may have recorded the same call."""
        return [number for number, buffer in enumerate(self.trace.buffers) if buffer.has_calls] or [0]

    def call_lanes(self) -> list[Lane]:
        """Return the lanes of the first instance that has calls."""
        buffer = self.call_buffers()[0]
        return [lane for lane in self.index().lanes() if lane.task.buffer == buffer]

    def tasks_of(self, lanes: Iterable[Lane]) -> list[Task]:
        """Return the tasks of lanes that the trace describes: in a kernel's trace a thread has one for each
        CPU."""
        if not self.trace.is_kernel:
            return [lane.task for lane in lanes if lane.task in self.tasks]
        threads = {(lane.task.buffer, lane.task.tid) for lane in lanes}
        return [task for task in self.trace.tasks if (task.buffer, task.tid) in threads]

    def reader(self) -> TraceFile:
        """Return another reader of the same file, for one thread."""
        return TraceFile(self._file, known=None if self.trace.is_kernel else self.trace.description)

    def note_flaw(self, error: TraceError | OSError) -> RequestError:
        """Keep that the file cannot be read any longer; return what to answer."""
        self._flaw = f"the trace cannot be read: {error.strerror if isinstance(error, OSError) else error}"
        return RequestError(409, self._flaw)

    def _make_all(self) -> None:
        """Make the index, and then what the lanes of tasks need."""
        self._make_index(self._note_progress)
        if self._index is not None:
            with suppress(RequestError):  # whoever asks is told
                self.runs()

    def _make_index(self, progress: Callable[[float], object]) -> None:
        try:
            self._index = self.trace.index(progress=progress)
        except (TraceError, OSError) as error:
            self.note_flaw(error)
        except MemoryError:
            self._flaw = "there is not enough memory for the trace's index"
        finally:
            self._done.set()

    def _note_progress(self, part: float) -> None:
        self._progress = part


def _opened(path: str) -> BinaryIO:
    return open(os.open(path, os.O_RDONLY | os.O_CLOEXEC), "rb", buffering=0)


def _place_at(path: str) -> tuple[int, int] | None:
    try:
        return _facts(os.stat(path))[:2]
    except OSError:
        return None


def _facts(status: os.stat_result) -> tuple[int, int, int]:
    """Return what tells a file from another one, and its size."""
    return status.st_dev, status.st_ino, status.st_size
