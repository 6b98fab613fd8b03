"""Each verb on this process: what it writes, what it prints, what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Verb
from local import LocalRemote
from work import pay

import funcgraph
from funcgraph import cli
from funcgraph.commands import CommandError, _processes
from funcgraph.steering.folder import Process
from funcgraph.steering.reset import reset
from funcgraph.steering.stat import stat

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


# ---- stat


def test_stat_of_a_new_instance_says_only_that_it_is_on(verb: Verb) -> None:
    assert verb("stat") == "\nEvents:\n All disabled\n\nTracing is enabled\n\n"


def test_stat_says_what_differs(verb: Verb) -> None:
    verb(
        *(
            "start",
            "-p",
            "function",
            *WORK,
            "-n",
            "work.price",
            "-g",
            "work.pay",
            "--graph-notrace",
            "json.*",
        ),
        *("-b", "512", "-C", "global", "--max-graph-depth", "3", "--thresh", "5"),
        *(
            "-e",
            "py:raise",
            "-f",
            'type ~ "Key*"',
            "-R",
            'traceoff:1 if type == "No"',
            "--tid",
            "77",
            "-B",
            "a",
        ),
    )
    verb("stop")
    assert (
        verb("stat")
        == """
Tracer: function

Events:
 Individual events:
    py
        raise

Filters:
  py:raise "type ~ "Key*""

Triggers:
  py:raise "traceoff:count=1 if type == "No""

Function Filter:
   work.*

Function No Trace:
   work.price

Function Graph Filter:
   work.pay

Function Graph No Trace:
   json.*

Buffer size in kilobytes:
   512

Clock: global

Max graph depth: 3

Threshold: 5 us

Filtered function tracer PIDs:
77

Tracing is disabled

Instances:
 a
