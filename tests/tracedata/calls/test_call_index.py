"""Promise: the index of a trace's calls answers as a slow model does that looks at all calls, whatever events
are lost; what a picture has stays bounded, and nothing is left out of it."""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest
import tracefile
from hypothesis import given, settings
from hypothesis import strategies as st
from ringfile import RingFile, add_ring, enter, leaf, leave

import funcgraph
from funcgraph import _tracedata
from funcgraph.tracedata import CallIndex, Function, Span, SpanColumns, Trace
from tests.support import call_model
from tests.support.call_model import BEGIN, CLOSE, LOST, OPEN, RAISE, RESUME, RETURN, SUSPEND, WAIT, Row
from tracedata.programs import STEPS, Program, Step

pytestmark = pytest.mark.one_python

S = 1_000_000_000
ALL = 1 << 30  # bytes: no span is dropped
ENDS = {
    RETURN: "return",
    RAISE: "raise",
    SUSPEND: "suspend",
    CLOSE: "close",
    LOST: "lost",
    OPEN: "open",
}


@dataclass(frozen=True, order=True)
class Stretch:
    """A span, as the model has it."""

    lane: int
    depth: int
    begin: int
    end: int
    function: int
    ended: str
    resumed: bool

    @property
    def ns(self) -> int:
        return self.end - self.begin

    def is_in(self, begin: int, end: int) -> bool:
        return self.begin < end and (self.end > begin or self.begin == self.end == begin)

    def contains(self, time: int) -> bool:
        return self.begin <= time < self.end or self.begin == self.end == time


@dataclass
class Model:
    """All spans of a trace, from the events that `Trace.columns` has, by the slow model of calls."""

    trace: Trace
    spans: list[Stretch] = field(default_factory=list)
    durations: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    calls: Counter[int] = field(default_factory=Counter)  # by lane
    calls_of: Counter[int] = field(default_factory=Counter)  # by function
    raised: list[tuple[int, int, int]] = field(default_factory=list)  # lane, time, function

    def __post_init__(self) -> None:
        self._began: dict[int, tuple[int, bool]] = {}  # by id: the latest stretch
        self._ends: dict[tuple[int, int], int] = defaultdict(int)
        self._met: set[int] = set()
        self._lanes: dict[int, int] = {}  # by task, in the order of first events
        calls = call_model.Calls([task.pid for task in self.trace.tasks])
        for batch in self.trace.columns():
            for i in range(len(batch)):
                lane = self._lanes.setdefault(batch.task[i], len(self._lanes))
                if batch.kind[i] > CLOSE and batch.kind[i] != WAIT:
                    continue
                event = call_model.Event(
                    batch.time_ns[i],
                    batch.task[i],
                    batch.kind[i],
                    batch.function[i],
                    batch.depth[i],
                    batch.start_ns[i],
                    batch.calltime_ns[i],
                    batch.number[i],
                )
                if event.kind == RAISE:
                    self.raised.append((lane, event.time, event.function))
                calls.add(event)
                self._take(calls.rows, event)
        calls.finish()
        self._take(calls.rows, None)

    def _take(self, rows: list[Row], event: call_model.Event | None) -> None:
        for row in rows:
            self._take_row(row, event)
        rows.clear()

    def _take_row(self, row: Row, event: call_model.Event | None) -> None:
        lane = self._lanes[row.thread]
        if row.id not in self._met:
            self._met.add(row.id)
            self.calls[lane] += 1
            self.calls_of[row.function] += 1
        if row.what in (BEGIN, RESUME):
            self._began[row.id] = (row.time, row.what == RESUME)
            return
        if row.what not in ENDS:
            return
        if row.is_whole and row.what != SUSPEND:
            self.durations[row.function][row.ran.bit_length()] += 1
        if row.is_only_end:
            assert event
            # A stretch that is begun late is a resume if its call is known.
            resumed = row.id in self._began
            begin = min(event.calltime, event.time)
            self._began[row.id] = (begin, resumed)
        begin, resumed = self._began[row.id]
        begin = max(begin, self._ends[lane, row.depth])
        end = max(begin, row.time)
        self._ends[lane, row.depth] = end
        ended = "lost" if row.is_lost_end else ENDS[row.what]
        self.spans.append(Stretch(lane, row.depth, begin, end, row.function, ended, resumed))


