"""The verbs that trace, on this process: what they write, print and refuse."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from work import pay

import funcgraph
from funcgraph import cli
from funcgraph.command_support import processes
from funcgraph.command_support.messages import CommandError
from funcgraph.steering.folder import Process
from steering.conftest import Verb
from steering.local import LocalRemote

pytestmark = pytest.mark.one_python

WORK = ("-l", "work.*")


# ---- start, stop, restart, show, clear


def test_start_traces_and_show_prints_it(verb: Verb) -> None:
    verb("start", *WORK, "--args")
    pay(7)
    text = verb("show")
    assert "# tracer: function_graph" in text and "work.pay(amount=7) {" in text
    assert verb("show") == text  # it stays


def test_stop_and_restart_write_tracing_on(verb: Verb, top: funcgraph.Instance) -> None:
    verb("start", *WORK)
    verb("stop")
    pay(1)
    assert "pay" not in verb("show") and not top.tracing_on
    verb("restart")
    pay(1)
    assert "pay" in verb("show")


@pytest.mark.parametrize(
    ("words", "stopped"),
    [
        ([], {"top"}),
        (["-B", "a"], {"a"}),
        (["-B", "a", "-t"], {"a", "top"}),
        (["-a"], {"a", "b"}),
        (["-a", "-t"], {"a", "b", "top"}),
        (["-B", "a", "-B", "b"], {"a", "b"}),
    ],
)
def test_instances_are_chosen_as_with_trace_cmd(
    verb: Verb, top: funcgraph.Instance, words: list[str], stopped: set[str]
) -> None:
    for name in ("a", "b"):
        funcgraph.Instance(name)
    verb("stop", *words)
    assert {name for name, one in funcgraph.instances().items() if not one.tracing_on} == stopped


def test_an_unknown_instance_is_refused(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["stop", "-B", "nonsense"]) == 2
    assert "-B nonsense: no such instance: there is none" in capsys.readouterr().err


def test_clear_empties_one_buffer_or_all(verb: Verb) -> None:
    verb("start", *WORK, "-B", "a", *WORK)
    pay(1)
    verb("clear", "-B", "a")
    assert "pay" in verb("show") and "pay" not in verb("show", "-B", "a")
    pay(1)
    verb("clear", "-a")
    assert "pay" not in verb("show") and "pay" not in verb("show", "-B", "a")


def test_show_prints_one_file(verb: Verb) -> None:
    verb("set", "-l", "work.pay", "-p", "function", "-b", "512")
    assert verb("show", "--ftrace_filter") == "work.pay\n"
    assert verb("show", "--current_tracer", "--buffer_size") == "function\n512\n"


def test_show_f_prints_the_path_first(verb: Verb, process: Process) -> None:
    funcgraph.Instance("a")
    assert verb("show", "-f", "-B", "a").splitlines()[0] == f"{process.pid}/instances/a/trace"


def test_set_leaves_tracing_as_it_is(verb: Verb, top: funcgraph.Instance) -> None:
    verb("stop")
    verb("set", "-p", "function_graph", *WORK)
    pay(1)
    assert top.current_tracer == "function_graph" and not top.tracing_on


def test_set_v_removes_an_instance(verb: Verb, process: Process) -> None:
    verb("set", "-B", "a", "-p", "function")
    assert process.instances() == ["a"]
    verb("set", "-v", "-B", "a")
    assert process.instances() == []


def test_a_command_runs_meanwhile(verb: Verb, tmp_path: Path) -> None:
    verb("set", *WORK, "touch", str(tmp_path / "made"))
    assert (tmp_path / "made").exists()


def test_patterns_beside_an_event_trace_these_calls(verb: Verb, process: Process) -> None:
    verb("start", "-e", "py:gc_start")
    assert process.instance().read("current_tracer") == "nop\n"
    verb("start", "-e", "py:gc_start", *WORK)
    assert process.instance().read("current_tracer") == "function_graph\n"


def test_arguments_of_calls_above_a_threshold_are_refused(
    verb: Verb, process: Process, capsys: pytest.CaptureFixture[str]
) -> None:
    del verb  # it names the process
    assert cli.run(["trace", "--thresh", "1000", "--args", *WORK]) == 2
    assert "--thresh 1000: cannot be given together with --args" in capsys.readouterr().err
    assert process.instances() == []


# ---- snapshot


def test_a_snapshot_is_taken_printed_emptied_and_freed(verb: Verb) -> None:
    verb("start", *WORK)
    pay(1)
    verb("snapshot", "-s")
    verb("clear")
    assert "pay" in verb("snapshot") and "pay" in verb("show", "-s")
    verb("snapshot", "-r")
    assert "Snapshot is allocated" in verb("snapshot")
    verb("snapshot", "-f")
    assert "Snapshot is freed" in verb("snapshot")


def test_a_lane_that_is_not_there_is_told(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    lanes = ", ".join(map(str, range(os.sysconf("SC_NPROCESSORS_CONF"))))
    for word in ("show", "snapshot"):
        assert cli.run([word, "-c", "7777"]) == 2
        assert capsys.readouterr().err.endswith(f": -c 7777: no such lane: there is {lanes}\n")


@pytest.mark.parametrize("word", ["start", "set", "trace", "profile"])
def test_a_command_that_is_not_there_leaves_all_as_it_was(verb: Verb, process: Process, word: str) -> None:
    before = process.instance().read("set_ftrace_filter")
    with pytest.raises(CommandError, match="command not found"):
        verb(word, "-l", "work.*", "no-such-command")
    assert process.instance().read("set_ftrace_filter") == before
    assert process.instance().read("current_tracer") == "nop\n"
    assert process.instances() == []


@pytest.mark.parametrize("words", [("trace", "-p", "nonsense"), ("profile", "-l", "a["), ("top", "-l", "a[")])
def test_a_refusal_leaves_no_instance(verb: Verb, process: Process, words: tuple[str, ...]) -> None:
    verb(*words, status=2)
    assert process.instances() == []


@pytest.mark.parametrize("word", ["start", "set", "trace", "profile"])
def test_a_pattern_that_matches_nothing_is_told_with_the_nearest_names(
    verb: Verb, process: Process, capsys: pytest.CaptureFixture[str], word: str
) -> None:
    import work

    capsys.readouterr()
    assert cli.run([word, "-l", "work.pya", "-n", ":mod:work", "--", "true"]) == 0
    errors = capsys.readouterr().err.splitlines()
    begin = (
        f"funcgraph: process {process.pid}: -l work.pya: matches no function yet; the nearest names: work.pay"
    )
    assert len(errors) == 1 and errors[0].startswith(begin)
    assert work.pay(1)  # it is there
    assert cli.run([word, "-l", "work.p*", "-l", "work.pay:mod:work", "--", "true"]) == 0
    assert capsys.readouterr().err == ""


# ---- processes that cannot


def test_what_one_process_refuses_is_one_line_and_the_others_go_on(
    process: Process, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(pids: list[int], *, borrows: bool) -> Iterator[tuple[int, Process | Exception]]:
        for pid in pids:
            refusal = PermissionError(1, "process 1 belongs to another user")
            yield pid, refusal if pid == 1 else process

    monkeypatch.setattr(processes, "_connect", connect)
    assert cli.run(["show", "-P", "1", "-P", str(process.pid), "--tracing_on"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "funcgraph: process 1: belongs to another user\n"
    assert captured.out == f"{process.pid}: 1\n"


def test_a_process_that_has_ended_is_told(
    process: Process, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(pids: list[int], *, borrows: bool) -> Iterator[tuple[int, Exception]]:
        yield from ((pid, ProcessLookupError(3, f"no process {pid}")) for pid in pids)

    monkeypatch.setattr(processes, "_connect", connect)
    assert cli.run(["stop", "-P", str(2**22 + 1)]) == 2
    assert capsys.readouterr().err == f"funcgraph: process {2**22 + 1}: has ended\n"


def test_a_write_that_is_refused_is_told_with_its_flag(
    verb: Verb, remote: LocalRemote, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["start", "-p", "nonsense"]) == 2
    assert "-p nonsense: " in capsys.readouterr().err
