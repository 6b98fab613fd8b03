"""Selections: what report, summary and the iterators read equals a slow model, for random programs."""

from __future__ import annotations

import json
import random
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracefile import Task, Trace, address, head

import funcgraph
from funcgraph import cli
from funcgraph.tracedata import Event, Selection, SelectionError, TraceFile
from tracedata.programs import STEPS, Program, Step

pytestmark = pytest.mark.one_python

DATA = Path(__file__).parents[1] / "data"
S = 1_000_000_000
ENTRIES, EXITS = ("entry", "resume"), ("return", "raise", "suspend", "close")

SELECTIONS = st.builds(
    Selection,
    functions=st.sampled_from([(), (), ("m.a",), ("m.[ab]", "m.gen"), ("*",)]),
    graph=st.sampled_from([(), (), ("m.b",), ("m.gen", "m.c")]),
    begin=st.sampled_from([None, None, "+0.001", "+0.02"]),
    end=st.sampled_from([None, None, "+0.01", "-0.005"]),
    max_depth=st.sampled_from([None, None, 1, 2, 4]),
    longer_us=st.sampled_from([None, None, 0.5, 300, 2000]),
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("selection") / "trace.dat"


@dataclass
class Line:
    """An event of one task, and what the model says of it."""

    event: Event
    depth: int = 0
    is_shown: bool = True  # by function, callers and depth
    long: bool = True


@dataclass
class Open:
    line: Line
    inside: bool
    waited: int = 0


class Model:
    """What a selection leaves of one task's events. It goes over them once with the whole past in hand."""

    def __init__(self, selection: Selection, names: dict[str, set[str]]) -> None:
        self.selection, self.names = selection, names
        self.stack: list[Open | None] = []

    def lines(self, events: list[Event]) -> Iterator[Line]:
        lines = [Line(event) for event in events]
        for line in lines:
            if line.event.kind in ENTRIES:
                self.enter(line)
            elif line.event.kind in EXITS:
                self.leave(line)
            elif line.event.kind == "wait":
                for call in filter(None, self.stack):
                    call.waited += line.event.number
        if events:
            self.cut(0, events[-1].time_ns)
        return iter(lines)

    def around(self) -> list[Open]:
        return [call for call in self.stack if call is not None]

    def place(self, line: Line) -> bool:
        """Decide about the call of a line, which is at the top of the stack. Return whether it is inside."""
        selection, name = self.selection, line.event.function.name if line.event.function else ""
        around = self.around()
        inside = name in self.names["graph"] or any(call.inside for call in around)
        renumbers = bool(selection.functions or selection.graph)
        line.depth = sum(call.line.is_shown for call in around) if renumbers else line.event.depth
        line.is_shown = (
            (not selection.functions or name in self.names["functions"])
            and (not selection.graph or inside)
            and (not selection.max_depth or line.depth < selection.max_depth)
        )
        return inside

    def enter(self, line: Line) -> None:
        self.cut(line.event.depth, line.event.time_ns)
        self.stack += [None] * (line.event.depth - len(self.stack))
        line.long = False
        self.stack.append(Open(line, self.place(line)))

    def leave(self, line: Line) -> None:
        depth = line.event.depth
        self.cut(depth + 1, line.event.time_ns)
        top = self.stack[depth] if len(self.stack) > depth else None
        line.long = self.is_long(line.event.duration_ns or 0)
        if top is None or top.line.event.function != line.event.function:
            self.cut(depth, line.event.time_ns)
            self.stack += [None] * (depth - len(self.stack))
            self.place(line)
        else:
            line.depth, line.is_shown = top.line.depth, top.line.is_shown
            top.line.long = line.long = line.long or top.line.long
            self.stack.pop()
        if line.long:
            for call in self.around():
                call.line.long = True

    def cut(self, depth: int, now: int) -> None:
        """End the calls at `depth` and deeper, whose ends are not in the trace."""
        while len(self.stack) > depth:
            call = self.stack[-1]
            if call and self.is_long(max(now - call.line.event.time_ns - call.waited, 0)):
                for one in self.around():
                    one.line.long = True
            self.stack.pop()

    def is_long(self, ran_ns: int) -> bool:
        return ran_ns >= (self.selection.longer_us or 0) * 1000


def expected(trace: funcgraph.Trace, selection: Selection) -> list[tuple[Any, ...]]:
    """Return the model's events of the trace, in the trace's order."""
    matching = {
        "m.a": {"m.a"}, "m.[ab]": {"m.a", "m.b"}, "*": {f.name for f in trace.functions},
    }  # fmt: skip
    names = {
        which: {name for pattern in patterns for name in matching.get(pattern, {pattern})}
        for which, patterns in (("functions", selection.functions), ("graph", selection.graph))
    }
    events = list(trace.events())
    first, last = events[0].time_ns, max(event.time_ns for event in events)
    begin = first + int(float(selection.begin) * S) if selection.begin else 0
    end = 2**64
    if selection.end:
        end = max((first if selection.end[0] == "+" else last) + int(float(selection.end) * S), 0)
    if begin > end:
        raise SelectionError
    lines = {}
    for task in trace.tasks:
        mine = [event for event in events if event.task == task]
        lines[task] = Model(selection, names).lines(mine)
    return [
        (event.time_ns, event.kind, event.function, event.task, line.depth if is_call else 0)
        for event in events
        for line in [next(lines[event.task])]
        for is_call in [event.kind in ENTRIES + EXITS]
        if begin <= event.time_ns <= end and line.is_shown and line.long
    ]


@contextmanager
def lost_records(places: set[int]) -> Iterator[None]:
    """Let the records at these places of each task be lost."""
    seen: Counter[int] = Counter()

    def add(task: Task, time: int, payload: bytes, lost: int = 0) -> None:
        seen[task.tid] += 1
        if seen[task.tid] - 1 not in places:
            keep(task, time, payload, lost)

    keep = Task.add
    with patch.object(Task, "add", add):
        yield


def check(path: Path, selection: Selection) -> None:
    """Compare what is read with the model."""
    with funcgraph.open(path) as trace:
        if not any(task.records for task in trace.tasks):
            return
        try:
            model = expected(trace, selection)
        except SelectionError:
            with pytest.raises(SelectionError, match="is later than"):
                trace.events(select=selection)
            return
        found = [(e.time_ns, e.kind, e.function, e.task, e.depth) for e in trace.events(select=selection)]
        assert found == model


@settings(max_examples=100, deadline=None)
@given(steps=STEPS, selection=SELECTIONS, dropped=st.sets(st.integers(0, 60), max_size=3))
def test_a_selection_leaves_the_models_events(
    scratch: Path, steps: list[Step], selection: Selection, dropped: set[int]
) -> None:
    """`dropped`: records of a task that were lost, in the middle of calls."""
    with lost_records(dropped):
        program = Program(steps)
    program.trace.save(scratch)
    check(scratch, selection)


WHAT = ("call", "call", "call", "return", "return", "raise", "suspend", "resume", "close", "wait")


@pytest.mark.parametrize("seed", range(8))
def test_a_selection_of_a_long_program_leaves_the_models_events(scratch: Path, seed: int) -> None:
    source = random.Random(seed)
    steps = [
        Step(source.randrange(3), source.choice(WHAT), source.randrange(4), source.randint(1, 10**6))
        for _ in range(400)
    ]
    with lost_records({source.randrange(130) for _ in range(seed)}):
        program = Program(steps)
    program.trace.save(scratch)
    for selection in (
        Selection(functions=("m.a", "m.gen")),
        Selection(graph=("m.b",)),
        Selection(functions=("m.[ab]", "m.gen"), graph=("m.gen", "m.c"), max_depth=3),
        Selection(max_depth=2),
        Selection(longer_us=source.choice((1, 500, 1500, 4000, 20000))),
        Selection(functions=("m.a",), longer_us=source.choice((1, 500, 1500, 4000, 20000))),
        Selection(graph=("m.b",), begin="+0.02", end="-0.03", longer_us=source.choice((500, 1500, 4000))),
    ):
        check(scratch, selection)


def calls_within(path: Path, **selection: Any) -> list[tuple[str, int, int | None]]:
    with funcgraph.open(path) as trace:
        return [
            (call.function.name if call.function else "?", call.depth, call.duration_ns)
            for call in trace.calls(select=Selection(**selection))
        ]


def text_of(path: Path, **selection: Any) -> list[str]:
    """Return the report without its header, with the columns left of the calls taken off."""
    text = b"".join(TraceFile(path).report(select=Selection(**selection))).decode()
    return [line.rpartition("|  ")[2] for line in text.splitlines() if not line.startswith("#")]


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """a() { b() { c() {} } } at 1 s, 10 us for each level; then an open b() { c()."""
    trace = Trace(["m.a", "m.b", "m.c"])
    task = trace.task(69, "work")
    for function, time in enumerate((S, S + 10_000, S + 20_000)):
        task.enter(time, function, function)
    for function, time in ((2, S + 30_000), (1, S + 40_000), (0, S + 50_000)):
        task.leave(time, function, function, calltime=S + function * 10_000)
    task.message(S + 60_000, b"between")
    task.enter(S + 70_000, 1, 0)
    task.enter(S + 90_000, 2, 1)
    return trace.save(tmp_path / "trace.dat")


def test_calls_are_nested_within_the_shown_calls_only(nested: Path) -> None:
    assert text_of(nested, functions=("m.a", "m.c")) == [
        "m.a() {", "  m.c();", "}", "/* between */", "m.c() {",
    ]  # fmt: skip
    assert text_of(nested, graph=("m.b",)) == [
        "m.b() {", "  m.c();", "}", "/* between */", "m.b() {", "  m.c() {",
    ]  # fmt: skip
    assert text_of(nested, graph=("m.b",), max_depth=1)[:1] == ["m.b();"]
    assert calls_within(nested, functions=("m.c",)) == [("m.c", 0, 10_000)]


def test_a_call_cut_by_a_time_shows_the_end_that_lies_within(nested: Path) -> None:
    assert text_of(nested, begin="1.000030", end="1.000045") == ["    } /* m.c */", "  } /* m.b */"]
    assert text_of(nested, begin="1.000010", end="1.000010") == ["  m.b() {"]
    assert text_of(nested, begin="-0.00002") == ["m.b() {", "  m.c() {"]
    assert text_of(nested, begin="+0.00006", end="+0.00006") == ["/* between */"]


def test_a_time_stands_for_all_that_print_so(tmp_path: Path) -> None:
    trace = Trace(["m.a"])
    task = trace.task(69)
    for time in (S + 1_999, S + 2_000, S + 2_999, S + 3_000):
        task.leave(time, 0, 0, calltime=time)
    path = trace.save(tmp_path / "trace.dat")
    assert len(calls_within(path, begin="1.000002", end="1.000002")) == 2
    assert len(calls_within(path, begin="1.000002000", end="1.000002000")) == 1


def test_an_open_call_has_run_until_the_last_event(nested: Path) -> None:
    assert text_of(nested, longer_us=20)[-1] == "m.b() {"
    assert "m.b() {" not in text_of(nested, longer_us=20.001)[3:]
    assert calls_within(nested, longer_us=30) == [("m.b", 1, 30_000), ("m.a", 0, 50_000)]


def test_losses_go_to_the_next_shown_event(tmp_path: Path) -> None:
    trace = Trace(["m.a", "m.b"])
    task = trace.task(69)
    for number in range(6):
        for time, depth, function in ((10, 0, 1), (20, 1, 0)):
            task.enter(S + 100 * number + time, function, depth, lost=number if depth else 1)
        task.leave(S + 100 * number + 30, 0, 1, calltime=S + 100 * number + 20)
        task.leave(S + 100 * number + 50, 1, 0, calltime=S + 100 * number + 10)
    path = trace.save(tmp_path / "trace.dat")
    with funcgraph.open(path) as read:
        for selection in (
            {"functions": ("m.a",)}, {"functions": ("m.b",)}, {"longer_us": 0.001}, {"longer_us": 0.02},
        ):  # fmt: skip
            found = [event.lost or 0 for event in read.events(select=Selection(**selection))]
            assert sum(found) == sum(range(6)) + 6
        assert not list(read.events(select=Selection(longer_us=1)))


def test_the_summary_counts_what_is_selected(nested: Path) -> None:
    file = TraceFile(nested)
    rows = {row.name: row for row in file.summary(select=Selection(functions=("m.a", "m.c")))}
    assert {name: (row.calls, row.self_ns) for name, row in rows.items()} == {
        "m.a": (1, 40_000), "m.c": (2, 10_000),
    }  # fmt: skip
    assert not file.summary(select=Selection(graph=("m.c",), max_depth=1, longer_us=11))


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"functions": ("m.q",)}, "-l 'm.q': no function of the trace matches; similar names: m.a, m.b, m.c"),
        ({"graph": ("m.[a",)}, "-g 'm.[a': '[' without its ']' (column 3)"),
        (
            {"begin": "soon"},
            "--from 'soon': must be seconds, as 12.345678; +N: after the first event; -N: before",
        ),
        ({"end": "1e3"}, "--to '1e3': must be seconds"),
        ({"begin": "2", "end": "1"}, "--from 2 is later than --to 1"),
        ({"max_depth": -1}, "--max-depth -1: must be 0 to"),
        ({"longer_us": -2.0}, "--longer -2.0: must be 0 to"),
        ({"longer_us": float("nan")}, "--longer nan: must be 0 to"),
        ({"tasks": ("wrok",)}, "no task 'wrok'; it has: work (69); did you mean 'work'?"),
        ({"buffers": ("one",)}, "no instance 'one'; it has: '' (the top one)"),
        ({"events": ("sched_switch",)}, "no event 'sched_switch' in the trace; it has: overrun, print, rec"),
        ({"events": (": x",)}, "-F ': x': must be [SYSTEM/]NAME[: FILTER]"),
    ],
)
def test_an_impossible_selection_is_refused(nested: Path, selection: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectionError) as info, funcgraph.open(nested) as trace:
        trace.columns(select=Selection(**selection))
    assert message in str(info.value)