@contextmanager
def lossy(dropped: set[int]) -> Iterator[None]:
    """Leave out of the traces that are written the events of these numbers."""
    number = -1
    add = tracefile.Task.add

    def add_some(task: tracefile.Task, when: int, payload: bytes, lost: int = 0) -> None:
        nonlocal number
        number += 1
        if number not in dropped:
            add(task, when, payload, lost)

    with patch.object(tracefile.Task, "add", add_some):
        yield


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("index") / "trace.dat"


@contextmanager
def made(
    scratch: Path, steps: list[Step], dropped: set[int], most_bytes: int
) -> Iterator[tuple[CallIndex, Model]]:
    """The index of a random program's trace, and the model."""
    with lossy(dropped):
        Program(steps).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        yield trace.index(most_bytes=most_bytes), Model(trace)


def stretches(rows: SpanColumns) -> list[Stretch]:
    return [
        Stretch(
            rows.lane[i],
            rows.depth[i],
            rows.begin_ns[i],
            rows.end_ns[i],
            rows.function[i],
            rows.ENDS[rows.ended[i]],
            rows.resumed[i],
        )
        for i in range(len(rows))
        if rows.ended[i] < len(rows.ENDS)
    ]


def stretch(span: Span, functions: list[Function]) -> Stretch:
    number = functions.index(span.function) if span.function else len(functions)
    return Stretch(span.lane, span.depth, span.begin_ns, span.end_ns, number, span.ended, span.resumed)


programs = {
    "steps": STEPS,
    "dropped": st.sets(st.integers(0, 60), max_size=20),
}
budgets = st.sampled_from((1, 200, 1000, 3000, ALL))


@settings(max_examples=150, deadline=None)
@given(**programs)
def test_all_spans_are_the_models(scratch: Path, steps: list[Step], dropped: set[int]) -> None:
    with made(scratch, steps, dropped, ALL) as (index, model):
        found = []
        for lane in index.lanes():
            rows = index.spans(lane, lane.begin_ns, lane.end_ns + 1, 2**32 - 1)
            assert lane.spans == len(rows) == sum(span.lane == lane.number for span in model.spans)
            assert set(rows.count) <= {1}
            found += stretches(rows)
            assert lane.calls == model.calls[lane.number]
            assert lane.depths == max(
                (span.depth + 1 for span in model.spans if span.lane == lane.number), default=0
            )
    assert index.resolution_ns == 1
    assert sorted(found) == sorted(model.spans)


def check_cell(rows: SpanColumns, i: int, shorter: list[Stretch]) -> None:
    """A cell counts the spans that begin in its slot and do not come one by one."""
    begin, end = rows.begin_ns[i], rows.end_ns[i]
    inside = [
        s for s in shorter if s.depth == rows.depth[i] and begin <= s.begin < end and s.ns < end - begin
    ]
    busy: Counter[int] = Counter()
    for span in inside:
        busy[span.function] += span.ns
    assert rows.count[i] == len(inside)
    assert rows.busy_ns[i] == sum(busy.values())
    assert rows.function[i] in busy
    for function, ns in busy.items():
        assert 2 * ns <= rows.busy_ns[i] or rows.function[i] == function


