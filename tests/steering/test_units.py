"""Events by name, processes by pattern, the prefix of several processes, rates: what needs no traced call."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import funcgraph
from funcgraph import cli
from funcgraph.command_support import processes as _processes
from funcgraph.steering.events import NoEventError, choose, matching
from funcgraph.steering.output import Output
from funcgraph.steering.processes import NoProcessError, ancestors, command_line, find, has_ended, is_python
from funcgraph.steering.rates import SEVERAL, Counts, Rate, counts_of, rates, summed, table

pytestmark = pytest.mark.one_python

EVENTS = ["py:raise", "py:gc_start", "orders:paid", "fprobes:raise"]


# ---- events


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("py:raise", ["py:raise"]),
        ("py/raise", ["py:raise"]),
        ("raise", ["py:raise", "fprobes:raise"]),
        ("py", ["py:raise", "py:gc_start"]),
        ("py:", ["py:raise", "py:gc_start"]),
        (":raise", ["py:raise", "fprobes:raise"]),
        ("*s", ["orders:paid", "fprobes:raise"]),
        ("*:p*", ["orders:paid"]),
        ("all", EVENTS),
    ],
)
def test_a_word_of_e_names_events_as_with_trace_cmd(word: str, found: list[str]) -> None:
    assert choose(word, EVENTS) == found


def test_a_word_that_names_nothing_is_refused() -> None:
    with pytest.raises(NoEventError, match=r"no such event: 'payd'; did you mean 'paid'"):
        choose("payd", EVENTS)


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("^p", ["py:raise", "py:gc_start", "orders:paid"]),
        ("RAISE", ["py:raise", "fprobes:raise"]),
        ("py:gc", ["py:gc_start"]),
        ("py:", ["py:raise", "py:gc_start"]),
    ],
)
def test_an_expression_lists_events_as_with_trace_cmd(expression: str, found: list[str]) -> None:
    assert matching(expression, EVENTS) == found


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(NoEventError, match=r"invalid expression '\('"):
        matching("(", EVENTS)


# ---- processes


@pytest.fixture
def sleeper() -> subprocess.Popen[bytes]:
    """Start a Python process that waits, with a word in its command line that no other has."""
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()", f"sleeper-{os.getpid()}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout
        child.stdout.readline()
        yield child  # type: ignore[misc]
        child.communicate(b"\n")


def test_a_number_is_a_process_id_and_comes_once() -> None:
    assert find(["4711", "12", "4711"], list) == [4711, 12]


def test_a_list_of_numbers_is_that_of_its_processes() -> None:
    assert find(["4711,12", "7"], list) == [4711, 12, 7]


@pytest.mark.parametrize("word", ["", " "])
def test_an_empty_word_does_not_mean_every_python(word: str) -> None:
    """As of `-P "$PID"` without such a variable: each Python of the machine would be attached to."""
    with pytest.raises(NoProcessError, match="empty"):
        find([word], list)


def test_a_word_is_an_expression_for_command_lines(sleeper: subprocess.Popen[bytes]) -> None:
    assert find([f"sleeper-{os.getpid()}$"], list) == [sleeper.pid]
    assert find([f"slee?per-{os.getpid()}", str(sleeper.pid)], list) == [sleeper.pid]
    assert command_line(sleeper.pid).endswith(f"input() sleeper-{os.getpid()}")
    assert is_python(sleeper.pid)


def test_this_process_and_its_parents_are_not_meant() -> None:
    assert {os.getpid(), os.getppid()} <= ancestors(os.getpid())
    with pytest.raises(NoProcessError, match="no Python process"):
        find([f"^{'x' * 40}$"], list)


def test_a_process_that_runs_no_python_is_not_meant() -> None:
    with subprocess.Popen(["sleep", "60.4711"]) as child:
        while not Path(f"/proc/{child.pid}/cmdline").read_bytes():
            time.sleep(0.001)  # the kernel is still executing it
        try:
            with pytest.raises(NoProcessError):
                find([r"sleep 60\.4711"], list)
            assert find([r"sleep 60\.4711"], lambda: [child.pid]) == [child.pid]  # unless it has a socket
        finally:
            child.kill()


def test_without_words_all_that_have_a_socket_are_meant() -> None:
    assert find([], lambda: [9, 7]) == [7, 9]
    with pytest.raises(NoProcessError, match="FUNCGRAPH=control"):
        find([], list)


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(NoProcessError, match=r"-P a\(: neither a process id nor an expression"):
        find(["a("], list)


def test_a_zombie_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    try:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert has_ended(child.pid)
    finally:
        child.wait()
    assert has_ended(child.pid) and not has_ended(os.getpid())


# ---- output


def test_lines_of_several_processes_are_told_apart() -> None:
    stream = io.StringIO()
    output = Output([7, 9], stream)
    output.text(7, "a\nb")
    output.text(9, "")
    output.text(9, "c\n")
    assert stream.getvalue() == "7: a\n7: b\n9: c\n"


def test_lines_of_one_process_are_as_they_came() -> None:
    stream = io.StringIO()
    Output([7, 7], stream).text(7, "a\nb")
    assert stream.getvalue() == "a\nb\n"


def test_what_the_terminal_cannot_show_is_printed_all_the_same() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Output([7], stream).text(7, "pr\xfcfen\udc80")
    stream.seek(0)
    assert stream.read() == "pr\\xfcfen\\udc80\n"


# ---- rates


def test_counts_are_those_of_the_profiler() -> None:
    """Broken by any change of the profiler's text that the parser does not follow."""
    from work import pay

    with funcgraph.FunctionProfile(filter=["work.*"]) as profile:
        for amount in range(1000):
            pay(amount)
    counts = counts_of(profile.trace_stat())
    rows = {row.name: row for row in profile.rows()}
    assert {name: one.calls for name, one in counts.items()} == {"work.pay": 1000, "work.price": 1000}
    for name, one in counts.items():
        assert one.time_us == pytest.approx(rows[name].time_ns / 1000, rel=1e-3)