def test_a_task_is_found_beside_one_whose_name_cannot_be_encoded(tmp_path: Path) -> None:
    """A program may give a thread any name. Broken by giving the glob a name as it is."""
    trace = Trace(["m.f"])
    for tid, name in ((69, "a\udc80\0b"), (70, "work")):
        task = trace.task(tid, name)
        task.enter(S, 0, 0)
        task.leave(S + 1, 0, 0, calltime=S)
    with funcgraph.open(trace.save(tmp_path / "trace.dat")) as opened:
        found = [list(opened.columns(select=Selection(tasks=(word,)))) for word in ("w*", "a*b")]
    assert [sum(map(len, batches)) for batches in found] == [2, 2]


def test_a_hostile_name_in_a_message_stays_in_its_line(tmp_path: Path) -> None:
    trace = Trace(["m.f\x1b[2J"])
    task = trace.task(69, "a\nb\x1b[2J")
    task.enter(S, 0, 0)
    task.leave(S + 1, 0, 0, calltime=S)
    for selection, message in (
        (Selection(tasks=("x\n",)), r"no task 'x\n'; it has: a\nb\x1b[2J (69)"),
        (
            Selection(functions=("m.f2j",)),
            r"-l 'm.f2j': no function of the trace matches; similar names: m.f\x1b[2J",
        ),
    ):
        with (
            pytest.raises(SelectionError) as info,
            funcgraph.open(trace.save(tmp_path / "trace.dat")) as opened,
        ):
            opened.columns(select=selection)
        assert str(info.value) == message