@settings(max_examples=200, deadline=None)
@given(
    **programs,
    budget=budgets,
    part=st.tuples(st.integers(0, 2000), st.integers(0, 2000)),
    pixels=st.sampled_from((1, 2, 5, 20, 100, 2000)),
    depths=st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
def test_a_picture_has_every_span_once(
    scratch: Path,
    steps: list[Step],
    dropped: set[int],
    budget: int,
    part: tuple[int, int],
    pixels: int,
    depths: tuple[int, int],
) -> None:
    with made(scratch, steps, dropped, budget) as (index, model):
        first, last = sorted(depths)
        for lane in index.lanes():
            length = lane.end_ns - lane.begin_ns + 1
            begin, end = (lane.begin_ns + length * place // 2000 for place in sorted(part))
            end = max(end, begin + 1)
            rows = index.spans(lane, begin, end, pixels, (first, last))
            alone = Counter(stretches(rows))
            inside = [
                span
                for span in model.spans
                if span.lane == lane.number and first <= span.depth <= last and span.is_in(begin, end)
            ]
            pixel = (end - begin) // pixels
            shorter = [
                span for span in model.spans if span.lane == lane.number and first <= span.depth <= last
            ]
            cells = [i for i in range(len(rows)) if rows.ended[i] == len(rows.ENDS)]
            assert alone <= Counter(inside)
            for span in inside:
                if span.ns >= max(pixel, index.resolution_ns):
                    assert alone[span]
            for i in cells:
                assert rows.end_ns[i] - rows.begin_ns[i] <= max(pixel, index.resolution_ns)
                check_cell(rows, i, shorter)
            # What is not there one by one is in a cell.
            for span in inside:
                assert (
                    alone[span]
                    or any(
                        rows.depth[i] == span.depth and rows.begin_ns[i] <= span.begin < rows.end_ns[i]
                        for i in cells
                    )
                    or span.begin < begin
                )
            assert len(rows) <= 64 * (pixels + 2) * (last - first + 1)


@settings(max_examples=100, deadline=None)
@given(calls=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 50)), min_size=1, max_size=40))
def test_a_function_that_has_more_than_half_of_a_cell_is_its_dominant_one(
    scratch: Path, calls: list[tuple[int, int]]
) -> None:
    trace, time = tracefile.Trace(["m.a", "m.b", "m.c"]), 1 << 20
    task = trace.task(7)
    for function, ns in calls:
        task.enter(time, function, 0)
        task.leave(time + ns, function, 0, calltime=time)
        time += ns + 1
    trace.save(scratch)
    with funcgraph.open(scratch) as opened:
        spans = Model(opened).spans
        for pixels in (1, 4, 16):
            rows = opened.spans(0, 1 << 20, (1 << 20) + (1 << 12), pixels)
            for i in range(len(rows)):
                if rows.ended[i] == len(rows.ENDS):
                    check_cell(rows, i, spans)
            assert sum(rows.count) == len(calls)


def test_a_span_whose_begin_was_lost_begins_after_the_one_before_it(scratch: Path) -> None:
    """The end of `a` and the begin of `b` were lost: only an end of `b` at 500 tells that it began at 200."""
    trace = tracefile.Trace(["m.a", "m.b", "m.c"])
    task = trace.task(7)
    task.enter(100, 0, 0)
    task.enter(300, 2, 1)
    task.leave(400, 2, 1, calltime=300)
    task.leave(500, 1, 0, calltime=200)
    trace.save(scratch)
    with funcgraph.open(scratch) as opened:
        spans = stretches(opened.spans(0, 0, 1000, 1000))
        assert sorted(spans) == sorted(Model(opened).spans)
        at = [opened.call_at(0, time) for time in (399, 400)]
    assert [(s.begin, s.end, s.ended) for s in sorted(spans) if s.depth == 0] == [
        (100, 400, "lost"),
        (400, 500, "return"),
    ]
    assert [span and (span.depth, span.ended) for span in at] == [(1, "return"), (0, "return")]


@settings(max_examples=100, deadline=None)
@given(**programs, budget=budgets)
def test_nothing_is_lost_when_spans_are_dropped(
    scratch: Path, steps: list[Step], dropped: set[int], budget: int
) -> None:
    """Whatever is dropped, spans and cells of the whole have all calls and all their time."""
    with made(scratch, steps, dropped, budget) as (index, model):
        for lane in index.lanes():
            spans = [span for span in model.spans if span.lane == lane.number]
            for pixels in (1, 100, 2**32 - 1):
                rows = index.spans(lane, 0, 2**63, pixels)
                assert sum(rows.count) == len(spans) == lane.spans
                assert sum(rows.busy_ns) == sum(span.ns for span in spans)
        if budget < ALL:
            assert index.resolution_ns > 1 or len(model.spans) * 32 <= budget


@settings(max_examples=150, deadline=None)
@given(**programs, places=st.lists(st.integers(0, 1000), min_size=1, max_size=20))
def test_the_call_at_a_time_and_its_parents(
    scratch: Path, steps: list[Step], dropped: set[int], places: list[int]
) -> None:
    with made(scratch, steps, dropped, ALL) as (index, model):
        functions = model.trace.functions
        times = [time for span in model.spans for time in (span.begin, span.end)]
        for lane in index.lanes():
            for place in places:
                time = times[place % len(times)] + place % 3 - 1 if times else place
                there = [s for s in model.spans if s.lane == lane.number and s.contains(time)]
                span = index.call_at(lane, time)
                assert (span is None) == (not there)
                if span is None:
                    continue
                assert stretch(span, functions) in there
                assert span.depth == max(s.depth for s in there)
                around = [
                    s
                    for s in model.spans
                    if s.lane == lane.number and s.depth < span.depth and s.contains(span.begin_ns)
                ]
                parents = [stretch(parent, functions) for parent in index.parents(span)]
                assert [s.depth for s in parents] == sorted({s.depth for s in around}, reverse=True)
                assert set(parents) <= set(around)


