"""`funcgraph report --tree`, `--callers` and `--callees`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tracefile import RESUME, SUSPEND, Trace

from funcgraph.tracedata.call_tree import NO_PARENT, tree_of_columns
from funcgraph.tracedata.description import NATIVE, Function
from funcgraph.tracedata.tree_text import TreeLimits, tree_text

pytestmark = pytest.mark.one_python

Command = Callable[..., Any]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    trace = Trace(["m.main", "m.order", "m.price", "m.fib", "m.rare\x1b[31m"])
    one, two = trace.task(1, "main", pid=1), trace.task(2, "worker", pid=1)
    one.enter(0, 0, 0)
    for begin in range(10_000, 910_000, 100_000):
        one.enter(begin, 1, 1)
        one.enter(begin + 5_000, 2, 2)
        one.leave(begin + 85_000, 2, 2, calltime=begin + 5_000)
        one.leave(begin + 90_000, 1, 1, calltime=begin)
    one.enter(950_000, 4, 1)
    one.leave(951_000, 4, 1, calltime=950_000)
    one.enter(960_000, 2, 1)
    one.leave(962_000, 2, 1, calltime=960_000)
    one.leave(1_000_000, 0, 0, calltime=0)
    two.enter(2_000_000, 3, 0)
    two.enter(2_100_000, 3, 1)
    two.enter(2_200_000, 3, 2)
    two.leave(2_300_000, 3, 2, calltime=2_200_000)
    two.leave(2_400_000, 3, 1, calltime=2_100_000)
    two.leave(2_500_000, 3, 0, calltime=2_000_000)
    return trace.save(tmp_path / "trace.dat")


def test_a_tree_has_paths_by_time_and_says_what_it_leaves_out(sample: Path, command: Command) -> None:
    ran = command("report", "--tree", sample)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "     TOTAL      %        SELF  CALLS  FUNCTION\n"
        "  1.000 ms  66.7%  187.000 us      1  m.main\n"
        "810.000 us  54.0%   90.000 us      9  ├ m.order\n"
        "720.000 us  48.0%  720.000 us      9  │ └ m.price\n"
        "  3.000 us   0.2%                  2  └ (2 more)\n"
        "500.000 us  33.3%  200.000 us      1  m.fib\n"
        "300.000 us  20.0%  200.000 us      1  └ m.fib\n"
        "100.000 us   6.7%  100.000 us      1    └ m.fib\n"
    )


def test_nothing_is_left_out_on_request_and_names_cannot_harm_a_terminal(
    sample: Path, command: Command
) -> None:
    out = command("report", "--tree", "--min-percent", "0", sample).out
    assert "more)" not in out
    assert "  1.000 us   0.1%    1.000 us      1  └ m.rare\\x1b[31m\n" in out


def test_the_depth_of_a_tree_can_be_limited(sample: Path, command: Command) -> None:
    out = command("report", "--tree", "--tree-depth", "1", sample).out
    assert [line.split("  ")[-1] for line in out.splitlines()] == [
        "FUNCTION", "m.main", "└ (3 more)", "m.fib", "└ (1 more)",
    ]  # fmt: skip


def test_each_task_or_process_can_have_a_tree(sample: Path, command: Command) -> None:
    lines = command("report", "--tree", "--by", "task", "--tree-depth", "1", sample).out.splitlines()
    names = [line.split("  ")[-1].strip() for line in lines]
    assert names[1:4] == ["main (1):", "m.main", "└ (3 more)"] and names[4] == "worker (2):"
    assert lines[1].split() == ["1.000", "ms", "66.7%", "main", "(1):"]
    lines = command("report", "--tree", "--by", "process", sample).out.splitlines()
    assert lines[1].endswith("  process 1: python 'an app.py':")


def test_callers_are_below_their_function_with_its_figures(sample: Path, command: Command) -> None:
    assert command("report", "--callers", "m.pri*", "--min-percent", "0", sample).out == (
        "     TOTAL       %        SELF  CALLS  FUNCTION\n"
        "722.000 us  100.0%  722.000 us     10  m.price\n"
        "720.000 us   99.7%  720.000 us      9  ├ m.order\n"
        "720.000 us   99.7%  720.000 us      9  │ └ m.main\n"
        "  2.000 us    0.3%    2.000 us      1  └ m.main\n"
    )


def test_a_recursive_functions_time_is_the_outermost_calls(sample: Path, command: Command) -> None:
    assert command("report", "--callers", "m.fib", sample).out == (
        "     TOTAL       %        SELF  CALLS  FUNCTION\n"
        "500.000 us  100.0%  500.000 us      3  m.fib\n"
        "500.000 us  100.0%  200.000 us      1  ├ (no traced caller)\n"
        "      0 ns    0.0%  300.000 us      2  └ m.fib\n"
        "      0 ns    0.0%  100.000 us      1    └ m.fib\n"
    )


def test_callees_are_added_up_from_all_places(sample: Path, command: Command) -> None:
    assert command("report", "--callees", "m.order", "--callees", "m.price", sample).out == (
        "     TOTAL       %        SELF  CALLS  FUNCTION\n"
        "810.000 us  100.0%   90.000 us      9  m.order\n"
        "720.000 us   88.9%  720.000 us      9  └ m.price\n"
        "722.000 us  100.0%  722.000 us     10  m.price\n"
    )


def test_resumes_have_a_column_if_there_are_any(tmp_path: Path, command: Command) -> None:
    trace = Trace(["m.f", "m.gen"])
    task = trace.task(1)
    task.enter(0, 0, 0)
    task.enter(100, 1, 1)
    task.leave(200, 1, 1, calltime=100, kind=SUSPEND, start=100)
    task.enter(300, 1, 1, kind=RESUME, start=100)
    task.leave(400, 1, 1, calltime=300, start=100)
    task.leave(1_000, 0, 0, calltime=0)
    assert command("report", "--tree", trace.save(tmp_path / "t")).out == (
        "   TOTAL       %    SELF  CALLS  RESUMES  FUNCTION\n"
        "1.000 us  100.0%  800 ns      1        0  m.f\n"
        "  200 ns   20.0%  200 ns      1        1  └ m.gen\n"
    )


def test_a_trace_without_times_is_sorted_by_calls(tmp_path: Path, command: Command) -> None:
    trace = Trace(["m.f", "m.g", "m.h"], tracer="function")
    task = trace.task(1)
    for time in range(9):
        task.function(time, 1 if time % 3 else 2, 0)
    assert command("report", "--tree", trace.save(tmp_path / "t")).out == (
        "TOTAL       %  SELF  CALLS  FUNCTION\n"
        "       100.0%            0  m.f\n"
        "        66.7%            6  ├ m.g\n"
        "        33.3%            3  └ m.h\n"
    )


def test_a_path_may_be_longer_than_pythons_stack(tmp_path: Path, command: Command) -> None:
    trace = Trace(["m.f"])
    task = trace.task(1)
    for depth in range(2_000):
        task.enter(depth, 0, depth)
    for depth in reversed(range(2_000)):
        task.leave(20_000 - depth, 0, depth, calltime=depth)
    path = trace.save(tmp_path / "t")
    for words in (["--tree"], ["--callers", "m.f"], ["--callees", "m.f"]):
        ran = command("report", *words, "--min-percent", "0", path)
        assert ran.status == 0 and max(map(len, ran.out.splitlines())) < 130
    assert "  [1999] m.f\n" in command("report", "--tree", "--min-percent", "0", path).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tree", "--callers", "m.f"], "--tree, --callers and --callees: only one of them at a time"),
        (["--by", "task"], "--by needs --tree, --callers or --callees"),
        (["--min-percent", "5"], "--min-percent needs --tree, --callers or --callees"),
        (["--tree-depth", "5"], "--tree-depth needs --tree, --callers or --callees"),
        (["--tree", "-O", "nofuncgraph-args"], "-O is about the calls one by one"),
        (["--callers", "m.prize"], "no function 'm.prize'; did you mean 'm.price'?"),
        (["--tree", "--min-percent", "101"], "a percentage from 0 to 100, got '101'"),
        (["--tree", "--tree-depth", "0"], "a number of levels, at least 1, got '0'"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    sample: Path, command: Command, words: list[str], message: str
) -> None:
    ran = command("report", *words, sample)
    assert (ran.status, ran.out) == (2, "")
    assert message in ran.err and len(ran.err.splitlines()) == 1


def test_a_selection_holds_for_a_tree(sample: Path, command: Command) -> None:
    out = command("report", "--tree", "-l", "m.price", sample).out
    assert [line.split("  ")[-1] for line in out.splitlines()] == ["FUNCTION", "m.price"]
    assert out.splitlines()[1].split()[-2:] == ["10", "m.price"]
    out = command("report", "--tree", "--task", "worker", sample).out
    assert "m.main" not in out and "m.fib" in out


def test_a_tree_says_how_much_time_was_in_native_functions(tmp_path: Path) -> None:
    """As the column of summary: that of the innermost native calls below each path."""
    names = [("app", "run", 0), ("libx", "step", NATIVE), ("app", "callback", 0), ("libc", "malloc", NATIVE)]
    functions = [Function(module, name, "", 0, flags, ()) for module, name, flags in names]
    columns = [
        [NO_PARENT, 0, 1, 2, 3, 1],  # run: step: callback: malloc; malloc
        [0, 0, 1, 2, 3, 3],
        [0, 1, 2, 3, 4, 5],
        [0] * 6,
        [0] * 6,
        [0, 100_000, 80_000, 50_000, 30_000, 10_000],
        [0, 10_000, 30_000, 20_000, 30_000, 10_000],
    ]
    tree = tree_of_columns(columns, functions, [""], [])
    assert tree.native_ns() == [70_000, 70_000, 60_000, 30_000, 30_000, 10_000]
    text = b"".join(tree_text(tree, TreeLimits(0, None))).decode()
    assert text.splitlines()[0].split()[-3:] == ["NATIVE", "CALLS", "FUNCTION"]
    assert "100.000 us  100.0%  10.000 us  70.000 us      1  app.run" in text
    assert "NATIVE" not in b"".join(tree_text(tree, TreeLimits(0, None), each_is_whole=True)).decode()
    python_alone = tree_of_columns([column[:2] for column in columns], functions[:1], [""], [])
    assert python_alone.native_ns() == []