PAID = ["shop", "paid", 8, "s32 amount 0 8;string who 0 12"]
SENT = ["shop", "sent", 16, "u64 size 0 16"]


@pytest.fixture
def eventful(tmp_path: Path) -> Path:
    """Events of two kinds within calls: paid(amount, who), and sent(size) at m.b."""
    trace = Trace(["m.a", "m.b"], event_types=[PAID, SENT])
    task = trace.task(69, "work")
    task.enter(S, 0, 0)
    for number, who in enumerate((b"ann\0", b"bob\0", b"ann\0")):
        where = 16 | len(who) << 16
        task.add(S + number, head(3000, 69) + struct.pack("<iI", number * 10 - 10, where) + who)
    for size in (5, 500):
        task.add(S + 10 + size, head(3001, 69) + struct.pack("<QQ", address(1), size))
    task.leave(S + 1000, 0, 0, calltime=S)
    return trace.save(tmp_path / "trace.dat")


def test_filters_of_our_own_events_see_the_common_fields(tmp_path: Path) -> None:
    """Of a print, a wait and an overrun: they have no other."""
    trace = Trace(["m.a"])
    for tid in (69, 70):
        task = trace.task(tid, "work")
        task.message(S + tid, b"hello")
        task.wait(S + 10 + tid, 5)
        task.overrun(S + 20 + tid, 3)
    with funcgraph.open(trace.save(tmp_path / "trace.dat")) as opened:
        for event, type_number, kind in (
            ("print", 5, "mark"),
            ("*wait", 2001, "wait"),
            ("overrun", 2002, "overrun"),
        ):
            chosen = Selection(events=(f"{event}: common_pid == 70 && common_type == {type_number}",))
            assert [(found.kind, found.task.tid) for found in opened.events(select=chosen)] == [(kind, 70)]