@settings(max_examples=150, deadline=None)
@given(**programs, place=st.integers(0, 1000), least_ns=st.integers(0, 2 * 10**6), most=st.integers(0, 20))
def test_calls_of_a_function(
    scratch: Path, steps: list[Step], dropped: set[int], place: int, least_ns: int, most: int
) -> None:
    with made(scratch, steps, dropped, ALL) as (index, model):
        times = [span.begin for span in model.spans] or [1]
        time = times[place % len(times)] + place % 3 - 1
        for number, function in enumerate(model.trace.functions):
            of_it = [span for span in model.spans if span.function == number]
            for lane in (None, *index.lanes()):
                there = [s for s in of_it if lane is None or s.lane == lane.number]
                found = index.next_call(function, time, lane), index.previous_call(function, time, lane)
                after = min((s.begin for s in there if s.begin > time), default=None)
                before = max((s.begin for s in there if s.begin < time), default=None)
                assert [span and span.begin_ns for span in found] == [after, before]
                assert all(span is None or stretch(span, model.trace.functions) in there for span in found)
                raised = [s for s in there if s.ended == "raise"]
                found = (
                    index.next_call(function, time, lane, raised=True),
                    index.previous_call(function, time, lane, raised=True),
                )
                after = min((s.begin for s in raised if s.begin > time), default=None)
                before = max((s.begin for s in raised if s.begin < time), default=None)
                assert [span and span.begin_ns for span in found] == [after, before]
            longest = index.longest_calls(function, least_ns, most)
            lengths = sorted((s.ns for s in of_it if s.ns >= least_ns), reverse=True)[:most]
            assert [span.end_ns - span.begin_ns for span in longest] == lengths
            assert len(set(longest)) == len(longest)
            assert dict(index.histogram(function)) == {
                1 << bits >> 1: count for bits, count in model.durations[number].items()
            }


@settings(max_examples=100, deadline=None)
@given(**programs, budget=budgets)
def test_functions_have_all_their_calls(
    scratch: Path, steps: list[Step], dropped: set[int], budget: int
) -> None:
    with made(scratch, steps, dropped, budget) as (index, model):
        named = {function: number for number, function in enumerate(model.trace.functions)}
        spans = Counter(span.function for span in model.spans)
        raised = Counter(span.function for span in model.spans if span.ended == "raise")
        found = {named[one.function] if one.function else len(named): one for one in index.functions()}
        assert list(found) == sorted(model.calls_of)
        for number, one in found.items():
            counts = model.calls_of[number], spans[number], raised[number]
            assert (one.calls, one.spans, one.raised) == counts


def test_the_time_of_a_function_is_that_of_its_spans(scratch: Path) -> None:
    trace = tracefile.Trace(["m.f", "m.g"])
    task = trace.task(7)
    task.enter(1000, 0, 0)
    task.enter(1100, 0, 1)
    task.leave(1300, 0, 1, calltime=1100)
    task.enter(1400, 1, 1)
    task.leave(1900, 1, 1, calltime=1400)
    task.leave(2000, 0, 0, calltime=1000)
    task.enter(2000, 1, 0)
    task.leave(2001, 1, 0, calltime=2000)
    trace.save(scratch)
    with funcgraph.open(scratch) as opened:
        index, (f, g) = opened.index(), opened.functions
        assert index.functions() == [(f, 2, 2, 0, 1200), (g, 2, 2, 0, 501)]
        spans = [index.next_call(f, 0), index.next_call(f, 1000), index.next_call(g, 1400)]
        assert [span and index.number_of(span) for span in spans] == [1, 2, 2]


@settings(max_examples=100, deadline=None)
@given(**programs)
def test_the_number_of_a_call(scratch: Path, steps: list[Step], dropped: set[int]) -> None:
    with made(scratch, steps, dropped, ALL) as (index, model):
        spans = Counter(span.function for span in model.spans)
        for number, function in enumerate(model.trace.functions):
            begins = sorted(span.begin for span in model.spans if span.function == number)
            for span in index.longest_calls(function):
                is_known = model.calls_of[number] == spans[number]
                expected = begins.index(span.begin_ns) + 1 if is_known else None
                assert index.number_of(span) == expected