def test_functions_of_one_name_are_counted_together() -> None:
    line = "  f          {}    {} us      1.000 us      0.000 us\n"
    assert counts_of(line.format(2, "5.000") + line.format(3, "1.5")) == {"f": Counts(5, 6.5)}


def test_rates_are_differences_over_the_time() -> None:
    before = {"f": Counts(10, 100.0), "g": Counts(4, 4.0)}
    now = {"f": Counts(30, 300.0), "g": Counts(4, 4.0), "h": Counts(2, 0.0)}
    assert rates(7, before, now, 2.0) == [Rate(7, "f", 10.0, 0.1, 10.0), Rate(7, "h", 1.0, 0.0, 0.0)]


@pytest.mark.parametrize(("key", "order"), [("c", "gfh"), ("t", "hfg"), ("a", "hfg"), ("n", "fgh")])
def test_a_table_is_sorted_by_its_key(key: str, order: str) -> None:
    found = [Rate(7, "f", 5, 2, 2), Rate(7, "g", 9, 1, 1), Rate(7, "h", 1, 3, 3)]
    assert "".join(line[-1] for line in table(found, key, pids=False)[1:]) == order
    assert len(table(found, key, pids=True, rows=2)) == 3
    assert table(found, key, pids=True)[1].split()[0] == "7"


def test_of_several_processes_a_function_has_one_row_with_the_sum() -> None:
    found = [Rate(7, "f", 5, 2, 400), Rate(7, "g", 9, 1, 111), Rate(8, "f", 15, 4, 267)]
    assert summed(found) == [Rate(SEVERAL, "f", 20, 6, 300), found[1]]


def test_a_name_that_is_too_long_loses_its_middle() -> None:
    rate = Rate(1, "package.module.Class.method", 1.0, 1.0, 1.0)
    (_, line) = table([rate], "n", pids=False, width=55)
    assert len(line) == 55 and line.endswith(" packa..lass.method")
    assert table([rate], "n", pids=False, width=80)[1].endswith(" package.module.Class.method")


@pytest.mark.parametrize(
    "verb", ["start", "stop", "restart", "reset", "clear", "trace", "top", "profile", "set"]
)
def test_without_a_process_a_verb_that_changes_something_is_for_own_processes(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken: root's commands changed other users' processes."""
    monkeypatch.setattr(_processes, "_running", lambda: [11, 12, 13])
    monkeypatch.setattr(_processes, "owner", {11: os.geteuid(), 12: os.geteuid() + 1, 13: None}.get)
    parser = cli.parser_of(cli.load(verb))
    assert _processes.chosen(parser.parse_args([])) == [11]
    assert _processes.chosen(parser.parse_args(["--all-users"])) == [11, 12, 13]
    assert _processes.chosen(parser.parse_args(["-P", "12,13"])) == [12, 13]


@pytest.mark.parametrize("verb", ["settings", "list", "show"])
def test_without_a_process_a_verb_that_changes_nothing_is_for_all_processes(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_processes, "_running", lambda: [11, 12])
    monkeypatch.setattr(_processes, "owner", {11: os.geteuid(), 12: os.geteuid() + 1}.get)
    assert _processes.chosen(cli.parser_of(cli.load(verb)).parse_args([])) == [11, 12]
