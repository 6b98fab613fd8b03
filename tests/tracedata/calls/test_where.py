"""`--where`: the calls whose values meet an event filter, with calls around and below them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import TRACE_EXAMPLES
from tracefile import Trace, values
from valued_calls import STEPS as VALUED_STEPS
from valued_calls import Call, Run, Stretch
from valued_calls import Step as ValuedStep

import funcgraph
from funcgraph import answers, cli
from funcgraph.tracedata import Selection, SelectionError
from tracedata.calls.test_selection import lost_records
from tracedata.programs import STEPS, Program, Step

pytestmark = pytest.mark.one_python

S = 1_000_000_000

# A filter, and what it means for a call of the model. What is not known of a call is not equal to anything.
FILTERS: dict[str, Callable[[Call], bool]] = {
    "n == 1": lambda call: call.argument == 1,
    "n > 0 && ret == 0": lambda call: call.argument > 0 and call.result == 0,
    "ret != 1": lambda call: call.result != 1,
    "raised": lambda call: call.raised is not None,
    'exc ~ "OS*" || n == 2': lambda call: call.argument == 2 or (call.raised or "  ")[0] == "OSError",
    "duration >= 0.03": lambda call: call.ended and call.ran >= 30,
    "!(duration >= 0)": lambda call: not call.ended,
    "own < 0.022": lambda call: call.ended and call.own < 22,
}


def expected(run: Run, meets: Callable[[Call], bool], callers: int, below: bool) -> list[tuple[int, int]]:
    """Return the times and depths of the events that are shown."""
    chosen = {stretch for call in run.calls if meets(call) for stretch in call.stretches}
    shown = {
        stretch for one in chosen for stretch in (one, *(one.around[-callers:] if callers else ()))
    } | {
        stretch
        for call in run.calls
        for stretch in call.stretches
        if below and any(around in chosen for around in stretch.around)
    }  # fmt: skip

    def depth(stretch: Stretch) -> int:
        return sum(around in shown for around in stretch.around)

    times = [(time, depth(one)) for one in shown for time in (one.begin, one.end) if time is not None]
    return sorted(times)


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(
    steps=VALUED_STEPS,
    text=st.sampled_from(list(FILTERS)),
    callers=st.integers(0, 2),
    below=st.booleans(),
)
def test_the_calls_that_a_filter_accepts_are_shown(
    tmp_path_factory: pytest.TempPathFactory, steps: list[ValuedStep], text: str, callers: int, below: bool
) -> None:
    """Broken by: a call that another one's mark, value or time goes to, however calls stop and go on."""
    run = Run(steps)
    if not run.calls:
        return
    path = run.trace.save(tmp_path_factory.getbasetemp() / "where.dat")
    selection = Selection(where=text, callers=callers, below=below)
    with funcgraph.open(path) as trace:
        found = [(event.time_ns, event.depth) for event in trace.events(select=selection)]
    assert found == expected(run, FILTERS[text], callers, below)


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(steps=STEPS, dropped=st.sets(st.integers(0, 60), max_size=3), task=st.sampled_from([(), ("t1",)]))
def test_a_filter_for_all_calls_leaves_what_a_pattern_for_all_leaves(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], dropped: set[int], task: tuple[str, ...]
) -> None:
    """Also if records were lost, and if one task is read. Broken by: marks that are counted otherwise than
    the events that they belong to."""
    with lost_records(dropped):
        program = Program(steps)
    path = program.trace.save(tmp_path_factory.getbasetemp() / "all.dat")
    with funcgraph.open(path) as trace:
        if task and not any(one.name == "t1" for one in trace.tasks):
            return
        plain, where = (
            [(event.time_ns, event.kind, event.depth) for event in trace.events(select=selection)]
            for selection in (
                Selection(tasks=task, functions=("*",)),
                Selection(tasks=task, where="raised || !raised"),
            )
        )
    assert where == plain


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """m.a(x='1,a') { m.b(y=5) { m.c(x=b'1,b') raises } } and m.c() without values, twice."""
    trace = Trace([("m", "a", "", 1, 0, ["x"]), ("m", "b", "", 2, 0, ["y"]), ("m", "c", "", 3, 0, ["x"])])
    task = trace.task(69, "work")
    for start in (S, 2 * S):
        task.enter(start, 0, 0, args=values("1,a"))
        task.enter(start + 10, 1, 1, args=values(5))
        task.enter(start + 20, 2, 2, args=values(b"1,b"))
        task.leave(start + 1020, 2, 2, calltime=start + 20, result=values(None))
        task.leave(start + 1030, 1, 1, calltime=start + 10, result=values(0))
        task.leave(start + 1040, 0, 0, calltime=start, result=values(1))
        task.enter(start + 1050, 2, 0)
        task.leave(start + 1060, 2, 0, calltime=start + 1050)
    return trace.save(tmp_path / "trace.dat")