@settings(max_examples=100, deadline=None)
@given(**programs)
def test_exceptions_are_marks(scratch: Path, steps: list[Step], dropped: set[int]) -> None:
    with made(scratch, steps, dropped, ALL) as (index, model):
        for lane in index.lanes():
            marks = index.marks(lane, kinds=["raise"])
            assert [(mark.time_ns, mark.function) for mark in marks] == [
                (time, model.trace.functions[function])
                for number, time, function in model.raised
                if number == lane.number
            ]
            assert all(mark.kind == "raise" and mark.count == 1 for mark in marks)


def test_marks_that_are_too_many_are_counted(scratch: Path) -> None:
    steps = [Step(0, what, 0, 5) for _ in range(500) for what in ("call", "raise")]
    Program(steps).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        index = trace.index(most_bytes=1)
        marks = index.marks(0)
        assert len(marks) <= 64
        assert sum(mark.count for mark in marks) == 500
        assert marks[0].time_ns == 1_000_010
        assert [mark.time_ns for mark in marks] == sorted(mark.time_ns for mark in marks)


def test_losses_and_waits_are_marks(scratch: Path) -> None:
    trace = tracefile.Trace(["m.f"])
    task = trace.task(7, "main")
    task.enter(1000, 0, 0, lost=3)
    task.wait(1500, 100)
    task.leave(2000, 0, 0, calltime=1100)
    trace.save(scratch)
    with funcgraph.open(scratch) as opened:
        marks = opened.index().marks(0)
    assert [(mark.kind, mark.time_ns, mark.count) for mark in marks] == [("loss", 1000, 3), ("wait", 1500, 1)]


def test_wrong_questions_are_refused(scratch: Path) -> None:
    Program([Step(0, "call", 0, 5), Step(0, "return", 0, 5)]).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        other = trace.functions[0]._replace(qualname="other")
        span = trace.call_at(0, 1_000_005)
        assert span
        with pytest.raises(ValueError, match="no lane 1: the trace has 1"):
            trace.call_at(1, 5)
        with pytest.raises(ValueError, match="end_ns must be after begin_ns, got 5 and 5"):
            trace.spans(0, 5, 5, 100)
        with pytest.raises(ValueError, match="pixels must be 1 to 4294967295, got 0"):
            trace.spans(0, 5, 6, 0)
        with pytest.raises(ValueError, match=r"'m\.other' is not a function of this trace"):
            trace.index().next_call(other, 0)
        with pytest.raises(ValueError, match="no kind of mark 'x': there are raise, event"):
            trace.index().marks(0, kinds=["x"])  # type: ignore[list-item]
        with pytest.raises(ValueError, match="no lane 17: the trace has 1"):
            trace.index().parents(span._replace(lane=17))
    with pytest.raises(ValueError, match="closed"):
        trace.lanes()


def test_an_index_is_made_once(scratch: Path) -> None:
    Program([Step(0, "call", 0, 5), Step(0, "return", 0, 5)]).trace.save(scratch)
    with funcgraph.open(scratch) as trace:
        assert trace.index() is trace.index()
        with pytest.raises(ValueError, match="most_bytes must be at least 1, got 0"):
            funcgraph.open(scratch).index(most_bytes=0)


# ---- while it is made


def long_trace(path: Path) -> Path:
    """A trace of 600,000 events: more than are read between two reports of progress."""
    ring = RingFile(path.with_suffix(".ring"), subbuf_bytes=1 << 16)
    ring.function(0, "m.f")
    ring.task(1, 4711, "main")
    recorder = _tracedata.Recorder(path, clock="mono")
    number = add_ring(recorder, ring.path)
    for first in range(200):
        ring.put(1, b"".join(leaf(S + 15_000 * first + 10 * i, 0, 0, 5) for i in range(1500)))
        recorder.drain(number)
    recorder.finish(number)
    recorder.complete("{}")
    recorder.close()
    return path


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return long_trace(tmp_path_factory.mktemp("long") / "trace.fg")


def test_progress_rises_to_one(long: Path) -> None:
    parts: list[float] = []
    with funcgraph.open(long) as trace:
        assert trace.nr_events == 600_000
        trace.index(progress=parts.append)
    assert len(parts) >= 4
    assert parts == sorted(parts)
    assert 0 < parts[0] < 0.5
    assert parts[-1] == 1


