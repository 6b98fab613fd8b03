"""`funcgraph.open`: a trace's events and calls, one by one or in columns, also while it still grows."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from funcgraph import _tracedata
from funcgraph.kernel_format.event_format import EventFormat
from funcgraph.tracedata.call_columns import CallColumns, call_batches
from funcgraph.tracedata.calls import Call, calls_of
from funcgraph.tracedata.description import (
    Buffer,
    EventType,
    Function,
    Task,
    TraceError,
    decode_description,
    reading_error,
)
from funcgraph.tracedata.events import Columns, Event, columns_of, events_of
from funcgraph.tracedata.flaw import Flaw, flaw_of
from funcgraph.tracedata.selection import Selected, Selection
from funcgraph.tracedata.selection import select as work_out
from funcgraph.tracedata.threads import threads_of
from funcgraph.tracedata.trace_file import TraceFile, describe, function_rows, open_reader, task_rows

if TYPE_CHECKING:
    from funcgraph.tracedata.call_index import CallIndex, Lane, Span, SpanColumns
    from funcgraph.tracedata.call_parts import ChosenCalls, PartSums
    from funcgraph.tracedata.run_table import RunTable
    from funcgraph.tracedata.sql import SqlRows

# Where each event becomes an object, batches are small: the first event comes soon, and in little memory.
_SMALL_BATCH = 4096
_MAX_BATCH = 2**24
# Of an index. All calls of a small trace have room, one by one. To sort them takes twice as much for a while.
# So that of a larger trace, most of whose calls are in cells anyway, may have less.
_FEW_EVENTS, _INDEX_BYTES_OF_FEW = 1_000_000, 32 << 20
_LEAST_INDEX_BYTES, _MOST_INDEX_BYTES = 8 << 20, 128 << 20
# Of the time in which an index is made: reading the events. The rest is putting their calls in order.
_READING_SHARE = 0.9


class Reading(NamedTuple):
    """The arguments of a Reader's methods that read a trace once.

    Attributes:
        reader: the Reader.
        functions, tasks, select_unknown, selection, folds: as its methods take them.
    """

    reader: _tracedata.Reader
    functions: _tracedata.FunctionRows
    tasks: list[tuple[int, int, int, str, int, int, bool]]
    select_unknown: bool
    selection: _tracedata.SelectionTuple | None
    folds: bytes | None


class Trace:
    """A trace that `funcgraph.open` opened.

    If its recording still runs, it is the trace up to now; only `follow` reads on. Iterators may be used at
    the same time, each by one thread; one that has begun goes on after `close`.

    Attributes:
        path: the argument of `funcgraph.open`.
        meta: the trace's own description, decoded JSON: also what `funcgraph record` was asked for.
        flaw: why it is not the whole recording, in its `text`, as that it was cut off; None: it is.
        functions: the functions that the trace names (`Function`).
        event_types: the events that the program or its user defined (`EventType`).
        tasks: the threads with events (`Task`). A thread is there once for each instance that recorded it.
        buffers: the parts of the trace (`Buffer`): that of the top instance, and of each other instance.
        clock: the kernel's name of the trace's clock.
        nr_events: how many events there are.
        lost: how many events were lost.
        overrun: how many calls were not traced because a shadow stack was full.
        waits, wait_ns: how often threads waited for the recorder, and how long.
        killed: process id -> why its tracing ended for good.
        formats: event id -> `EventFormat`, of a trace that trace-cmd recorded on a kernel; else empty. An
            event of the kind `other` has the id as its `number`, and the kernel's record as its `payload`.
        is_kernel: whether trace-cmd recorded it on a kernel.
    """

    path: str | int
    meta: dict[str, Any]
    flaw: Flaw | None
    functions: Sequence[Function]
    event_types: list[EventType]
    tasks: list[Task]
    buffers: list[Buffer]
    clock: str
    nr_events: int
    lost: int
    overrun: int
    waits: int
    wait_ns: int
    killed: dict[int, str]
    hosts: dict[str, int | None]
    formats: dict[int, EventFormat]
    is_kernel: bool

    def __init__(
        self, path: str | os.PathLike[str] | int, *, progress: Callable[[float], object] | None = None
    ) -> None:
        self.path = path if isinstance(path, int) else os.fspath(path)
        self._looked_at = -1  # size of the file when refresh() looked
        self.progress = progress  # called now and then with the share of a pass that is done
        self._set_reader(_reader_of(self.path, progress))

    def _set_reader(self, reader: _tracedata.Reader) -> None:
        head, description = describe(reader)
        self.is_kernel = head is not None
        self.formats = head.formats if head else {}
        self.description = description  # for another reader of the file: it may be large
        self._reader: _tracedata.Reader | None = reader
        self._follower: _Follower | None = None
        self._index: CallIndex | None = None
        # With its key in the cache; without one if the trace has changed meanwhile.
        self._index_image: tuple[_tracedata.CallIndex, bytes | None] | None = None
        self._runs: RunTable | None = None
        self.meta = description.meta
        self.flaw = flaw_of(reader, self.meta)
        self.functions = description.functions
        self.event_types = description.event_types
        self.tasks = description.tasks
        self.buffers = description.buffers
        self.clock = description.clock
        self.nr_events = description.events
        self.lost, self.overrun = description.lost, description.overrun
        self.waits, self.wait_ns = description.waits, description.wait_ns
        self.killed = description.killed
        self.hosts = description.hosts
        self._cpus = int(self.meta.get("cpus", 2**31)) or 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<funcgraph.Trace {self.path!r}: {self.nr_events:,} events>"

    def _repr_html_(self) -> str | None:
        from funcgraph.html_repr import trace_html  # only now: a notebook calls this

        if self._reader is None:
            return None
        path = f"/proc/self/fd/{self._reader.fileno()}" if isinstance(self.path, int) else self.path
        return trace_html(path, "", repr(self))

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._reader = self._follower = self._index = self._index_image = self._runs = None

    @property
    def is_complete(self) -> bool:
        """Whether the recording had ended when `funcgraph.open`, or `follow`, last looked."""
        return self._opened().is_complete or (self._follower is not None and self._follower.is_complete)

    def columns(
        self,
        *,
        size: int = 65536,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[str] | None = None,
        select: Selection | None = None,
    ) -> Iterator[Columns]:
        """Return an iterator over batches of events, each property of an event as an array.

        Args:
            size: events in a batch, 1 to 2**24; each takes 74 bytes, and its payload. The last batch may have
                fewer, and so may one whose payloads have over 4 MiB.
            tasks: of the trace's `tasks`, those whose events are read; None: all.
            buffers: names of the buffers whose events are read, "" for the top instance's; None: all.
            select: what is read of these; None: all. Depths are those within the selection.

        Returns:
            The batches, in order of time. Reading releases the GIL.

        Raises:
            ValueError: `size` is impossible, a task or buffer is none of the trace's, or the trace is closed.
            SelectionError: a ValueError: the trace has nothing that `select` names.
            TraceError: from the iterator: the file is damaged. All events that are whole come before.
            OSError: it cannot be read.

        Example:
            >>> for batch in trace.columns():
            ...     kinds = numpy.asarray(batch.kind)
            ...     ends = numpy.asarray(batch.rettime_ns)[kinds == batch.KINDS.index("return")]
        """
        reader = self._opened()
        _check_size(size)
        selected, events = self._selected(tasks, buffers, select)
        with _damage():
            iterator = reader.columns(task_rows(self.tasks, selected), selected is None, size, events)
        return self._batches(iterator)

    def call_columns(
        self,
        *,
        size: int = 65536,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[str] | None = None,
        select: Selection | None = None,
        texts: bool = True,
        numbers: Iterable[int] | None = None,
    ) -> Iterator[CallColumns]:
        """Return an iterator over batches of calls, each property of a call as an array.

        The calls come in the order of their ends; those that did not end come last. Unlike `calls`, it has
        open calls too, and puts calls together without Python objects.

        Args:
            size: calls in a batch, 1 to 2**24. A batch may have a few more.
            tasks, buffers, select: as of `columns`.
            texts: False: those of arguments and results stay empty, which is faster.
            numbers: only calls that have these as their `id` with this selection; None: all.

        Raises:
            ValueError, SelectionError, TraceError, OSError: as `columns`.

        Example:
            >>> for batch in trace.call_columns():
            ...     slowest = max(batch.duration_ns)
        """
        reader = self._opened()
        _check_size(size)
        selected, events = self._selected(tasks, buffers, select)
        with _damage():
            rows = task_rows(self.tasks, selected)
            arguments = (function_rows(self.functions), rows, selected is None, size, events, texts)
            iterator = (
                reader.calls(*arguments)
                if numbers is None
                else reader.calls(*arguments, tuple(sorted(set(numbers))))
            )
        return call_batches(iterator, self.tasks, self._cpus)

    def events(
        self,
        *,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[str] | None = None,
        select: Selection | None = None,
    ) -> Iterator[Event]:
        """Return an iterator over the events, in order of time.

        Args:
            tasks, buffers, select: as of `columns`.

        Raises:
            ValueError, SelectionError, TraceError, OSError: as `columns`.

        Example:
            >>> for event in trace.events():
            ...     if event.kind == "raise":
            ...         print(event.task.name, event.function.name, event.exception)
        """
        batches = self.columns(size=_SMALL_BATCH, tasks=tasks, buffers=buffers, select=select)
        return (event for batch in batches for event in events_of(batch, self.functions, self.event_types))

    def calls(
        self,
        *,
        tasks: Sequence[Task] | None = None,
        buffers: Sequence[str] | None = None,
        select: Selection | None = None,
    ) -> Iterator[Call]:
        """Return an iterator over the calls that ended, in the order of their ends.

        Memory grows with the calls that are in progress or suspended at one time. What the function tracer
        recorded is no calls: it does not record ends.

        Args:
            tasks, buffers, select: as of `columns`.

        Raises:
            ValueError, SelectionError, TraceError, OSError: as `columns`.

        Example:
            >>> slow = heapq.nlargest(10, trace.calls(), key=lambda call: call.duration_ns or 0)
        """
        batches = self.columns(size=_SMALL_BATCH, tasks=tasks, buffers=buffers, select=select)
        return calls_of(batches, self.functions, threads_of(self.is_kernel))

    def refresh(self) -> bool:
        """Look whether the file has grown since it was opened. If so, the trace is what it has now.

        The attributes have other objects then, and numbers of functions and tasks may differ. Iterators,
        and an index that somebody holds, stay as they are; `index` makes another one.

        Returns:
            Whether it has grown.

        Raises:
            ValueError: the trace is closed.
            TraceError: the file is damaged, or another one was written over it; the trace stays as it was.
            OSError: it cannot be read.

        Example:
            >>> while not trace.is_complete:
            ...     if trace.refresh():
            ...         print(trace.nr_events)
        """
        reader = self._opened()
        size = os.fstat(reader.fileno()).st_size
        if size == self._looked_at:
            return False
        newer = _reader_of(reader.fileno(), self.progress)
        grown = (newer.end, newer.is_complete) != (reader.end, reader.is_complete)
        if grown:
            self._set_reader(newer)
        self._looked_at = size
        return grown

    def index(
        self,
        *,
        most_bytes: int | None = None,
        progress: Callable[[float], object] | None = None,
        cached: bool = True,
    ) -> CallIndex:
        """Return the index of the trace's calls, which answers questions without reading the trace again.

        The first call reads the trace once; the object has the index then. That of a trace of a million
        events and more is kept in `~/.cache/funcgraph/index` too, and read from there the next time; not
        while the trace is recorded. What the function tracer recorded is no calls.

        Args:
            most_bytes: bounds the memory of the index; if it needs more, the shortest calls are only
                counted. None: 32 MiB for a trace of at most a million events, so that all of its calls have
                room; else a byte for each event, but at least 8 MiB, and at most 128 MiB. An index that is
                there is not made again.
            progress: called now and then while the trace is read, with the part of the work that is done, 0
                to 1, in the thread that makes the index, without others waiting for it. What it raises ends
                the making, and comes from here.
            cached: read the index from the cache, and keep it there.

        Raises:
            ValueError: `most_bytes` is less than 1, or the trace is closed.
            TraceError: the file is damaged.
            OSError: it cannot be read.

        Example:
            >>> index = trace.index(progress=lambda part: print(f"{part:.0%}"))
            >>> slowest = index.longest_calls(trace.functions[0], most=1)
        """
        if self._index is None:
            if most_bytes is None:
                most_bytes = _usual_index_bytes(self.nr_events)
            self._index = self._find_index(most_bytes, progress or self.progress, cached)
        return self._index

    def reading(
        self,
        select: Selection | None = None,
        *,
        buffers: Sequence[str] | None = None,
        fold_imports: bool = False,
    ) -> Reading:
        """Return what a Reader's methods take that read this trace once, as the answers do.

        Args:
            select: what is read; None: all.
            buffers: names of instances, as of `columns`; None: those that `select` names.
            fold_imports: make one call of each import, unless `select` chooses functions.

        Raises:
            ValueError: the trace is closed, or a buffer is none of the trace's.
            SelectionError: the trace has nothing that `select` names.
        """
        from funcgraph.tracedata.imports import fold_marks  # only now: a process reads its trace as it is

        reader = self._opened()
        selected, events = self._selected(None, buffers, select)
        folds = fold_imports and not (select and select.chooses_functions)
        return Reading(
            reader,
            function_rows(self.functions),
            task_rows(self.tasks, selected),
            selected is None,
            events,
            fold_marks(self.functions) if folds else None,
        )

    def tasks_with(self, unknown: Iterable[tuple[int, int]]) -> list[Task]:
        """Return the trace's tasks, and those that a Reader found besides.

        Args:
            unknown: lane and thread id of each, as the Reader returns them.
        """
        return [*self.tasks, *(Task.unnamed(lane, tid, lane // self._cpus) for lane, tid in unknown)]

    def lanes(self) -> list[Lane]:
        """Return the threads that the trace's index has: `CallIndex.lanes`.

        Raises:
            ValueError, TraceError, OSError: as `index`.
        """
        return self.index().lanes()

    def spans(
        self, lane: Lane | int, begin_ns: int, end_ns: int, pixels: int, depths: tuple[int, int] | None = None
    ) -> SpanColumns:
        """Return what a picture of a part of a lane shows: `CallIndex.spans`, which explains the arguments.

        Args:
            lane, begin_ns, end_ns, pixels: what is shown, and how wide.
            depths: the first and the last depth; None: all.

        Raises:
            ValueError, TraceError, OSError: as `index`; ValueError: there is no such part.

        Example:
            >>> lane = trace.lanes()[0]
            >>> rows = trace.spans(lane, lane.begin_ns, lane.end_ns, pixels=1200)
        """
        part = (lane, begin_ns, end_ns, pixels)
        return self.index().spans(*part, depths) if depths else self.index().spans(*part)

    def call_at(self, lane: Lane | int, time_ns: int) -> Span | None:
        """Return the innermost call that is in progress at a time: `CallIndex.call_at`.

        Raises:
            ValueError, TraceError, OSError: as `index`; ValueError: there is no such lane.
        """
        return self.index().call_at(lane, time_ns)

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        select: Selection | None = None,
        external: bool = False,
    ) -> SqlRows:
        """Ask a question about the trace in SQL, which DuckDB answers. docs/guides/sql.md has the tables.

        Args:
            query: one or more statements; the rows are those of the last one.
            parameters: what stands for `?` (a sequence) or `$name` (a mapping) in it.
            select: the part of the trace that the tables `calls`, `events` and `stacks` have; None: all.
            external: let the query read and write files, and load extensions of DuckDB. Otherwise it sees
                nothing but the trace.

        Returns:
            The rows, an iterator over tuples, with the names of their `columns`. The trace is read while
            they are fetched, in constant memory if the query needs no more.

        Raises:
            ImportError: DuckDB or pyarrow is missing: `pip install 'funcgraph[sql]'`.
            SqlError: a ValueError: the query is wrong, or does what is not allowed.
            TraceError: from the iterator, after the rows: the file is damaged. The rows are those of all that
                is whole.

        Example:
            >>> for name, calls in trace.sql("SELECT function, count(*) FROM calls GROUP BY ALL"):
            ...     print(name, calls)
        """
        from funcgraph.tracedata import (
            sql,
        )  # only now: a traced process that reads its trace needs none of it

        return sql.run(self, query, parameters, select=select, external=external)

    def call_parts(self, chosen: ChosenCalls) -> list[PartSums]:
        """Return what chosen calls spent their time on, for each of their groups.

        Args:
            chosen: the calls, and what else is known of the time of their threads.

        Raises:
            ValueError: the trace is closed, or an argument is impossible.
            TraceError: the file is damaged.
            OSError: it cannot be read.
        """
        from funcgraph.tracedata.call_parts import read_parts  # only now: few readers need it

        reader = self._opened()
        with _damage():
            return read_parts(reader, self.functions, self.tasks, chosen)

    def runs(self) -> RunTable:
        """Return when each task of an event loop, and each greenlet, has its thread; of a kernel's trace,
        when each thread has a CPU.

        The first call makes the index, if it is not there yet, and reads the trace once more if anything but
        generators was suspended. The table is kept in the cache with the index.

        Raises:
            ValueError: the trace is closed.
            TraceError: the file is damaged.
            OSError: it cannot be read.

        Example:
            >>> table = trace.runs()
            >>> for root in map(table.root, range(len(table))):
            ...     print(trace.functions[root.function].name, root.ran_ns)
        """
        if self._runs is None:
            self._runs = self._find_runs()
        return self._runs

    def follow(self, *, timeout: float | None = None, interval: float = 0.1) -> Iterator[Event]:
        """Return an iterator over the events that were appended since, which waits for more.

        It begins after the last event that the trace had when it was opened: all that `events` does not
        have. A further call goes on where the iterator before was left. It ends when the recording ends, also
        if its recorder was killed. Of a trace that is complete, it has nothing.

        The events come as the recorder appends them. Those of one thread are in order of time, those of
        several threads are not. A thread's events are appended some thousands at a time, or when the thread
        or the recording ends. Times are computed with what is known of the clock so far, so they may differ
        a little from those of the complete trace.

        Args:
            timeout: end after so many seconds without a new event; None: never. `is_complete` tells then
                whether there may be more.
            interval: seconds between two looks at the file.

        Raises:
            ValueError: `interval` or `timeout` is negative, or the trace is closed.
            TraceError: from the iterator: the file is damaged. All events that are whole come before.
            OSError: it cannot be read.

        Example:
            >>> with funcgraph.open("trace.fg.part") as trace:
            ...     for event in trace.follow():
            ...         print(event.kind, event.function and event.function.name)
        """
        reader = self._opened()
        if interval < 0 or (timeout is not None and timeout < 0):
            raise ValueError(f"interval and timeout must not be negative, got {interval} and {timeout}")
        if reader.end is None:  # a trace.dat is always complete
            return iter(())
        if self._follower is None:
            self._follower = _Follower(reader, reader.end, len(self.functions))
        return self._follower.events(timeout, interval)

    # ----

    def _opened(self) -> _tracedata.Reader:
        if self._reader is None:
            raise ValueError("the trace is closed")
        return self._reader

    def _find_index(
        self, most_bytes: int, progress: Callable[[float], object] | None, cached: bool
    ) -> CallIndex:
        # Only now: a traced process needs none of it.
        from funcgraph.tracedata.call_index import CallIndex
        from funcgraph.tracedata.index_cache import LEAST_EVENTS, IndexCache, trace_key

        reader = self._opened()
        if most_bytes < 1:
            raise ValueError(f"most_bytes must be at least 1, got {most_bytes}")
        if not cached or self.nr_events < LEAST_EVENTS or self._grows():
            found = self._make_index(most_bytes, progress)
        else:
            with closing(IndexCache()) as cache:
                key = trace_key(reader.fileno(), most_bytes)
                kept = cache.get(key, reader, len(self.functions), len(self.tasks))
                found = kept or self._make_index(most_bytes, progress)
                is_same = trace_key(reader.fileno(), most_bytes) == key
                if not kept and is_same:
                    cache.put(key, found)
                self._index_image = found, key if is_same else None
        if progress:
            progress(1.0)
        return CallIndex(found, self.functions, self.tasks_with(found.unknown_tasks))

    def _find_runs(self) -> RunTable:
        from funcgraph.tracedata.index_cache import IndexCache  # only now: few readers need it
        from funcgraph.tracedata.run_table import RunTable, may_have_runs, read_runs

        reader, called = self._opened(), self.index().functions()
        image, key = self._index_image or (None, None)
        found = image.runs() if image else None
        if found is None and may_have_runs(called, self.is_kernel):
            with _damage():
                found = read_runs(reader, self.functions, self.tasks)
            if image and key:
                with closing(IndexCache()) as cache:
                    cache.put(key, image, found)
        return RunTable(*found) if found else RunTable.empty()

    def _make_index(
        self, most_bytes: int, progress: Callable[[float], object] | None
    ) -> _tracedata.CallIndex:
        total = max(self.nr_events, 1)

        def report(events: int) -> None:
            if progress:
                progress(_READING_SHARE * min(events / total, 1))

        with _damage():
            rows = function_rows(self.functions), task_rows(self.tasks, None)
            return self._opened().call_index(*rows, most_bytes, report)

    def _grows(self) -> bool:
        reader = self._opened()
        return not reader.is_complete and _is_recorded(reader.fileno())

    def _selected(
        self, tasks: Sequence[Task] | None, buffers: Sequence[str] | None, select: Selection | None
    ) -> tuple[list[Task] | None, _tracedata.SelectionTuple | None]:
        """Return the tasks that are read, None for all, and what is read of their events."""
        chosen = work_out(self, select) if select else Selected(None, None, None)
        tasks = chosen.tasks if tasks is None else self._known(tasks, chosen.tasks)
        if tasks is None and buffers is None and chosen.buffers is None:
            return None, chosen.events
        numbers = set(self._numbers(buffers))
        if chosen.buffers is not None:
            numbers.intersection_update(chosen.buffers)
        return [
            task for task in (self.tasks if tasks is None else tasks) if task.buffer in numbers
        ], chosen.events

    def _known(self, tasks: Sequence[Task], others: Sequence[Task] | None) -> list[Task]:
        """Return the tasks that are also in `others` (None: all). Raises ValueError: one is unknown."""
        if unknown := set(tasks).difference(self.tasks):
            raise ValueError(f"{unknown.pop()} is not a task of this trace")
        return [task for task in tasks if others is None or task in others]

    def _numbers(self, buffers: Sequence[str] | None) -> list[int]:
        """Return the numbers of buffers. Raises ValueError: one is unknown."""
        names = [buffer.name for buffer in self.buffers]
        if missing := [name for name in buffers or () if name not in names]:
            raise ValueError(f"no buffer {missing[0]!r}: the trace has {', '.join(map(repr, names))}")
        return [n for n, name in enumerate(names) if buffers is None or name in buffers]

    def _batches(self, iterator: _tracedata.ColumnsIterator) -> Iterator[Columns]:
        tasks = list(self.tasks)
        try:
            for columns in iterator:
                for lane, tid in iterator.unknown_tasks()[len(tasks) - len(self.tasks) :]:
                    tasks.append(Task.unnamed(lane, tid, lane // self._cpus))
                yield columns_of(columns, tasks)
        except ValueError as error:
            raise reading_error(error) from None


def _reader_of(path: str | int, progress: Callable[[float], object] | None) -> _tracedata.Reader:
    try:
        return open_reader(path, progress)
    except ValueError as error:
        raise TraceError(str(error)) from None


def _check_size(size: int) -> None:
    if not 1 <= size <= _MAX_BATCH:
        raise ValueError(f"size must be 1 to {_MAX_BATCH}, got {size}")


def _usual_index_bytes(events: int) -> int:
    """Return what the index of so many events may have if nobody says it."""
    if events <= _FEW_EVENTS:
        return _INDEX_BYTES_OF_FEW
    return min(max(events, _LEAST_INDEX_BYTES), _MOST_INDEX_BYTES)


@contextmanager
def _damage() -> Iterator[None]:
    """Turn what a Reader raises of a damaged trace into a TraceError."""
    try:
        yield
    except OverflowError as error:
        raise TraceError(f"damaged: its description is not that of a trace ({error})") from None
    except ValueError as error:
        raise reading_error(error) from None


class _Follower:
    """Reads what is appended to a trace, with the names that it adds."""

    def __init__(self, reader: _tracedata.Reader, start: int, nr_functions: int) -> None:
        self._reader = reader
        try:
            self._file = _tracedata.Follower(reader.fileno(), start)
        except ValueError as error:
            raise TraceError(str(error)) from None
        self._functions: list[Function] = []
        self._events: list[EventType] = []
        self._tasks: list[Task] = []
        self._left: Iterator[Event] = iter(())  # of the latest batch

    @property
    def is_complete(self) -> bool:
        return self._file.has_ended()

    def events(self, timeout: float | None, interval: float) -> Iterator[Event]:
        idle_since = time.monotonic()
        recorder_gone = False
        while True:
            yield from self._left
            if self._read():
                idle_since = time.monotonic()
                continue
            if self._file.has_ended() or recorder_gone:
                break
            # It may have appended something after the look above: look once more.
            recorder_gone = not _is_recorded(self._reader.fileno())
            if recorder_gone:
                continue
            waited = time.monotonic() - idle_since
            if timeout is not None and waited >= timeout:
                return
            time.sleep(interval if timeout is None else min(interval, timeout - waited))
        if (damaged_at := self._file.damaged_at()) is not None:
            raise TraceError(
                f"damaged: what lies at byte {damaged_at} is not as it was written; its events count as lost"
            )

    def _read(self) -> bool:
        columns = self._file.read(_SMALL_BATCH)
        if columns is None:
            return False
        known = (len(self._functions), len(self._tasks), len(self._events))
        if self._file.counts() != known:
            added = decode_description(self._file.describe(*known))
            self._functions += added.functions
            self._tasks += added.tasks
            self._events += added.event_types
        self._left = events_of(columns_of(columns, self._tasks), self._functions, self._events)
        return True


def _is_recorded(fd: int) -> bool:
    """Return whether a recorder has the file open: it holds a lock on it.

    A lock belongs to an open file, and `fd` may be a copy of the recorder's own descriptor. So this opens the
    file once more.
    """
    try:
        probe = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return True  # nobody knows
    try:
        fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(probe)
    return False


def file_of(trace: Trace) -> TraceFile:
    """Return what reads a trace for reports and figures. It shares what the trace has in memory, if it can.

    Raises:
        ValueError: the trace is closed.
        TraceError, OSError: as `open_trace`.
    """
    if trace.is_kernel:
        return TraceFile(trace.path)
    return TraceFile(trace.path, known=trace.description, reader=trace._opened())


def open_trace(path: str | os.PathLike[str] | int) -> Trace:
    """Open a trace, to read its events and calls. `funcgraph.open` is this function.

    Args:
        path: a `.fg` or `trace.dat` that funcgraph wrote, also the `FILE.part` of a recording that runs; a
            `trace.dat` that trace-cmd recorded on a kernel, which this reads once as a whole; or the
            descriptor of one of these, which may be closed after this call.

    Returns:
        The trace, which is a context manager that closes it. Its iterators read the file bit by bit.

    Raises:
        TraceError: the file is not a trace, or is truncated or damaged. A `.fg` with damage in
            it, or without its end, is opened: what is whole in it is a trace.
        OSError: it cannot be opened or read.

    Example:
        >>> with funcgraph.open("trace.fg") as trace:
        ...     for call in trace.calls():
        ...         print(call.function and call.function.name, call.duration_ns, call.arguments)
    """
    return Trace(path)