@pytest.mark.parametrize(
    ("events", "times"),
    [
        (["paid"], [0, 1, 2]),
        (["shop/paid: amount > -10"], [1, 2]),
        (["paid: who == 'ann' && amount != 10"], [0]),
        (["paid:who~'b*'", "sent: size > 100"], [1, 510]),
        (["sent: __probe_ip.function == m.b"], [15, 510]),
        (["*: size == 5"], [15]),
        (["shop/*"], [0, 1, 2, 15, 510]),
    ],
)
def test_event_filters_choose_events(eventful: Path, events: list[str], times: list[int]) -> None:
    with funcgraph.open(eventful) as trace:
        assert [event.time_ns - S for event in trace.events(select=Selection(events=events))] == times
        shown = [event.kind for event in trace.events(select=Selection(events=events, functions=["*"]))]
    assert shown == ["entry", *["event"] * len(times), "return"]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("paid: amuont > 3", "amuont > 3\n"),
        ("paid: amount >", "amount >\n"),
        ("paid: COMM == 'work'", "a trace has no CPU and no comm; --task chooses threads"),
        (
            "payed",
            "no event 'payed' in the trace; it has: overrun, paid, print, recorder_wait, sent; did you",
        ),
    ],
)
def test_a_wrong_event_filter_is_refused(eventful: Path, event: str, message: str) -> None:
    with pytest.raises(SelectionError) as info:
        list(TraceFile(eventful).report(select=Selection(events=[event])))
    assert message in str(info.value)