"""
    )


def test_stat_lists_the_options_if_asked(verb: Verb, top: funcgraph.Instance) -> None:
    top.options["funcgraph-tail"] = True
    text = verb("stat", "-o")
    assert "\nOptions:\n" in text and "\n   funcgraph-tail\n" in text and "\n   nofuncgraph-args\n" in text


def test_stat_of_instances_names_them(verb: Verb) -> None:
    funcgraph.Instance("a")
    assert verb("stat", "-B", "a").startswith("Instance: a\n\nEvents:\n")
    assert "---------------\nInstance: a\n" in verb("stat", "-t", "-B", "a")


# ---- reset


def everything(verb: Verb) -> None:
    verb(
        *(
            "start",
            "-p",
            "function_graph",
            *WORK,
            "-n",
            "work.price",
            "-g",
            "work.pay",
            "--args",
            "-b",
            "512",
        ),
        *("-C", "global", "--max-graph-depth", "3", "--thresh", "5", "--tid", "77", "-O", "funcgraph-tail"),
        *("-e", "py:raise", "-f", 'type ~ "Key*"', "-R", "traceoff:1", "-e", "f:orders/paid work.pay amount"),
    )
    verb("hist", "orders:paid", "keys=amount")
    verb("snapshot", "-s")


#: Files that hold more whenever a module is imported or a thread was traced, and the pipe.
_CHANGING = (
    *("available_filter_functions", "available_filter_functions_addrs", "saved_cmdlines", "saved_tgids"),
    "trace_pipe",
)


def all_files(process: Process) -> dict[str, str]:
    """Return the texts of all files that can be read, but for those of events and lanes."""
    folder = process.instance()
    texts = {}
    for file in [*folder.names(""), *(f"options/{name}" for name in folder.names("options"))]:
        entry = process.tree.stat(file)
        if not entry.is_folder and entry.mode & 0o400 and file not in _CHANGING:
            texts[file] = folder.read(file)
    return texts


def test_after_reset_all_files_are_as_before(verb: Verb, process: Process, top: funcgraph.Instance) -> None:
    before = all_files(process)
    everything(verb)
    top.function_commands.add("work.pay:traceoff:3")
    top.function_commands.add("work.pay:stacktrace")
    assert all_files(process) != before
    verb("reset")
    after = all_files(process)
    assert {file: text for file, text in after.items() if text != before[file]} == {}


def test_reset_leaves_other_instances(verb: Verb, process: Process) -> None:
    verb("start", "-B", "a", *WORK)
    verb("reset")
    assert funcgraph.instances()["a"].set_ftrace_filter == ("work.*",)
    verb("reset", "-B", "a", "-b", "4096")
    assert funcgraph.instances()["a"].set_ftrace_filter == ()
    assert funcgraph.instances()["a"].buffer_size_kb == 4096


def test_reset_d_deletes_the_instances_before_it(verb: Verb, process: Process) -> None:
    for name in ("a", "b", "c"):
        funcgraph.Instance(name)
    verb("reset", "-B", "a", "-B", "b", "-d")
    assert process.instances() == ["a", "c"]
    verb("reset", "-t", "-a", "-d")
    assert process.instances() == []


def test_the_top_instance_cannot_be_deleted() -> None:
    with pytest.raises(CommandError, match="the top instance cannot be deleted"):
        cli.run(["reset", "-a", "-t", "-d"])


def test_reset_k_keeps_events_of_a_kind(verb: Verb, process: Process) -> None:
    verb("set", "-e", "f:orders/paid work.pay amount", "-e", "p:orders/place work.pay")
    verb("reset", "-k", "kprobe")
    assert process.instance().read("dynamic_events").startswith("p:orders/place")
    verb("reset")
    assert process.instance().read("dynamic_events") == ""


def test_histograms_that_use_one_another_are_removed(verb: Verb, process: Process) -> None:
    verb("set", "-e", "f:orders/paid work.pay amount", "-e", "f:orders/done work.pay%return")
    verb("hist", "orders:paid", "keys=common_pid:ts0=common_timestamp.usecs")
    verb("hist", "orders:done", "keys=common_pid:lat=common_timestamp.usecs-$ts0")
    reset(process.instance())
    assert "Triggers" not in stat(process.instance())


# ---- list


def test_list_prints_each_kind(verb: Verb, top: funcgraph.Instance) -> None:
    assert "function_graph" in verb("list", "-t").split() and verb("list", "-t") == verb("list", "-p")
    assert "py:raise\n" in verb("list", "-e") and verb("list", "-e", "^raise$") == "py:raise\n"
    assert "py\n" in verb("list", "-s")
    assert (
        "nofuncgraph-tail\n" in verb("list", "-o")
        and verb("list", "-o", "graph-tail") == "nofuncgraph-tail\n"
    )
    assert "[mono]" in verb("list", "-C")
    assert verb("list", "-B") == "No buffer instances defined\n"
    funcgraph.Instance("a")
    assert verb("list", "-B") == "a\n"
    assert "Supported compression" in verb("list", "-c")


def test_list_prints_functions_and_how_many(verb: Verb) -> None:
    assert verb("list", "-f", "work.*") == "work.pay\nwork.price\n2 functions\n"
    assert verb("list", "-f", "work.pa") == "work.pay\n1 function\n"  # as trace-cmd: somewhere in the name
    assert verb("list", "-f", "work.*", "--count") == "2 functions\n"
    every = verb("list", "-f").splitlines()
    assert every[-1] == f"{len(every) - 1:,} functions" and "work.pay" in every


def test_list_shows_formats_filters_and_triggers(verb: Verb) -> None:
    verb("set", "-e", "py:raise", "-f", 'type ~ "Key*"', "-R", "traceoff")
    text = verb("list", "-e", "py:raise", "-F")
    assert text.startswith("system: py\nname: raise\n") and "print fmt" not in text
    assert "print fmt" in verb("list", "-e", "py:raise", "-F", "--full")
    assert verb("list", "-e", "py:raise", "-l").splitlines()[:2] == ["py:raise", 'type ~ "Key*"']
    assert verb("list", "-e", "py:raise", "-R").splitlines()[:2] == ["py:raise", "traceoff:unlimited"]
    with pytest.raises(CommandError, match="need an event"):
        cli.run(["list", "-F"])


def test_list_without_options_lists_as_trace_cmd(verb: Verb) -> None:
    text = verb("list")
    parts = ("event systems:\n", "\nevents:\n", "\ntracers:\n", "\noptions:\n")
    assert [text.count(part) for part in parts] == [1, 1, 1, 1]


# ---- hist


def test_hist_sets_up_shows_empties_and_removes(verb: Verb, top: funcgraph.Instance) -> None:
    verb("set", "-e", "f:orders/paid work.pay amount")
    verb("hist", "orders:paid", "keys=amount:sort=amount")
    for amount in (3, 3, 4):
        pay(amount)
    text = verb("hist", "orders:paid")
    assert "{ amount:          3 } hitcount:          2" in text
    assert verb("hist").split() == text.split()
    verb("hist", "--pause", "paid")
    pay(3)
    assert "hitcount:          2" in verb("hist", "paid")
    verb("hist", "--continue", "paid")
    verb("hist", "--clear", "paid")
    assert "{ amount:" not in verb("hist", "paid")
    verb("hist", "-r", "paid")
    assert verb("hist") == "" and "hist:" not in top.events["orders/paid"].trigger
    verb("reset")


@pytest.mark.parametrize(
    ("words", "reason"),
    [(["-r"], "which event"), (["--clear", "py:raise", "keys=type"], "give no TRIGGER")],
)
def test_hist_refuses_what_has_no_sense(words: list[str], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        cli.run(["hist", *words])


def test_hist_takes_one_event(verb: Verb, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["hist", "py", "keys=x"]) == 2
    assert "'py' names" in capsys.readouterr().err


# ---- processes that cannot


def test_what_one_process_refuses_is_one_line_and_the_others_go_on(
    process: Process, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(pid: int, *, borrows: bool) -> Process:
        if pid == 1:
            raise PermissionError(1, "process 1 belongs to another user")
        return process

    monkeypatch.setattr(_processes, "_connect", connect)
    assert cli.run(["show", "-P", "1", "-P", str(process.pid), "--tracing_on"]) == 1
    captured = capsys.readouterr()
    assert captured.err == "funcgraph: process 1: belongs to another user\n"
    assert captured.out == f"{process.pid}: 1\n"


def test_a_process_that_has_ended_is_told(
    process: Process, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(pid: int, *, borrows: bool) -> Process:
        raise ProcessLookupError(3, f"no process {pid}")

    monkeypatch.setattr(_processes, "_connect", connect)
    assert cli.run(["stop", "-P", str(2**22 + 1)]) == 2
    assert capsys.readouterr().err == f"funcgraph: process {2**22 + 1}: has ended\n"


def test_a_write_that_is_refused_is_told_with_its_flag(
    verb: Verb, remote: LocalRemote, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["start", "-p", "nonsense"]) == 2
    assert "-p nonsense: " in capsys.readouterr().err
