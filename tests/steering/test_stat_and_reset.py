"""What `stat` says of an instance, and what `reset` brings back."""

from __future__ import annotations

import pytest

import funcgraph
from funcgraph import cli
from funcgraph.command_support.messages import CommandError
from funcgraph.steering.folder import Process
from funcgraph.steering.reset import reset
from funcgraph.steering.stat import stat
from steering.conftest import Verb

pytestmark = pytest.mark.one_python

WORK = ("-l", "work.*")


# ---- stat


def test_stat_of_a_new_instance_says_only_that_it_is_on(verb: Verb) -> None:
    assert verb("settings") == "\nEvents:\n All disabled\n\nTracing is enabled\n\n"


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
            "nosuch.*",
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
        verb("settings")
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
   work.pay
   work.price

Function No Trace:
   work.price

Function Graph Filter:
   work.pay

Function Graph No Trace:
   nosuch.*

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
    text = verb("settings", "-o")
    assert "\nOptions:\n" in text and "\n   funcgraph-tail\n" in text and "\n   nofuncgraph-args\n" in text


def test_stat_of_instances_names_them(verb: Verb) -> None:
    funcgraph.Instance("a")
    assert verb("settings", "-B", "a").startswith("Instance: a\n\nEvents:\n")
    assert "---------------\nInstance: a\n" in verb("settings", "-t", "-B", "a")


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
            "--retval",
            "-b",
            "512",
        ),
        *("-C", "global", "--max-graph-depth", "3", "--thresh", "5", "--tid", "77", "-O", "funcgraph-tail"),
        *("-e", "py:raise", "-f", 'type ~ "Key*"', "-R", "traceoff:1", "-e", "f:orders/paid work.pay amount"),
    )
    verb("set", "--args")  # start refuses it beside --thresh
    verb("hist", "orders:paid", "keys=amount")
    verb("snapshot", "-s")


#: Files that hold more whenever a module is imported or a thread was traced, and the pipe.
_CHANGING = (
    *(
        "available_filter_functions",
        "available_filter_functions_addrs",
        "kallsyms",
        "saved_cmdlines",
        "saved_tgids",
    ),
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