def test_what_the_function_tracer_recorded_is_selected_by_name(tmp_path: Path) -> None:
    trace = Trace(["m.a", "m.b"], tracer="function")
    task = trace.task(69, "work")
    for function in (0, 1):
        task.function(S + function * 10, function, None)
        task.stack(S + function * 10 + 1, [function, 0])
        task.repeats(S + function * 10 + 2, function, None, 3, S)
    path = trace.save(tmp_path / "trace.dat")
    with funcgraph.open(path) as read:
        for selection in (
            Selection(functions=("m.b",)),
            Selection(graph=("m.b",)),
            Selection(begin="+0.00000001"),
        ):
            found = [(event.kind, event.time_ns - S) for event in read.events(select=selection)]
            assert found == [("function", 10), ("stack", 11), ("repeats", 12)]
        assert not list(read.events(select=Selection(longer_us=1)))


def test_a_recorded_kernels_trace_is_selected() -> None:
    with funcgraph.open(DATA / "graph.dat") as trace:
        everything = list(trace.events())
        names = [event.function.qualname for event in everything if event.function]
        name = max(set(names), key=names.count)
        assert name and [
            (event.time_ns, event.kind, event.task) for event in everything
            if event.kind in (*ENTRIES, *EXITS) and event.function and event.function.qualname == name
        ] == [
            (event.time_ns, event.kind, event.task)
            for event in trace.events(select=Selection(functions=(name,)))
            if event.kind in (*ENTRIES, *EXITS)
        ]  # fmt: skip
    with funcgraph.open(DATA / "fprobe.dat") as trace:
        few, none = (Selection(events=(f"h: count {what}",)) for what in ("== 5 && ret > 0", "!= 5"))
        assert list(trace.events(select=few)) == list(trace.events())
        assert not list(trace.events(select=none))


def test_the_flags_of_the_commands_are_a_selection(nested: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        "-l",
        "m.[bc]",
        "-g",
        "m.a",
        "--from",
        "1.00001",
        "--to=+0.000055",
        "--max-depth",
        "2",
        "--longer",
        "1.5",
    ]
    selection = Selection(
        functions=["m.[bc]"], graph=["m.a"], begin="1.00001", end="+0.000055", max_depth=2, longer_us=1.5
    )
    assert cli.main(["report", str(nested), "--no-pager", *flags]) == 0
    assert capsys.readouterr().out.encode() == b"".join(TraceFile(nested).report(select=selection))
    assert cli.main(["summary", str(nested), "--json", *flags]) == 0
    rows = json.loads(capsys.readouterr().out)["functions"]
    assert {row["name"]: row["calls"] for row in rows} == {"m.b": 1, "m.c": 1}
    assert cli.main(["report", str(nested), "-F", "print"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("/* between */")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--max-depth", "0"], "--max-depth 0: must be more than 0"),
        (["--longer", "nan"], "--longer nan: must be more than 0"),
        (["--longer", "x"], "argument --longer: invalid float value: 'x' (see 'funcgraph report --help')"),
        (["-g", "nobody"], "{path}: -g 'nobody': no function of the trace matches"),
        (["--task", "wrok"], "{path}: no task 'wrok'; it has: work (69); did you mean 'work'?"),
    ],
)
def test_a_wrong_flag_is_one_error(
    nested: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    assert cli.main(["report", str(nested), *flags]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"funcgraph: {message.format(path=nested)}\n")
