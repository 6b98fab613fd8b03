"""`funcgraph diff`: figures are the summary's; verdicts tell differences from noise; runs part somewhere."""

from __future__ import annotations

import json
import math
import random
import re
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import Funcgraph
from hypothesis import given, settings
from hypothesis import strategies as st
from tracefile import Trace

import funcgraph
from funcgraph import cli
from funcgraph.diff.bootstrap import FEW_RUNS, bootstrap
from funcgraph.diff.comparison import compare
from funcgraph.diff.fail_if import ConditionError, parse_condition
from funcgraph.diff.first_difference import first_difference
from funcgraph.diff.welch import quantile, significant, two_sided, welch
from funcgraph.tracedata import SelectionError, TraceFile
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.summary import FunctionSummary
from tracedata.programs import STEPS, Program, Step

S = 1_000_000_000
NAMES = ("m.main", "m.fast", "m.slow", "m.old", "m.new")


def run_of(path: Path, calls: dict[str, tuple[int, int]]) -> Path:
    """Write a run: main() calls each function so often, and each call takes so many ns."""
    trace = Trace(list(NAMES))
    task = trace.task(69, "work")
    now = begin = S
    task.enter(now, 0, 0)
    for name, (count, took) in calls.items():
        for _ in range(count):
            function, entered = NAMES.index(name), now + 10
            task.enter(entered, function, 1)
            now = entered + took
            task.leave(now, function, 1, calltime=entered)
    task.leave(now + 10, 0, 0, calltime=begin)
    return trace.save(path)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    status = cli.main(["diff", *map(str, words)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    return (
        run_of(tmp_path / "a.dat", {"m.fast": (4, 100), "m.slow": (2, 5000), "m.old": (1, 70)}),
        run_of(tmp_path / "b.dat", {"m.fast": (4, 100), "m.slow": (3, 5000), "m.new": (2, 30)}),
    )


@pytest.fixture
def noisy(tmp_path: Path) -> tuple[list[Path], list[Path]]:
    """Three runs of each side: slow takes 1.5 times as long, fast scatters by 20 %."""
    fast, sides = iter((1000, 1200, 900, 1100, 1150, 950)), []
    for side, slow in (("a", (5000, 5050, 4980)), ("b", (7500, 7400, 7560))):
        sides.append(
            [
                run_of(tmp_path / f"{side}{i}.dat", {"m.fast": (3, next(fast)), "m.slow": (2, ns)})
                for i, ns in enumerate(slow)
            ]
        )
    return sides[0], sides[1]


@settings(max_examples=20, deadline=None)
@given(steps=STEPS, others=STEPS)
def test_the_figures_are_the_summarys(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], others: list[Step]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    paths = [Program(s).trace.save(folder / name) for s, name in ((steps, "a.dat"), (others, "b.dat"))]
    summaries = [TraceFile(path).summary() for path in paths]
    comparison = compare(*([rows] for rows in summaries))
    for side, rows in zip("ab", summaries, strict=True):
        expected = {row.name: (row.calls, row.self_ns, row.total_ns, row.min_ns) for row in rows}
        found = {
            f.name: tuple(getattr(figure, side)[0] for figure in f.measures()) for f in comparison.functions
        }
        assert {name: figures for name, figures in found.items() if name in expected} == expected
        assert not any(any(figures) for name, figures in found.items() if name not in expected)
        assert getattr(comparison.whole.calls, side) == [sum(row.calls for row in rows)]


def test_functions_stand_side_by_side(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, *two)
    assert (status, err) == (0, "")
    lines = [line.split() for line in out.splitlines()]
    assert [line[-1] for line in lines[1:6]] == ["m.slow", "m.old", "m.new", "m.main", "m.fast"]
    assert lines[1][:3] == ["2", "3", "1.50x"]
    assert lines[1][3:8] == ["10.000", "us", "15.000", "us", "1.50x"]
    assert lines[2][-2:] == ["gone", "m.old"]
    assert lines[3][-2:] == ["new", "m.new"]
    assert "One run of a side does not tell" in out
    assert len(run(capsys, *two, "--top", 1)[1].splitlines()) == 4


def test_several_runs_tell_differences_from_noise(
    noisy: tuple[list[Path], list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = noisy
    status, out, _ = run(capsys, *a, "--with", *b, "--json")
    assert status == 0
    found = {row["name"]: row for row in json.loads(out)["functions"]}
    assert {name: row["self_ns"]["verdict"] for name, row in found.items()} == {
        "m.slow": "more", "m.fast": "noise", "m.main": "same",
    }  # fmt: skip
    slow = found["m.slow"]["self_ns"]
    assert slow["low"] < 1.5 < slow["high"] < 1.6
    assert found["m.slow"]["calls"]["verdict"] == "same"
    _, out, _ = run(capsys, *a, "--with", *b)
    assert "3 and 3 runs" in out
    assert re.search(r" 1\.[45]\dx \[1\.4\d, 1\.5\d\] .* more +m\.slow$", out, re.MULTILINE)


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        ("calls > 1", True), ("calls > 1.25", False), ("time>=1.4", True), ("time < 1", False),
        ("new == 1", True), ("gone > 1", False), ("m.fast: time != 1", False), ("m.*: total > 1.49", True),
        ("m.slow: calls == 1.5", True), ("m.x*: new > 0", False), ("m.old: time > 0", False),
        ("m.[n]*: new > 0", True),
    ],
)  # fmt: skip
def test_a_condition_decides_the_exit_status(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str], condition: str, fails: bool
) -> None:
    status, out, err = run(capsys, *two, "--fail-if", condition, "--fail-if", "calls > 100")
    assert status == int(fails)
    assert "FUNCTION" in out
    assert err.startswith(f"funcgraph: {' '.join(condition.split())}: ") == fails


def test_noise_fails_no_condition(
    noisy: tuple[list[Path], list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = noisy
    assert run(capsys, *a, "--with", *b, "--fail-if", "m.fast: time > 0")[0] == 0
    assert run(capsys, *a, "--with", *b, "--fail-if", "m.slow: time > 1.4")[0] == 1


@pytest.mark.parametrize(
    ("text", "caret", "expected_value"),
    [
        ("tme > 1.1", 0, "one of time, total, calls, new, gone; did you mean 'time'?"),
        ("time 1.1", 5, "one of > >= < <= == !="),
        ("time => 1", 5, "one of > >= < <= == !="),
        ("time >", 6, "a number, as 1.1"),
        ("time > -1", 7, "a number, as 1.1"),
        ("time > 1.1x", 10, "the end"),
        ("time > 1 and calls > 2", 9, "the end"),
        (": calls > 1", 0, "a pattern of functions before ':'"),
        ("  total > 2", 2, "a pattern of functions before it"),
        ("", 0, "one of time"),
    ],
)
def test_a_wrong_condition_is_pointed_at(text: str, caret: int, expected_value: str) -> None:
    with pytest.raises(ConditionError) as info:
        parse_condition(text)
    _, shown, pointer, hint = str(info.value).splitlines()
    assert (shown, pointer) == (f"  {text}", f"  {' ' * caret}^")
    assert hint.startswith(f"here must be {expected_value}")


def test_wrong_arguments_are_one_error(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    a, b = two
    for words, message in (
        ([a], "two traces, or 'A A ... --with B B ...', must be given; got 1 without --with"),
        ([a, b, a], "got 3 without --with"),
        ([a, b, "--top", 0], "--top 0: must be at least 1"),
        ([a, b, "--fail-if", "x"], "--fail-if: not a condition"),
        ([a, b, "-l", "nobody"], "-l 'nobody': no function of the trace matches"),
        ([a, a.parent / "c.dat"], "c.dat: No such file or directory"),
        ([a, a, "--with", b, "--first-difference"], "--first-difference compares two traces"),
        ([a, b, "--top", 2, "--first-difference"], "--first-difference compares two traces"),
        (
            [a, b, "--fail-if", "m.fats: calls > 1"],
            "no function of the traces matches; similar names: m.fast",
        ),
        ([a, b, "-l", "no\x1b[2J"], "-l 'no\\x1b[2J': "),
    ):
        status, out, err = run(capsys, *words)
        assert (status, out) == (2, "")
        assert message in err


def test_a_damaged_trace_is_named(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    a, b = two
    b.write_bytes(b.read_bytes()[:200])
    status, out, err = run(capsys, a, b)
    assert (status, out) == (2, "")
    assert err.startswith(f"funcgraph: {b}: ")


# ---- the first difference


def calls_of(path: Path, calls: list[tuple[int, int]], tasks: int = 1) -> funcgraph.Trace:
    """Write a trace of calls (function, depth), of which each begins 10 ns after the one before."""
    trace = Trace(list(NAMES))
    for number in range(tasks):
        task = trace.task(69 + number, "work")
        for place, (function, depth) in enumerate(calls):
            task.enter(S + 10 * place, function, depth)
    return funcgraph.open(trace.save(path))


CALLS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=30)


@settings(max_examples=60, deadline=None)
@given(common=CALLS, rests=st.tuples(CALLS, CALLS))
def test_runs_part_at_the_first_call_that_differs(
    tmp_path_factory: pytest.TempPathFactory, common: list[tuple[int, int]], rests: tuple[Any, Any]
) -> None:
    folder = tmp_path_factory.getbasetemp()
    sides = [common + rest for rest in rests]
    place = next((i for i, (x, y) in enumerate(zip(*sides, strict=False)) if x != y), min(map(len, sides)))
    with calls_of(folder / "x.dat", sides[0]) as a, calls_of(folder / "y.dat", sides[1]) as b:
        found = first_difference(a, b)
    if sides[0] == sides[1]:
        assert found is None
        return
    assert found is not None
    assert found.calls == place
    for end, side in ((found.a, sides[0]), (found.b, sides[1])):
        expected = (side[place][1], NAMES[side[place][0]], S + 10 * place) if place < len(side) else None
        assert end == expected
    assert found.before == tuple((depth, NAMES[function]) for function, depth in common_of(sides, place)[-3:])


def common_of(sides: list[list[tuple[int, int]]], place: int) -> list[tuple[int, int]]:
    return sides[0][:place]


def test_the_first_difference_is_printed_in_its_nesting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calls_of(tmp_path / "a.dat", [(0, 0), (1, 1), (2, 2)])
    calls_of(tmp_path / "b.dat", [(0, 0), (1, 1), (1, 1), (2, 2)])
    a, b = tmp_path / "a.dat", tmp_path / "b.dat"
    status, out, err = run(capsys, a, b, "--first-difference")
    assert (status, err) == (1, "")
    assert out.splitlines() == [
        "the first 2 calls are the same",
        "  m.main() {",
        "    m.fast() {",
        f"-     m.slow() ({a}, after 20 ns)",
        f"+   m.fast() ({b}, after 20 ns)",
    ]
    assert run(capsys, a, a, "--first-difference") == (0, "both make the same calls\n", "")
    assert json.loads(run(capsys, a, b, "--first-difference", "--json")[1])["difference"]["calls"] == 2


VALUES = """
import sys
class Thing: pass
def make(): return Thing()
def step(n): return n * 2 if n != int(sys.argv[1]) else sys.argv[2]
def check(n):
    if n == int(sys.argv[3]): raise KeyError(n)
def main(word):
    make()
    for n in range(5):
        step(n)
        try: check(n)
        except KeyError: pass
main(sys.argv[4])
"""


@pytest.fixture
def valued(fg: Funcgraph) -> Callable[..., Path]:
    script = fg.script(VALUES)

    def record(name: str, *words: str, flags: Sequence[str] = ("--args", "--retval")) -> Path:
        done = fg.record("-q", "-o", name, "-l", "__main__.*", *flags, script, *words)
        assert done.returncode == 0, done.stderr
        return fg.folder / name

    return record


def test_runs_part_at_the_first_recorded_value_that_differs(
    valued: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each run has another Thing at another address, which is no difference."""
    base = valued("a.fg", "9", "", "9", "w")
    assert run(capsys, base, valued("same.fg", "9", "", "9", "w"), "--first-difference")[0] == 0
    for words, what, lines in (
        (("3", "x", "9", "w"), "a result differs", ["step() returns 6 (", "step() returns 'x' ("]),
        (("9", "", "2", "w"), "a result differs", ["check() returns None (", "check() raises KeyError ("]),
        (("9", "", "9", "v"), "arguments differ", ["main(word='w') (", "main(word='v') ("]),
    ):
        other = valued("b.fg", *words)
        status, out, err = run(capsys, base, other, "--first-difference")
        assert (status, err) == (1, "")
        first, *_, minus, plus = out.splitlines()
        assert first.endswith(what)
        assert minus.startswith("-") and f"__main__.{lines[0]}{base}," in minus
        assert plus.startswith("+") and f"__main__.{lines[1]}{other}," in plus
        found = json.loads(run(capsys, base, other, "--first-difference", "--json")[1])["difference"]
        assert found["what"] in what
        other.unlink()


def test_values_that_only_one_run_recorded_are_no_difference(
    valued: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    a = valued("a.fg", "9", "", "9", "w")
    b = valued("b.fg", "3", "x", "9", "v", flags=())
    assert run(capsys, a, b, "--first-difference") == (0, "both make the same calls\n", "")


def test_runs_of_several_threads_need_a_choice(tmp_path: Path) -> None:
    with calls_of(tmp_path / "a.dat", [(0, 0)], tasks=2) as a, pytest.raises(SelectionError) as info:
        first_difference(a, a)
    assert "has calls of several threads: work (69), work (70); choose one with --task" in str(info.value)


# ---- statistics


@pytest.mark.parametrize(
    ("t", "degrees", "p"),
    [(0, 5, 1), (12.706204736, 1, 0.05), (2.570581836, 5, 0.05), (2.0422724563, 30, 0.05),
     (3.169272672, 10, 0.01), (1.0, 2.5, 0.404061), (50, 3, 1.7603e-05)],
)  # fmt: skip
def test_students_t_has_the_values_of_tables(t: float, degrees: float, p: float) -> None:
    assert two_sided(t, degrees) == pytest.approx(p, rel=1e-3)


def loaded_runs(source: random.Random, cost_ns: float, count: int = 4) -> list[list[FunctionSummary]]:
    """Return runs on a loaded machine: 200 calls, which take a little more than they cost each.

    In each run another share of the calls waits for the processor, for milliseconds.
    """
    runs = []
    for _ in range(count):
        share = source.uniform(0.02, 0.5)
        calls = [
            round(cost_ns * source.uniform(1.0, 1.3))
            + (round(source.expovariate(1 / 4e6)) if source.random() < share else 0)
            for _ in range(200)
        ]
        function = Function("m", "leaf", "", 1, 0, ())
        runs.append(
            [
                FunctionSummary(
                    function, 200, 0, 0, sum(calls), sum(calls), min(calls), max(calls), 200, sum(calls)
                )
            ]
        )
    return runs


@pytest.mark.one_python
def test_load_does_not_hide_a_difference() -> None:
    """The sums of a few runs are noise then; the shortest call of each run is not."""
    source = random.Random(3)
    found = [compare(loaded_runs(source, 1000), loaded_runs(source, 1600)).functions[0] for _ in range(50)]
    assert sum(row.self_ns.verdict == "more" for row in found) < 25
    assert all(row.own_time.verdict == "more" for row in found)
    for row in found:
        assert row.best_ns.low is not None and row.best_ns.high is not None
        assert 1.4 < row.best_ns.low < row.best_ns.high < 1.8


@pytest.mark.one_python
def test_load_makes_no_more_false_verdicts_than_it_says() -> None:
    source = random.Random(4)
    rows = [compare(loaded_runs(source, 1000), loaded_runs(source, 1000)).functions[0] for _ in range(400)]
    assert sum(row.own_time.verdict in ("more", "less") for row in rows) <= 400 * 0.05 + 13  # 3 sigma


@pytest.mark.one_python
def test_the_smallest_detectable_difference_is_detected_four_times_of_five() -> None:
    source = random.Random(5)
    scatter = 0.1

    def sample(middle: float) -> list[float]:
        return [source.gauss(middle, scatter) for _ in range(6)]

    tests = [welch(sample(0.0), sample(0.0)) for _ in range(300)]
    typical = statistics.median(test.detectable() for test in tests if test is not None)
    found = [welch(sample(0.0), sample(typical)) for _ in range(1000)]
    assert 0.74 < sum(test is not None and test.p < 0.05 for test in found) / 1000 < 0.86


@pytest.mark.parametrize(("a", "b"), [(True, True), (True, False), (False, False)])
def test_diff_says_whether_times_are_cpu_time(
    noisy: tuple[list[Path], list[Path]], capsys: pytest.CaptureFixture[str], fg: Funcgraph, a: bool, b: bool
) -> None:
    script = fg.script("def step(): pass\nfor _ in range(9): step()\n")
    for name, is_cpu in (("a.fg", a), ("b.fg", b)):
        flags = ("-O", "nosleep-time") if is_cpu else ()
        assert fg.record("-q", "-o", name, "-l", "*.step", *flags, script).returncode == 0
    _, out, err = run(capsys, fg.folder / "a.fg", fg.folder / "b.fg")
    assert ("times are CPU time" in out) == (a and b)
    assert ("some runs have CPU time (record -O nosleep-time), others have not" in err) == (a != b)
    many = run(capsys, *noisy[0], "--with", *noisy[1])[1]
    assert "-O nosleep-time records CPU time, which does not depend on the machine's load" in many


def test_diff_says_the_smallest_difference_that_it_could_have_seen(
    noisy: tuple[list[Path], list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = noisy
    _, out, _ = run(capsys, *a, "--with", *b)
    (line,) = [line for line in out.splitlines() if line.startswith("the smallest difference")]
    assert re.fullmatch(
        r"the smallest difference that .*: \d\.\d\dx in all, \d\.\d\dx to \d+\.\d\dx in a function", line
    )
    figure = json.loads(run(capsys, *a, "--with", *b, "--json")[1])["whole"]["self_ns"]
    assert f" {figure['detectable']:.2f}x in all" in line
    assert "smallest" not in run(capsys, a[0], b[0])[1]


@pytest.mark.one_python
def test_welchs_test_is_as_often_wrong_as_it_says() -> None:
    """Of samples of one distribution 5 % differ at 5 %, and the interval has the truth in 95 %."""
    source = random.Random(1)
    rounds = 500
    results = [
        welch([source.gauss(0, 1) for _ in range(4)], [source.gauss(1, 5) for _ in range(6)])
        for _ in range(rounds)
    ]
    covered = sum(abs(r.difference - 1) <= r.margin for r in results if r)
    wrong = sum(
        r.p < 0.05
        for r in (
            welch([source.gauss(0, 1) for _ in range(4)], [source.gauss(0, 5) for _ in range(6)])
            for _ in range(rounds)
        )
        if r
    )
    assert 0.92 < covered / rounds < 0.98
    assert 0.02 < wrong / rounds < 0.08
    assert welch([1.0], [2.0, 3.0]) is None
    same = welch([2.0, 2.0], [2.0, 2.0])
    exact = welch([2.0, 2.0], [3.0, 3.0])
    assert same is not None
    assert same.p == 1
    assert exact is not None
    assert (exact.p, exact.margin) == (0, 0)
    assert not math.isnan(exact.difference)


def test_the_bootstrap_interval_is_that_of_all_ways_to_draw() -> None:
    """Of two runs each, a side's mean is one of three, with known chances: all ends can be counted."""
    a, b = (100.0, 400.0), (500.0, 700.0)
    ends = bootstrap(a, b)
    assert ends == pytest.approx((500 / 400, 700 / 100))  # each of both has a chance of 1 in 16
    assert bootstrap((100, 100), (250, 250)) == pytest.approx((2.5, 2.5))
    assert bootstrap((100,), b) is None
    assert bootstrap(a, (500,)) is None
    assert bootstrap((0, 0), (1, 1)) == (1, 1)


def test_the_same_runs_have_the_same_bootstrap_interval_in_any_order() -> None:
    source = random.Random(6)
    a, b = ([source.lognormvariate(10, 0.2) for _ in range(runs)] for runs in (5, 7))
    ends = bootstrap(a, b)
    for _ in range(5):
        source.shuffle(a)
        source.shuffle(b)
        assert bootstrap(a, b) == ends


@pytest.mark.parametrize("runs", [2, 3, 5, 8])
def test_the_bootstrap_interval_is_that_of_a_thousand_rounds_one_by_one(runs: int) -> None:
    """Rounds that draw the same are added up once: that changes no interval."""
    source = random.Random(runs)
    sides = [[source.lognormvariate(10, 0.3) for _ in range(n)] for n in (runs, runs + 1)]
    means = []
    for number, side in enumerate(sides):
        logs, draws = sorted(map(math.log, side)), random.Random(f"{number}:{len(side)}")
        columns = [[logs[int(draws.random() * len(side))] for _ in range(1000)] for _ in side]
        means.append([math.fsum(drawn) / len(side) for drawn in zip(*columns, strict=True)])
    ratios = sorted(b - a for a, b in zip(*means, strict=True))
    assert bootstrap(*sides) == pytest.approx((math.exp(ratios[25]), math.exp(ratios[-26])), rel=1e-12)


def test_quantiles_of_students_t_take_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """`diff` needs three for each figure of each function. Broken by: bisection, which takes 55 steps."""
    steps, exact = 0, two_sided

    def counted(t: float, degrees: float) -> float:
        nonlocal steps
        steps += 1
        return exact(t, degrees)

    monkeypatch.setattr("funcgraph.diff.welch.two_sided", counted)
    for degrees in (1, 1.7, 4, 8.2, 30, 400):
        for p in (0.4, 0.05, 1e-3, 1e-6, 1e-9):
            steps = 0
            assert exact(quantile(degrees, p), degrees) == pytest.approx(p, rel=1e-9)
            assert steps <= 25


@pytest.mark.one_python
def test_a_bootstrap_of_few_runs_is_too_narrow_and_of_many_is_not() -> None:
    """So the verdict is Welch's: of three runs the bootstrap's 95 % are 80 %."""
    source = random.Random(7)

    def covered(runs: int) -> tuple[float, float]:
        """Return how often either interval has the true ratio."""
        shares = [0, 0]
        for _ in range(400):
            a, b = ([source.lognormvariate(10, 0.1) for _ in range(runs)] for _ in range(2))
            ends = bootstrap(a, b)
            test = welch([math.log(value) for value in a], [math.log(value) for value in b])
            assert ends is not None and test is not None
            shares[0] += ends[0] <= 1 <= ends[1]
            shares[1] += abs(test.difference) <= test.margin
        return shares[0] / 400, shares[1] / 400

    few, many = covered(3), covered(FEW_RUNS)
    assert 0.7 < few[0] < 0.86 < 0.92 < few[1] <= 1
    assert many[0] > 0.88 and many[1] > 0.92


def test_the_bootstrap_interval_is_shown_beside_the_verdict(
    noisy: tuple[list[Path], list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = noisy
    _, out, _ = run(capsys, *a, "--with", *b)
    header, *rows = out.splitlines()
    assert header.split()[-3:] == ["BOOTSTRAP", "VERDICT", "FUNCTION"]
    assert re.search(r"\[1\.4\d, 1\.5\d\] +\[1\.(4|5)\d, 1\.5\d\] +more +m\.slow$", out, re.MULTILINE)
    assert "the 95 % percentile bootstrap interval of the verdict's ratio, over the runs; too narrow" in out
    assert run(capsys, *a, "--with", *b)[1] == out
    functions = json.loads(run(capsys, *a, "--with", *b, "--json")[1])["functions"]
    slow = next(row["self_ns"] for row in functions if row["name"] == "m.slow")
    low, high = slow["bootstrap"]
    assert slow["low"] < low < 1.5 < high < slow["high"]
    assert f"[{low:.2f}, {high:.2f}]  more" in next(line for line in rows if line.endswith("m.slow"))
    one = run(capsys, a[0], b[0])[1]
    assert "BOOTSTRAP" not in one
    assert json.loads(run(capsys, a[0], b[0], "--json")[1])["whole"]["self_ns"]["bootstrap"] is None


def test_among_many_tests_few_verdicts_are_false() -> None:
    """The example of Benjamini and Hochberg's paper of 1995: the first four of fifteen."""
    ps = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
          0.6528, 0.7590, 1.0]  # fmt: skip
    assert significant(ps) == [True] * 4 + [False] * 11
    assert significant(ps[::-1]) == [False] * 11 + [True] * 4
    assert significant([]) == []
