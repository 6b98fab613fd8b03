"""The index of a trace's calls: what a viewer asks for, without reading the trace again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple, TypeAlias, cast, get_args

from funcgraph import _tracedata
from funcgraph.tracedata.description import Function, Task
from funcgraph.tracedata.large_list import numbers_of

SpanEnd: TypeAlias = Literal["return", "raise", "suspend", "close", "lost", "open"]
MarkKind: TypeAlias = Literal["raise", "event", "mark", "loss", "wait", "overrun"]

_MAX_DEPTH = 2**32 - 1
_ALL_LANES = 2**32 - 1


class Lane(NamedTuple):
    """A thread of a trace, as the index has it.

    Attributes:
        number: its number in the index.
        task: the thread; in a kernel's trace its task on the CPU where it was seen first.
        begin_ns, end_ns: from its first event, or the begin of a call if that was lost, to its last event.
        calls: how many calls were made in it.
        spans: how many spans it has, also those that are in cells only.
        depths: how many levels of calls it has.
    """

    number: int
    task: Task
    begin_ns: int
    end_ns: int
    calls: int
    spans: int
    depths: int


class Span(NamedTuple):
    """A stretch of a call: from its begin, or a resume, to its end, or where it was suspended.

    Attributes:
        function: the function; None if the trace does not name it.
        lane: the number of its lane.
        begin_ns, end_ns: when it began and ended, on the trace's clock.
        depth: how many traced calls it was made from.
        ended: `return`, `raise`, `suspend`, `close`; `lost`: its end was lost, and is at the latest where it
            is here; `open`: it was in progress when its thread or the trace ended.
        resumed: whether it began with a resume.
    """

    function: Function | None
    lane: int
    begin_ns: int
    end_ns: int
    depth: int
    ended: SpanEnd
    resumed: bool


class Mark(NamedTuple):
    """A place in a lane to look at.

    Attributes:
        kind: `raise`: a call ended by an exception; `event`: an event that the program or its user defined,
            or one of a kernel; `mark`: a message of the program; `loss`: records were lost just before;
            `wait`: the thread waited for the recorder; `overrun`: calls were not traced.
        time_ns: when, on the trace's clock.
        count: of how many it is the first: marks that are close together are one if there are too many; of
            `loss`: how many records.
        function: of `raise`: the function that ended, of the first one.
    """

    kind: MarkKind
    time_ns: int
    count: int  # type: ignore[assignment]  # not the method of tuples
    function: Function | None


class FunctionCalls(NamedTuple):
    """A function that was called, as an index counts it.

    Attributes:
        function: the function; None: all that the trace does not name.
        calls: how many calls there are: also those whose end or begin is not in the trace.
        spans: how many stretches they have.
        raised: how many of them an exception ended.
        total_ns: how long the stretches took together. A call counts in full in that of the function that
            called it, and a recursive function is counted once for each level.
    """

    function: Function | None
    calls: int
    spans: int
    raised: int
    total_ns: int


class SpanColumns:
    """Rows of a picture: an array for each of their properties. A row is a span, or a cell.

    A cell stands for all spans that begin in a slot of time and are too short to be seen. The arrays are
    read-only memoryviews, as those of `Columns`.

    Attributes:
        begin_ns, end_ns: uint64 (format "Q"): of the span, or of the cell's slot.
        busy_ns: uint64: how long the span took; of a cell all its spans together.
        count: uint32 (format "I"): how many spans the row stands for.
        function: uint32: index in the trace's `functions`; their number: not named. Of a cell the dominant
            one: if a function has more than half of `busy_ns`, it is that.
        depth: uint32: how many traced calls it was made from.
        lane: uint32: the number of its lane.
        ended: uint8 (format "B"): index in `ENDS`; their number: a cell.
        resumed: bool (format "?"): the span began with a resume.
    """

    ENDS: ClassVar[tuple[SpanEnd, ...]] = cast(tuple[SpanEnd, ...], _tracedata.SPAN_ENDS)
    "How a span can end."

    __slots__ = _tracedata.SPAN_COLUMNS

    begin_ns: memoryview[int]
    end_ns: memoryview[int]
    busy_ns: memoryview[int]
    count: memoryview[int]
    function: memoryview[int]
    depth: memoryview[int]
    lane: memoryview[int]
    ended: memoryview[int]
    resumed: memoryview[bool]

    def __init__(self, columns: _tracedata.ColumnTuple) -> None:
        for name, column in zip(_tracedata.SPAN_COLUMNS, columns, strict=True):
            setattr(self, name, column)

    def __len__(self) -> int:
        return len(self.begin_ns)

    def __repr__(self) -> str:
        return f"<SpanColumns of {len(self)} rows>"


class CallIndex:
    """The index of a trace's calls, from `Trace.index`.

    Its memory is bounded. If a trace has too many calls, the shortest are in cells only: those of less than
    `resolution_ns`. Of a `.fg` they are read from the file where that is little: for a picture of a short
    time, the call at a time, and the next call of a function. Only the longest calls are among the others.
    An index does not change, and several threads may use it at the same time.

    Attributes:
        resolution_ns: all spans that took so long are in memory one by one; 1: all are.
        nr_bytes: what spans, cells, marks and blocks take.
    """

    MARKS: ClassVar[tuple[MarkKind, ...]] = cast(tuple[MarkKind, ...], _tracedata.MARK_KINDS)
    "The kinds of marks."

    resolution_ns: int
    nr_bytes: int

    def __init__(
        self,
        index: _tracedata.CallIndex,
        functions: Sequence[Function],
        tasks: Sequence[Task],
    ) -> None:
        self._index = index
        self._functions = functions
        self._numbers = numbers_of(functions, lambda function: function)
        self._called = {row[0]: FunctionCalls(self._named(row[0]), *row[1:]) for row in index.functions()}
        self.resolution_ns = 4**index.base
        self.nr_bytes = index.nr_bytes
        self._lanes = [Lane(number, tasks[row[0]], *row[1:]) for number, row in enumerate(index.lanes())]

    def __repr__(self) -> str:
        return f"<CallIndex: {len(self._lanes)} lanes, {self._index.nr_spans:,} spans>"

    def lanes(self) -> list[Lane]:
        """Return the lanes, in the order of their first events."""
        return list(self._lanes)

    def spans(
        self,
        lane: Lane | int,
        begin_ns: int,
        end_ns: int,
        pixels: int,
        depths: tuple[int, int] = (0, _MAX_DEPTH),
    ) -> SpanColumns:
        """Return what a picture of a part of a lane shows.

        Spans that take a pixel or more come one by one. What is shorter is counted in cells, which are at
        most a pixel long, or `resolution_ns`. A cell is where its spans begin.

        Args:
            lane: the lane, or its number.
            begin_ns, end_ns: the part: up to before `end_ns`.
            pixels: how wide the picture is, at least 1.
            depths: the first and the last depth.

        Returns:
            Rows in the order of depth: some for each pixel and depth, however long the trace is.

        Raises:
            ValueError: there is no such lane, `end_ns` is not after `begin_ns`, or `pixels` is less than 1.
            OSError: the trace cannot be read.

        Example:
            >>> lane = trace.lanes()[0]
            >>> rows = trace.spans(lane, lane.begin_ns, lane.end_ns, pixels=1200, depths=(0, 31))
        """
        if not 1 <= pixels <= _MAX_DEPTH:
            raise ValueError(f"pixels must be 1 to {_MAX_DEPTH}, got {pixels}")
        if not 0 <= begin_ns < end_ns < 2**64:
            raise ValueError(f"end_ns must be after begin_ns, got {begin_ns} and {end_ns}")
        first, last = depths
        if first < 0:
            raise ValueError(f"a depth must not be negative, got {first}")
        if last < first:
            raise ValueError(f"the last depth must not be less than the first, got {first} and {last}")
        part = (self._lane(lane), begin_ns, end_ns, pixels, min(first, _MAX_DEPTH), min(last, _MAX_DEPTH))
        return SpanColumns(self._index.picture(*part))

    def call_at(self, lane: Lane | int, time_ns: int) -> Span | None:
        """Return the innermost span that is in progress at a time; None: there is none.

        Args:
            lane: the lane, or its number.
            time_ns: on the trace's clock.

        Raises:
            ValueError: there is no such lane, or the time is impossible.
            OSError: the trace cannot be read.

        Example:
            >>> call = trace.call_at(trace.lanes()[0], 1_000_000)
        """
        return self._first(self._index.innermost(self._lane(lane), _time(time_ns)))

    def parents(self, span: Span) -> list[Span]:
        """Return the spans around a span, the nearest first: those in progress when it began.

        Args:
            span: one of this trace.

        Raises:
            ValueError: there is no such lane.
            OSError: the trace cannot be read.
        """
        return list(self._spans(self._index.parents(self._lane(span.lane), span.depth, span.begin_ns)))

    def functions(self) -> list[FunctionCalls]:
        """Return the functions that were called, in the order of the trace's `functions`.

        Example:
            >>> busiest = max(trace.index().functions(), key=lambda one: one.calls)
        """
        return list(self._called.values())

    def next_call(
        self, function: Function, after_ns: int, lane: Lane | int | None = None, *, raised: bool = False
    ) -> Span | None:
        """Return the first span of a function that begins after a time; None: there is none.

        Args:
            function: one of the trace's `functions`.
            after_ns: on the trace's clock.
            lane: the lane, or its number; None: all.
            raised: only spans that an exception ended.

        Raises:
            ValueError: the function or the lane is none of the trace's, or the time is impossible.

        Example:
            >>> first = trace.index().next_call(trace.functions[0], 0, raised=True)
        """
        return self._first(self._index.next_span(*self._place(function, after_ns, lane), raised))

    def previous_call(
        self, function: Function, before_ns: int, lane: Lane | int | None = None, *, raised: bool = False
    ) -> Span | None:
        """Return the last span of a function that begins before a time; None: there is none.

        Args, raises: as `next_call`.
        """
        return self._first(self._index.previous_span(*self._place(function, before_ns, lane), raised))

    def number_of(self, span: Span) -> int | None:
        """Return which call of its function, in all lanes, a span is, from 1 on, in the order of begins.

        Returns:
            The number. None: that is not known, as the function is suspended and resumed, or not named; or
            it has calls that are too short for the index, and would have to be counted in too much of the
            trace, or the trace is not a `.fg`.

        Raises:
            OSError: the trace cannot be read.
        """
        if span.function is None:
            return None
        number = self._function(span.function)
        called = self._called.get(number)
        if called is None or called.calls != called.spans:
            return None
        before = self._index.rank(number, _time(span.begin_ns))
        return None if before is None else before + 1

    def longest_calls(self, function: Function, least_ns: int = 0, most: int = 100) -> list[Span]:
        """Return the longest spans of a function, the longest first.

        Args:
            function: one of the trace's `functions`.
            least_ns: only those that took at least so long.
            most: at most so many.

        Raises:
            ValueError: the function is none of the trace's, or a number is impossible.
        """
        if not 0 <= most <= _MAX_DEPTH:
            raise ValueError(f"most must be 0 to {_MAX_DEPTH}, got {most}")
        return list(self._spans(self._index.longest(self._function(function), _time(least_ns), most)))

    def histogram(self, function: Function) -> list[tuple[int, int]]:
        """Return how many calls of a function took how long: of all whose begin and end are in the trace.

        Args:
            function: one of the trace's `functions`.

        Returns:
            For each power of two of nanoseconds that occurs, from the shortest on: the least duration (0, 1,
            2, 4, ...), and how many calls took so long but less than twice as long.

        Raises:
            ValueError: the function is none of the trace's.

        Example:
            >>> for least_ns, calls in trace.index().histogram(trace.functions[0]):
            ...     print(least_ns, calls)
        """
        counts = self._index.durations(self._function(function))
        return [(1 << bits >> 1, count) for bits, count in enumerate(counts) if count]

    def marks(
        self,
        lane: Lane | int,
        begin_ns: int = 0,
        end_ns: int = 2**64 - 1,
        *,
        kinds: Sequence[MarkKind] | None = None,
        most: int = 10_000,
    ) -> list[Mark]:
        """Return the marks of a lane: exceptions, events, messages, losses.

        Args:
            lane: the lane, or its number.
            begin_ns, end_ns: where: up to before `end_ns`.
            kinds: which ones; None: all.
            most: at most so many of each kind, the first ones.

        Returns:
            The marks, in order of time.

        Raises:
            ValueError: there is no such lane or kind, or a time is impossible.
        """
        if unknown := set(kinds or ()).difference(self.MARKS):
            raise ValueError(f"no kind of mark {unknown.pop()!r}: there are {', '.join(get_args(MarkKind))}")
        part = (_time(begin_ns), _time(end_ns), max(most, 0))
        number = self._lane(lane)
        found = [
            Mark(kind, time_ns, count, self._named(function))
            for place, kind in enumerate(self.MARKS)
            if kinds is None or kind in kinds
            for time_ns, count, function in self._index.marks(number, place, *part)
        ]
        return sorted(found, key=lambda mark: mark.time_ns)

    # ----

    def _lane(self, lane: Lane | int) -> int:
        number = lane if isinstance(lane, int) else lane.number
        if not 0 <= number < len(self._lanes):
            raise ValueError(f"no lane {number}: the trace has {len(self._lanes)}")
        return number

    def _function(self, function: Function) -> int:
        try:
            return self._numbers[function]
        except KeyError:
            raise ValueError(f"{function.name!r} is not a function of this trace") from None

    def _place(self, function: Function, time_ns: int, lane: Lane | int | None) -> tuple[int, int, int]:
        return self._function(function), _time(time_ns), _ALL_LANES if lane is None else self._lane(lane)

    def _named(self, number: int) -> Function | None:
        return self._functions[number] if number < len(self._functions) else None

    def _spans(self, columns: _tracedata.ColumnTuple) -> Iterator[Span]:
        rows = SpanColumns(columns)
        for i in range(len(rows)):
            yield Span(
                self._named(rows.function[i]),
                rows.lane[i],
                rows.begin_ns[i],
                rows.end_ns[i],
                rows.depth[i],
                rows.ENDS[rows.ended[i]],
                rows.resumed[i],
            )

    def _first(self, columns: _tracedata.ColumnTuple) -> Span | None:
        return next(self._spans(columns), None)


def _time(time_ns: int) -> int:
    if not 0 <= time_ns < 2**64:
        raise ValueError(f"a time must be 0 to 2**64 - 1 ns, got {time_ns}")
    return time_ns