def names(path: Path, **selection: object) -> list[str]:
    with funcgraph.open(path) as trace:
        calls = trace.calls(select=Selection(**selection))  # type: ignore[arg-type]
        return [call.function.name if call.function else "" for call in calls]


def test_it_is_joined_with_the_other_choices(nested: Path) -> None:
    assert names(nested, where='x ~ "1,*"') == ["m.c", "m.a"] * 2
    assert names(nested, where='x ~ "1,*"', functions=("m.a",)) == ["m.a"] * 2
    assert names(nested, where='x ~ "1,*"', graph=("m.b",)) == ["m.c"] * 2
    assert names(nested, where='x ~ "1,*"', end="+0.5") == ["m.c", "m.a"]
    assert names(nested, where="duration >= 1.03") == ["m.a"] * 2
    assert names(nested, where="own > 0.5") == ["m.c"] * 2
    assert names(nested, where="y == 5", callers=1, below=True) == ["m.c", "m.b", "m.a"] * 2
    assert names(nested, where="x == None || common_pid == 70") == []
    with funcgraph.open(nested) as trace:
        found = answers.values(trace, "m.*", select=Selection(where="y == 5"))
        assert [one.function.name for one in found] == ["m.b"]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"where": "z == 3"}, r"--where 'z == 3': Field not found \(Invalid argument\)\n  z == 3\n    \^\n"),
        ({"where": "x >"}, r"Invalid value .*\n  x >\n      \^"),
        ({"where": ""}, "a filter is needed"),
        ({"where": "CPU == 1"}, "a trace has no CPU"),
        ({"where": "raised", "callers": -1}, "--callers -1: must be 0 to"),
        ({"callers": 1}, "--callers N and --below need --where"),
        ({"below": True}, "--callers N and --below need --where"),
    ],
)
def test_a_bad_filter_is_refused_with_its_place(
    nested: Path, selection: dict[str, object], message: str
) -> None:
    with pytest.raises(SelectionError, match=message):
        names(nested, **selection)


PROGRAM = """
def price(sku, amount):
    if sku == "bad":
        raise ValueError(sku)
    return len(sku) * amount

def total(order):
    return sum([price(sku, amount) for amount, sku in enumerate(order)])

def query(sql):
    return total(["2"])

total(["1,a", "2,b", "1,zz"])
try:
    total(["bad"])
except ValueError:
    pass
query("SELECT " + "x" * 100 + " FROM needle")
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("where")
    (folder / "shop.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "funcgraph", "record", "-q", "-l", "__main__.*"]
    for name, flags in (("full.fg", ["--args", "--retval", "--values", "1"]), ("bare.fg", [])):
        subprocess.run([*command, "-o", name, *flags, "shop.py"], cwd=folder, check=True, capture_output=True)
    return folder


def report(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[list[str], str]:
    flags = ["--no-pager", "-O", "nofuncgraph-duration", "-O", "nofuncgraph-overhead"]
    status = cli.main(["report", *flags, *words])
    out, err = capfd.readouterr()
    assert (status == 0) == (not err)
    return [line.strip() for line in out.splitlines() if not line.startswith("#")], err


def test_a_report_of_a_real_program_shows_these_calls_alone(
    recorded: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trace = str(recorded / "full.fg")
    price = "__main__.price(sku='1,a', amount=0); /* ret=0 */"
    assert report(capfd, trace, "--where", 'ret == 0 && sku ~ "1,*"')[0] == [price]
    lines = report(capfd, trace, "--where", 'sku == "1,a"', "--callers", "1")[0]
    assert lines == ["__main__.total(order=['1,a', '2,b', '1,zz']) {", price, "} /* __main__.total ret=11 */"]
    assert len(report(capfd, trace, "--where", 'exc == "ValueError"')[0]) == 3
    below = report(capfd, trace, "--where", 'sql ~ "*needle"', "--below")[0]
    assert [line.split("(")[0] for line in below][:3] == [
        "__main__.query",
        "__main__.total",
        "__main__.price",
    ]
    status = cli.main(["summary", trace, "--where", "raised"])
    assert status == 0 and "__main__.price" in capfd.readouterr().out


def test_what_was_not_recorded_is_said_with_its_flag(
    recorded: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    trace = str(recorded / "bare.fg")
    assert len(report(capfd, trace, "--where", "raised")[0]) == 3
    for text, flag in (('sku ~ "1"', "--args"), ("ret == 0", "--retval")):
        assert (
            f"are not recorded: funcgraph record {flag} shop.py" in report(capfd, trace, "--where", text)[1]
        )
