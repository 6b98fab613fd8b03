"""Promise: two runs that are compared in C first differ where a slow model says that looks at one event after
the other, in the nesting and with the counts that it says, whatever a trace lacks; and two calls likewise."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sizes import TRACE_EXAMPLES
from tracefile import CLOSE, RAISE, RESUME, RETURN, SUSPEND, Trace, deep, value, word

import funcgraph
from funcgraph.diff.first_difference import FirstDifference, Lockstep, Side, lockstep
from funcgraph.tracedata import Selection
from funcgraph.tracedata.selected_time import exact_time
from funcgraph.tracedata.values import PartialValue, Value, decode_values

pytestmark = pytest.mark.one_python

S = 1_000_000_000
STEP_NS = 10
NAMES = ("m.a", "m.b", "m.c")
ENTER, RESUMED = -1, -2
ENDS = (RETURN, RAISE, SUSPEND, CLOSE)
ADDRESS = struct.pack("<Q", 0x7F00DEADBEEF)

#: Each is another value than the others; what is in one row is the same value in two runs.
VALUES: tuple[tuple[bytes, ...], ...] = (
    (value(1), struct.pack("<Bq", 5, 1), value(1) + b"\x13\x00"),  # after that one a value is cut off
    (value(1.0),),
    (value(True),),
    (value(0.0),),
    (value(-0.0),),
    (value(float("nan")), struct.pack("<BQ", 7, 0xFFF8000000000001)),
    (value(2**70),),
    (value(-(2**70)),),
    (value("abc"), struct.pack("<BQH", 15, 3, 3) + b"abc"),
    (value("abd"),),
    (value(b"abc"), struct.pack("<BQH", 16, 3, 3) + b"abc"),
    (value("x" * 60),),
    (value("x" * 61),),
    (value([1]),),
    (value([1, 2]),),
    (value(object), value(object).replace(ADDRESS, bytes(8))),
    (value(set),),
    (word(4, 0xFFFFFFFF),),
    (word(4, 7),),
    (deep("P", ("x", value(1))), deep("P", ("x", struct.pack("<Bq", 5, 1)))),
    (deep("P", ("y", value(1))),),
    (deep("P", ("x", value(2))),),
    (deep("P", ("x", value(object))), deep("P", ("x", value(object).replace(ADDRESS, bytes(8))))),
    (deep("", ("", value(1)), form=1),),
    (deep("", ("", value(1)), form=2),),
    (struct.pack("<BB", 17, 4) + b"date" + value("2026"),),
    (struct.pack("<BB", 17, 4) + b"time" + value("2026"),),
    (struct.pack("<BB", 18, 3) + b"RED",),
    (b"\x0c",),
    (b"\x0d",),
    (b"\x16",),
    (b"\x17",),
    (value(1) + value(2),),
)
PAYLOADS = st.one_of(st.just(b""), st.sampled_from([one for row in VALUES for one in row]))


class Moment(NamedTuple):
    """A beginning or an end. kind: ENTER, RESUMED or one of ENDS."""

    kind: int
    function: int
    depth: int
    payload: bytes
    time: int = 0

    @property
    def code(self) -> tuple[int, int]:
        return self.function, self.depth


MOMENTS = st.builds(
    Moment,
    st.sampled_from((ENTER, ENTER, ENTER, RESUMED, *ENDS)),
    st.integers(0, len(NAMES) - 1),
    st.integers(0, 3),
    PAYLOADS,
)
#: What is done to a run at a place: nothing is left there, or another moment comes, before or instead.
EDITS = st.lists(
    st.tuples(st.integers(0, 40), st.sampled_from(("drop", "insert", "replace", "value", "kind")), MOMENTS),
    max_size=3,
)


def edited(moments: Sequence[Moment], edits: list[tuple[int, str, Moment]]) -> list[Moment]:
    made = list(moments)
    for place, how, moment in edits:
        at = place % (len(made) + 1)
        if how == "insert":
            made.insert(at, moment)
        elif at < len(made):
            there = made[at]
            is_end = there.kind in ENDS and moment.kind in ENDS
            instead = {
                "drop": [],
                "replace": [moment],
                "value": [there._replace(payload=moment.payload)],
                "kind": [there._replace(kind=moment.kind) if is_end else there],
            }
            made[at : at + 1] = instead[how]
    return made


def saved(path: Path, moments: Sequence[Moment]) -> tuple[funcgraph.Trace, list[Moment]]:
    """Write a trace, each moment 10 ns after the one before; return it, and the moments with their times."""
    trace = Trace([("m", name[2:], "/m.py", 1, 0, ["x"]) for name in NAMES])
    task = trace.task(69, "work")
    timed = [moment._replace(time=S + STEP_NS * place) for place, moment in enumerate(moments)]
    for kind, function, depth, payload, time in timed:
        if kind == ENTER:
            task.enter(time, function, depth, args=payload)
        elif kind == RESUMED:
            task.enter(time, function, depth, kind=RESUME, start=S, args=payload)
        else:
            task.leave(time, function, depth, calltime=time, kind=kind, result=payload)
    return funcgraph.open(trace.save(path)), timed


# ---- the model


def lasting(value: Value) -> tuple[object, object]:
    """Return a value without what differs from run to run, and so that 1, 1.0 and True differ."""
    if isinstance(value, PartialValue):
        parts = tuple((lasting(key), lasting(part)) for key, part in value.parts)
        return replace(value, address=0, parts=()), parts
    return type(value).__name__, repr(value)


def differ(one: Moment, other: Moment) -> bool:
    if one.kind != other.kind:
        return True
    if not one.payload or not other.payload:
        return False
    first, second = (tuple(map(lasting, decode_values(moment.payload))) for moment in (one, other))
    return first != second


def first_value(a: Sequence[Moment], b: Sequence[Moment]) -> tuple[int, Moment, Moment] | None:
    """Return where values first differ: how many calls began by then, and the moments of both."""
    count = 0
    for one, other in zip(a, b, strict=False):
        if one.code != other.code or (one.kind == ENTER) != (other.kind == ENTER):
            return None
        count += one.kind == ENTER
        if differ(one, other):
            return count, one, other
    return None


def nesting(entries: Sequence[Moment], depth: int) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...]]:
    """Return the calls around the one after these, and the last of these."""
    stack: list[str] = []
    for one in entries:
        del stack[one.depth :]
        stack += [NAMES[one.function]] * (one.depth + 1 - len(stack))
    before = tuple((one.depth, NAMES[one.function]) for one in entries[-3:])
    return tuple(stack[:depth]), before


class Expected(NamedTuple):
    """What the model finds. value: what differs, how many calls came before, path, calls before, times."""

    value: tuple[object, ...] | None
    parting: FirstDifference | None
    after: tuple[tuple[tuple[int, str], ...], ...]
    counts: tuple[Counter[str], ...]
    roots: tuple[int, tuple[int, int]] | None


def model(a: Sequence[Moment], b: Sequence[Moment]) -> Expected:
    sides = [[one for one in side if one.kind != RESUMED] for side in (a, b)]
    calls = [[one for one in side if one.kind == ENTER] for side in sides]
    place = next(
        (i for i, (one, other) in enumerate(zip(*calls, strict=False)) if one.code != other.code),
        min(map(len, calls)),
    )
    ends = [side[place] if place < len(side) else None for side in calls]
    parting = None
    if ends != [None, None]:
        path, before = nesting(calls[0][:place], max(end.depth for end in ends if end))
        shown = [end and (end.depth, NAMES[end.function], end.time) for end in ends]
        parting = FirstDifference("call", place, path, before, *shown)
    value = None
    begun = place
    if found := first_value(*sides):
        begun, one, other = found
        is_entry = one.kind == ENTER
        count = begun - is_entry
        times = one.time, other.time
        value = "arguments" if is_entry else "result", count, *nesting(calls[0][:count], one.depth), times
    roots = [[one.time for one in side[:begun] if not one.depth] for side in calls]
    return Expected(
        value,
        parting,
        tuple(tuple((one.depth, NAMES[one.function]) for one in side[place:][:5]) for side in calls),
        tuple(Counter(NAMES[one.function] for one in side) for side in calls),
        (len(roots[0]), (roots[0][-1], roots[1][-1]) if roots[0] else (0, 0)) if value or parting else None,
    )


def check(found: Lockstep, expected: Expected) -> None:
    assert found.parting == expected.parting
    assert found.counts == expected.counts
    if expected.parting:
        assert found.after == expected.after
    shown = None
    if (at := found.value) is not None:
        assert at.a is not None
        assert at.b is not None
        shown = at.what, at.calls, at.path, at.before, (at.a[2], at.b[2])
    assert shown == expected.value
    if expected.roots:
        assert (found.nr_roots, found.roots_ns) == expected.roots


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lockstep")


ONE_CALL = [Moment(ENTER, 0, 0, b""), Moment(RETURN, 0, 0, b"")]
SUSPENDED = [Moment(ENTER, 0, 0, b""), Moment(SUSPEND, 0, 0, b"")]


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(common=st.lists(MOMENTS, max_size=40), edits=EDITS)
@example(ONE_CALL, [(1, "drop", ONE_CALL[0])])  # an end was lost
@example(ONE_CALL, [(1, "value", Moment(RETURN, 0, 0, b"")), (2, "insert", ONE_CALL[0])])
@example(ONE_CALL, [(1, "kind", Moment(RAISE, 0, 0, b""))])
def test_runs_first_differ_where_the_model_says(
    folder: Path, common: list[Moment], edits: list[tuple[int, str, Moment]]
) -> None:
    first, a = saved(folder / "a.dat", common)
    second, b = saved(folder / "b.dat", edited(common, edits))
    with first, second:
        check(lockstep(Side(first, None), Side(second, None)), model(a, b))


@pytest.mark.parametrize("row", range(len(VALUES)))
def test_a_value_is_equal_to_itself_in_another_run_and_to_no_other(folder: Path, row: int) -> None:
    """Of all pairs of values those in one row are equal. The model says so, too."""
    for own, other in ((own, other) for own in VALUES[row] for ones in VALUES for other in ones):
        (a, first), (b, second) = (
            saved(folder / name, [Moment(ENTER, 0, 0, payload)])
            for name, payload in (("a.dat", own), ("b.dat", other))
        )
        with a, b:
            found = lockstep(Side(a, None), Side(b, None)).value
        assert (found is None) == (other in VALUES[row]), (own, other)
        assert (found is None) == (not differ(first[0], second[0]))


# ---- one call of each


def of_root(moments: Sequence[Moment], place: int) -> list[Moment]:
    """Return the moments of the call that begins there, in depths from it on."""
    outer = moments[place].depth
    found = [moments[place]]
    for moment in moments[place + 1 :]:
        if moment.kind == RESUMED:
            continue
        if moment.depth <= outer and moment.kind == ENTER:
            break
        found.append(moment)
        if moment.depth <= outer and moment.kind != SUSPEND:
            break
    return [moment._replace(depth=max(moment.depth - outer, 0)) for moment in found]


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(
    common=st.lists(MOMENTS, min_size=1, max_size=40),
    edits=EDITS,
    places=st.tuples(*[st.integers(0, 40)] * 2),
)
@example([*SUSPENDED, Moment(ENTER, 1, 1, b"")], [(2, "drop", SUSPENDED[0])], (0, 0))
def test_calls_first_differ_where_the_model_says(
    folder: Path, common: list[Moment], edits: list[tuple[int, str, Moment]], places: tuple[int, int]
) -> None:
    """Whatever is called around them, before and after, in the same thread."""
    runs = [saved(folder / "a.dat", common), saved(folder / "b.dat", edited(common, edits))]
    sides: list[Side] = []
    expected: list[list[Moment]] = []
    for (trace, moments), place in zip(runs, places, strict=True):
        begins = [at for at, moment in enumerate(moments) if moment.kind == ENTER]
        if not begins:
            return
        at = begins[place % len(begins)]
        begin = moments[at].time
        window = Selection(begin=exact_time(trace.clock, begin))
        sides.append(Side(trace, window, NAMES[moments[at].function], begin))
        expected.append(of_root(moments, at))
    with runs[0][0], runs[1][0]:
        check(lockstep(*sides), model(*expected))


def test_what_else_begins_or_ends_at_the_time_of_a_call_is_not_of_it(folder: Path) -> None:
    def run(name: str, *, has_neighbours: bool) -> tuple[funcgraph.Trace, Side]:
        trace = Trace(list(NAMES))
        task = trace.task(69)
        if has_neighbours:
            task.enter(S - 10, 1, 1)
            task.leave(S, 1, 1, calltime=S - 10)
            task.enter(S, 2, 1)
            task.leave(S, 2, 1, calltime=S)
        task.enter(S, 0, 1)
        task.enter(S + 10, 1, 2)
        task.leave(S + 20, 1, 2, calltime=S + 10)
        task.leave(S + 30, 0, 1, calltime=S)
        if has_neighbours:
            task.enter(S + 30, 0, 1)
        opened = funcgraph.open(trace.save(folder / name))
        window = Selection(begin=exact_time(opened.clock, S), end=exact_time(opened.clock, S + 30))
        return opened, Side(opened, window, "m.a", S)

    (a, one), (b, other) = run("a.dat", has_neighbours=False), run("b.dat", has_neighbours=True)
    with a, b:
        found = lockstep(one, other)
    assert (found.first, found.counts[0]) == (None, found.counts[1])
    assert found.counts[0] == {"m.a": 1, "m.b": 1}


def test_a_call_whose_beginning_was_lost_is_compared_by_what_it_calls(folder: Path) -> None:
    def run(name: str, callee: int) -> tuple[funcgraph.Trace, Side]:
        trace = Trace(list(NAMES))
        task = trace.task(69)
        for place, function in enumerate((1, callee)):
            task.enter(S + 20 * place + 10, function, 2)
            task.leave(S + 20 * place + 20, function, 2, calltime=S + 20 * place + 10)
        task.leave(S + 50, 0, 1, calltime=S)
        opened = funcgraph.open(trace.save(folder / name))
        return opened, Side(opened, Selection(begin=exact_time(opened.clock, S)), "m.a", S)

    (a, one), (b, other) = run("a.dat", 1), run("b.dat", 2)
    with a, b:
        found = lockstep(one, other).parting
    assert found == FirstDifference("call", 1, (), ((0, "m.b"),), (0, "m.b", S + 30), (0, "m.c", S + 30))


# ---- damage, and threads


def test_damage_counts_only_before_the_place_where_runs_part(folder: Path) -> None:
    """Unless all that they call is counted."""
    same = [Moment(ENTER, 0, 0, b"")] * 2_000
    other = [Moment(ENTER, 1, 0, b""), *same]
    (a, _), (b, _) = saved(folder / "a.dat", same), saved(folder / "b.dat", other)
    a.close()
    b.close()
    whole = (folder / "a.dat").read_bytes()
    record = struct.pack("<II", 0x10000000, 0)
    at = whole.rindex(record)
    (folder / "cut.dat").write_bytes(whole[: at + 4] + struct.pack("<I", 2**31) + whole[at + 8 :])
    with funcgraph.open(folder / "cut.dat") as cut, funcgraph.open(folder / "b.dat") as b:
        found = lockstep(Side(cut, None), Side(b, None), is_counted=False).parting
        assert found is not None
        assert found.calls == 0
        for sides in ((Side(cut, None), Side(b, None)), (Side(b, None), Side(cut, None))):
            with pytest.raises(funcgraph.TraceError):
                lockstep(*sides)
        with pytest.raises(funcgraph.TraceError):
            lockstep(Side(cut, None), Side(cut, None), is_counted=False)


def test_a_thread_that_begins_after_the_difference_is_an_error_too(folder: Path) -> None:
    trace = Trace(list(NAMES))
    for tid in (69, 70):
        trace.task(tid, "work").enter(S + tid, 0, 0)
    other = Trace(list(NAMES))
    other.task(69, "work").enter(S, 1, 0)
    paths = trace.save(folder / "two.dat"), other.save(folder / "one.dat")
    with funcgraph.open(paths[0]) as a, funcgraph.open(paths[1]) as b:
        for sides in ((Side(a, None), Side(b, None)), (Side(b, None), Side(a, None))):
            with pytest.raises(
                ValueError, match=r"two\.dat has calls of several threads: work \(69\), work \(70\)"
            ):
                lockstep(*sides, is_counted=False)


def test_arguments_that_are_impossible_are_refused(folder: Path) -> None:
    opened, _ = saved(folder / "a.dat", [Moment(ENTER, 0, 0, b"")])
    with opened as trace:
        reading = trace.reading(None)
        words = [number.to_bytes(4, "little") for number in (0, 1, 2, 3)]

        def asked(names: bytes, root: int, nr_names: int) -> Any:
            side = (*reading[1:5], names, root, 0)
            return reading.reader.lockstep(side, reading.reader, side, nr_names, 0)

        assert asked(b"".join(words), -1, 4)[0] is None
        for names, root, nr_names in ((words, -1, 3), (words[:3], -1, 4), (words, 4, 4), (words, -2, 4)):
            with pytest.raises(ValueError, match="name"):
                asked(b"".join(names), root, nr_names)