def test_an_exception_of_progress_ends_the_making(long: Path) -> None:
    class StopError(Exception):
        pass

    def stop(part: float) -> None:
        raise StopError

    with funcgraph.open(long) as trace:
        with pytest.raises(StopError):
            trace.index(progress=stop)
        assert trace.index().functions()[0].calls == 300_000


def test_a_signal_ends_the_making(long: Path) -> None:
    """Ctrl-C, which comes while the first events are read."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # who runs the tests may ignore it
    try:
        with funcgraph.open(long) as trace, pytest.raises(KeyboardInterrupt):
            trace.index(progress=lambda part: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)


def test_several_threads_ask_one_index(tmp_path: Path) -> None:
    """All at once, some of what is read from the file; each gets what one alone gets."""
    chunks = [b"".join(leaf(S + 1000 * k + 9 * i, i % 3, 0, 1 + i % 7) for i in range(40)) for k in range(64)]
    with funcgraph.open(record_chunks(tmp_path, chunks)) as trace:
        index = trace.index(most_bytes=1)

        def ask(seed: int) -> list[object]:
            found: list[object] = []
            for i in range(40):
                time = S + (seed * 7919 + i * 977) % 64_000
                rows = index.spans(0, time, time + 500, 100)
                call = index.call_at(0, time)
                function = trace.functions[i % 3]
                found += [
                    stretches(rows),
                    call,
                    call and index.parents(call),
                    index.next_call(function, time),
                    index.previous_call(function, time, raised=True),
                    index.longest_calls(function, most=3),
                    index.marks(0),
                ]
            return found

        alone = [ask(seed) for seed in range(4)]
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(ask, range(4))) == alone


# ---- other files than a whole trace.dat


def spans_of(path: Path) -> list[tuple[int, int, int]]:
    """Return lane, begin and end of all spans."""
    with funcgraph.open(path) as trace:
        return sorted(
            (span.lane, span.begin, span.end)
            for lane in trace.lanes()
            for span in stretches(trace.spans(lane, lane.begin_ns, lane.end_ns + 1, 2**32 - 1))
        )


def test_a_growing_and_a_cut_trace_have_an_index(tmp_path: Path) -> None:
    ring = RingFile(tmp_path / "4711.0.ring")
    ring.function(0, "m.f")
    ring.task(1, 4711, "main")
    recorder = _tracedata.Recorder(tmp_path / "trace.fg", clock="mono")
    number = add_ring(recorder, ring.path)

    def put(begin: int) -> None:
        ring.put(1, leaf(begin, 0, 0, 5))
        recorder.drain(number)

    put(S)
    assert spans_of(tmp_path / "trace.fg") == [(0, S, S + 5)]
    put(S + 100)
    assert spans_of(tmp_path / "trace.fg") == [(0, S, S + 5), (0, S + 100, S + 105)]
    recorder.finish(number)
    recorder.complete("{}")
    recorder.close()
    whole = (tmp_path / "trace.fg").read_bytes()
    assert spans_of(tmp_path / "trace.fg") == [(0, S, S + 5), (0, S + 100, S + 105)]
    found = set()
    for size in range(16, len(whole), 8):
        (tmp_path / "cut.fg").write_bytes(whole[:size])
        found.add(len(spans_of(tmp_path / "cut.fg")))
    assert found == {0, 1, 2}


def test_a_trace_that_grows_is_refreshed(tmp_path: Path) -> None:
    ring = RingFile(tmp_path / "4711.0.ring")
    ring.function(0, "m.f")
    ring.task(1, 4711, "main")
    recorder = _tracedata.Recorder(tmp_path / "trace.fg", clock="mono")
    number = add_ring(recorder, ring.path)
    ring.put(1, leaf(S, 0, 0, 5))
    recorder.drain(number)
    with funcgraph.open(tmp_path / "trace.fg") as trace:
        first = trace.index()
        assert not trace.refresh()
        assert trace.index() is first
        ring.function(1, "m.g")
        ring.put(1, leaf(S + 100, 1, 0, 5))
        recorder.drain(number)
        assert len(trace.functions) == 1
        assert trace.refresh()
        assert [one.function for one in trace.index().functions()] == trace.functions
        assert [function.qualname for function in trace.functions] == ["f", "g"]
        assert [one.calls for one in first.functions()] == [1]
        assert not trace.is_complete
        recorder.finish(number)
        recorder.complete("{}")
        recorder.close()
        assert trace.refresh()
        assert trace.is_complete
        assert not trace.refresh()
    with pytest.raises(ValueError, match="closed"):
        trace.refresh()


@st.composite
def recorded(draw: st.DrawFn) -> list[bytes]:
    """The records of a task, in chunks: nested calls that take from 1 ns up to some microseconds."""
    chunks, records = [], b""
    stack: list[tuple[int, int]] = []  # function, begin
    time, scale = S, draw(st.sampled_from((10, 300, 5000)))
    for _ in range(draw(st.integers(1, 120))):
        time += draw(st.integers(1, scale))
        if stack and (len(stack) > 5 or draw(st.booleans())):
            function, begin = stack.pop()
            record = leave(time, function, len(stack), begin, kind=draw(st.sampled_from((2, 2, 3))))
        else:
            stack.append((draw(st.integers(0, 2)), time))
            record = enter(time, stack[-1][0], len(stack) - 1)
        records += b"" if draw(st.integers(0, 30)) == 0 else record
        if draw(st.integers(0, 10)) == 0:
            chunks.append(records)
            records = b""
    return [chunk for chunk in (*chunks, records) if chunk]


def record_chunks(folder: Path, *tasks: list[bytes]) -> Path:
    for file in folder.iterdir():
        file.unlink()
    ring = RingFile(folder / "4711.0.ring")
    for number in range(3):
        ring.function(number, f"m.f{number}")
    recorder = _tracedata.Recorder(folder / "trace.fg", clock="mono")
    number = add_ring(recorder, ring.path)
    for task, chunks in enumerate(tasks, 1):
        ring.task(task, 4710 + task, "main")
        for chunk in chunks:
            ring.put(task, chunk)
            recorder.drain(number)
    recorder.finish(number)
    recorder.complete("{}")
    recorder.close()
    return folder / "trace.fg"


@settings(max_examples=60, deadline=None)
@given(
    chunks=recorded(),
    budget=st.sampled_from((1, 300, 1000, 3000)),
    part=st.tuples(st.integers(0, 2000), st.integers(0, 2000)),
)
def test_what_is_dropped_is_read_from_the_file(
    scratch: Path, chunks: list[bytes], budget: int, part: tuple[int, int]
) -> None:
    """A picture of a short time, the call at a time and its parents are whole, whatever the index keeps."""
    folder = scratch.parent / "recorded"
    folder.mkdir(exist_ok=True)
    path = record_chunks(folder, chunks)
    with funcgraph.open(path) as trace, funcgraph.open(path) as other:
        whole, index = trace.index(most_bytes=ALL), other.index(most_bytes=budget)
        for lane in whole.lanes():
            length = lane.end_ns - lane.begin_ns + 1
            begin, end = (lane.begin_ns + length * place // 2000 for place in sorted(part))
            pictures = [one.spans(lane, begin, end + 1, 2**32 - 1) for one in (index, whole)]
            found, expected = (sorted(stretches(rows)) for rows in pictures)
            assert len(pictures[0]) == len(found)
            assert found == expected
            for pixels in (1, 5):
                rows = index.spans(lane, begin, end + 1, pixels)
                assert len(rows) <= 64 * (pixels + 2) * max(lane.depths, 1)
            for time in (begin, begin + 1, end):
                spans = [one.call_at(lane, time) for one in (index, whole)]
                assert spans[0] == spans[1]
                if spans[0]:
                    assert index.parents(spans[0]) == whole.parents(spans[0])


@settings(max_examples=60, deadline=None)
@given(
    tasks=st.lists(recorded(), min_size=1, max_size=3),
    budget=st.sampled_from((1, 300, 1000, 3000)),
    place=st.integers(0, 2000),
)
def test_calls_of_a_function_that_were_dropped_are_found(
    scratch: Path, tasks: list[list[bytes]], budget: int, place: int
) -> None:
    """The next and the previous call, those that raised, and which call it is, over several threads."""
    folder = scratch.parent / "recorded"
    folder.mkdir(exist_ok=True)
    path = record_chunks(folder, *tasks)
    with funcgraph.open(path) as trace, funcgraph.open(path) as other:
        whole, index = trace.index(most_bytes=ALL), other.index(most_bytes=budget)
        assert index.functions() == whole.functions()
        lanes = whole.lanes()
        begin, end = (lanes[0].begin_ns, lanes[0].end_ns) if lanes else (0, 0)
        time = begin + (end - begin) * place // 2000
        for function in trace.functions:
            for lane in (None, *range(len(lanes))):
                for raised in (False, True):
                    found, expected = (
                        (
                            one.next_call(function, time, lane, raised=raised),
                            one.previous_call(function, time, lane, raised=raised),
                        )
                        for one in (index, whole)
                    )
                    assert [s and s.begin_ns for s in found] == [s and s.begin_ns for s in expected]
                    if lane is not None:
                        assert found == expected
            for span in (whole.next_call(function, time), whole.previous_call(function, time)):
                if span:
                    assert index.number_of(span) == whole.number_of(span)


def test_calls_are_found_in_any_block(tmp_path: Path) -> None:
    """One function is called once in 5,000 calls of another, over several blocks of counts."""
    chunks = [
        b"".join(leaf(S + 1000 * k + 10 * i, int(k % 100 == 0 and i == 7), 0, 3) for i in range(50))
        for k in range(500)
    ]
    with funcgraph.open(record_chunks(tmp_path, chunks)) as trace:
        index = trace.index(most_bytes=1000)
        rare = trace.functions[1]
        assert index.resolution_ns > 3
        found, span = [], index.next_call(rare, 0)
        while span:
            found.append((span.begin_ns - S, index.number_of(span)))
            span = index.next_call(rare, span.begin_ns)
        assert found == [(100_000 * n + 70, n + 1) for n in range(5)]
        span = index.previous_call(rare, 2**63)
        assert span
        assert span.begin_ns == S + 400_070
        assert index.next_call(rare, 0, raised=True) is None


def test_a_picture_of_calls_from_the_file_stays_bounded(tmp_path: Path) -> None:
    chunks = [
        b"".join(leaf(S + 16 * i, 0, 0, 1 + i % 7) for i in range(20 * k, 20 * k + 20)) for k in range(50)
    ]
    path = record_chunks(tmp_path, chunks)
    with funcgraph.open(path) as trace:
        index = trace.index(most_bytes=1)
        counts = []
        for pixels in (1, 4, 1000, 16000):
            rows = index.spans(0, S, S + 16000, pixels)
            assert len(rows) <= 64 * (pixels + 2)
            counts.append(sum(rows.count))
    assert index.resolution_ns > 16
    assert counts == [1000] * 4


def test_only_the_chunks_of_a_time_are_read_for_it(tmp_path: Path) -> None:
    """Others may be damaged since."""
    path = record_chunks(
        tmp_path, [b"".join(leaf(S + 1000 * k + 2 * i, 0, 0, 1) for i in range(40)) for k in range(64)]
    )
    with funcgraph.open(path) as trace:
        index = trace.index(most_bytes=1)
        data = bytearray(path.read_bytes())
        first, last = data.index(b"FGCK\x03"), data.rindex(b"FGCK\x03")
        data[first + 72 : first + 80] = b"damaged!"
        path.write_bytes(data)
        assert index.resolution_ns > 1
        assert index.call_at(0, S) is None  # its chunk is lost now
        span = index.call_at(0, S + 63_000)
        assert span
        assert (span.begin_ns, span.end_ns, span.ended) == (S + 63_000, S + 63_001, "return")
    assert first < last


def test_tasks_in_one_lane_of_a_file_are_lanes_of_their_own(scratch: Path) -> None:
    trace = tracefile.Trace(["m.f"])
    task = trace.task(7, "first")
    task.enter(1000, 0, 0)
    other = trace.task(8, "second", lane=0)
    other.enter(2000, 0, 0)
    other.leave(2500, 0, 0, calltime=2000)
    trace.save(scratch)
    with funcgraph.open(scratch) as opened:
        lanes = opened.lanes()
        calls = [opened.call_at(lane, time) for lane in lanes for time in (1000, 2000)]
    assert [lane.task.tid for lane in lanes] == [7, 8]
    assert [call and call.ended for call in calls] == ["open", None, None, "return"]


def test_a_call_of_a_kernel_is_one_span_though_its_thread_moves() -> None:
    """Lanes are threads, not CPUs."""
    with funcgraph.open(Path(__file__).parents[1] / "data" / "graph.dat") as trace:
        calls = Counter((call.begin_ns, call.end_ns, call.depth) for call in trace.calls())
        lanes = trace.lanes()
        spans = [
            span
            for lane in lanes
            for span in stretches(trace.spans(lane, lane.begin_ns, lane.end_ns + 1, 2**32 - 1))
        ]
    assert Counter((span.begin, span.end, span.depth) for span in spans if span.ended == "return") == calls
    assert sum(lane.calls for lane in lanes) == len(spans)
