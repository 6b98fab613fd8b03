"""Instances of a recording: each has its own events, and one trace has them all, with the instance's name."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph.tracedata.trace_file import TraceFile

pytestmark = pytest.mark.one_python

APP = """
    import os, sys, threading

    def leaf(n):
        return n

    def mid(n):
        return leaf(n) + leaf(n + 1)

    def root():
        for i in range(10):
            mid(i)

    root()
    thread = threading.Thread(target=mid, args=(7,), name="worker")
    thread.start()
    thread.join()
"""
FORK = """
    pid = os.fork()
    if pid == 0:
        root()
        os._exit(0)
    os.waitpid(pid, 0)
"""
TWO = ["-l", "__main__.mid", "--args", "-B", "leaves", "-p", "function", "-l", "__main__.leaf"]


def calls(trace: str | Path, name: str) -> Counter[str]:
    """Return each function's number of calls in one instance."""
    read = TraceFile(trace)
    rows = read.summary(buffers=read.find_buffers([name]))
    return Counter({row.name: row.calls for row in rows})


def test_each_instance_sees_its_own(fg: Funcgraph) -> None:
    result = fg.record(*TWO, "-B", "deep", "-g", "__main__.root", "--max-graph-depth", "2", fg.script(APP))
    assert result.returncode == 0
    assert " in 2 threads of 1 process" in result.stderr
    assert calls(fg.trace, "") == {"__main__.mid": 11}
    assert calls(fg.trace, "leaves") == {"__main__.leaf": 22}
    assert calls(fg.trace, "deep") == {"__main__.root": 1, "__main__.mid": 10}
    one = fg.run("report", "-B", "leaves").stdout
    assert one.startswith("# tracer: function\n")
    assert one.count("__main__.leaf") == 22
    assert "__main__.leaf(" not in one
    top = fg.run("report", "-B", "").stdout
    assert top.startswith("# tracer: function_graph\n")
    assert "__main__.mid(n=7);" in top
    assert "leaf" not in top


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")
def test_stock_trace_cmd_shows_them(fg: Funcgraph) -> None:
    fg.record("-o", "trace.dat", *TWO, fg.script(APP))
    trace = fg.folder / "trace.dat"
    result = subprocess.run(["trace-cmd", "report", trace], capture_output=True, text=True, check=True)
    lines = result.stdout.splitlines()
    assert sum(line.startswith("leaves: ") and "__main__.leaf" in line for line in lines) == 22
    assert sum(line.startswith("        ") and "__main__.mid();" in line for line in lines) == 11


def test_one_in_which_nothing_matched_says_so(fg: Funcgraph) -> None:
    result = fg.record("-q", "-l", "__main__.mid", "-B", "typo", "-l", "__main__.laef", fg.script(APP))
    line = (
        "funcgraph: instance 'typo': nothing matched __main__.laef; the nearest names that ran: __main__.leaf"
    )
    assert result.stderr.startswith(line)
    assert len(result.stderr.splitlines()) == 1
    assert fg.record("-q", *TWO, fg.script(APP)).stderr == ""


def test_children_have_all_instances(fg: Funcgraph) -> None:
    result = fg.record(*TWO, fg.script(APP + FORK))
    assert " of 2 processes" in result.stderr
    assert calls(fg.trace, "") == {"__main__.mid": 21}
    assert calls(fg.trace, "leaves") == {"__main__.leaf": 42}
    assert len({task.pid for task in TraceFile(fg.trace).tasks if task.buffer == 1}) == 2


def test_a_top_instance_that_nothing_is_said_of_is_not_there(fg: Funcgraph) -> None:
    fg.record("-q", "-B", "one", "-l", "__main__.mid", "-o", "trace.fg", fg.script(APP))
    assert calls(fg.trace, "one") == {"__main__.mid": 11}
    assert calls(fg.trace, "") == {}
    assert fg.calls() == {"__main__.mid": 11}


def test_twenty_at_once(fg: Funcgraph) -> None:
    words = [word for number in range(20) for word in ("-B", f"i{number}", "-l", "__main__.m*", "-b", "64")]
    fg.record("-q", *words, fg.script(APP))
    assert all(calls(fg.trace, f"i{number}") == {"__main__.mid": 11} for number in range(20))


def test_summary_has_a_table_for_each(fg: Funcgraph) -> None:
    fg.record("-q", *TWO, fg.script(APP))
    text = fg.run("summary").stdout
    assert text.index("top instance:") < text.index("__main__.mid") < text.index("leaves:")
    found = json.loads(fg.run("summary", "--json").stdout)["buffers"]
    assert {name: [f["calls"] for f in one["functions"]] for name, one in found.items()} == {
        "": [11],
        "leaves": [22],
    }
    assert fg.run("summary", "-B", "leaves").stdout.count("__main__.") == 1


@pytest.mark.parametrize("command", ["report", "summary"])
def test_a_buffer_that_is_not_there_is_refused_with_those_that_are(fg: Funcgraph, command: str) -> None:
    fg.record("-q", *TWO, fg.script(APP))
    result = fg.run(command, "-B", "laeves")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "funcgraph: trace.fg: no instance 'laeves'; it has: '' (the top one), 'leaves'; "
        "did you mean 'leaves'?\n"
    )


def test_a_killed_program_leaves_all_buffers(fg: Funcgraph) -> None:
    result = fg.record("-q", *TWO, fg.script(APP + "    os.kill(os.getpid(), 9)\n"))
    assert result.returncode == -9
    assert calls(fg.trace, "") == {"__main__.mid": 11}
    assert calls(fg.trace, "leaves") == {"__main__.leaf": 22}


def test_recover_brings_all_buffers_back(fg: Funcgraph) -> None:
    script = fg.script(APP + '    print("ready", flush=True)\n    sys.stdin.read()\n')
    recorder = fg.start("record", "-C", "boot", "-O", "funcgraph-tail", *TWO, script)
    assert recorder.stdout is not None
    assert recorder.stdin is not None
    assert recorder.stdout.readline() == "ready\n"
    recorder.kill()
    recorder.wait()
    result = fg.run("recover")
    recorder.stdin.close()
    recorder.stdout.close()
    assert result.returncode == 0, result.stderr
    assert calls(fg.trace, "") == {"__main__.mid": 11}
    assert calls(fg.trace, "leaves") == {"__main__.leaf": 22}
    trace = TraceFile(fg.trace)
    assert trace.clock == "boot"
    assert trace.buffers[0].options == {"funcgraph-tail": True}
    assert trace.buffers[1].tracer == "function"


def test_options_record_what_they_show_and_stay_with_the_trace(fg: Funcgraph) -> None:
    words = ["-l", "__main__.*", "-O", "funcgraph-args", "-O", "funcgraph-tail", "-O", "nofuncgraph-duration"]
    fg.record("-q", *words, "-B", "plain", "-l", "__main__.*", fg.script(APP))
    top, plain = (fg.run("report", "-B", name).stdout for name in ("", "plain"))
    assert "__main__.mid(n=3) {" in top
    assert "} /* __main__.mid */" in top
    assert " us " not in top
    assert "__main__.mid() {" in plain
    assert " us " in plain
    assert " us " in fg.run("report", "-B", "", "-O", "funcgraph-duration").stdout


def test_options_of_both_tracers_are_recorded(fg: Funcgraph) -> None:
    """Fails if func-args does not record arguments, or if flags are not passed to the engine."""
    result = fg.record(
        "-l", "__main__.mid", "-O", "funcgraph-retaddr", "-O", "nosleep-time",
        "-B", "calls", "-p", "function", "-l", "__main__.leaf", "-O", "func_stack_trace", "-O", "func-args",
        "-O", "sym-offset",
        fg.script(APP),
    )  # fmt: skip
    assert result.returncode == 0
    assert "/* <-__main__.root:" in fg.run("report", "-B", "").stdout
    text = fg.run("report", "-B", "calls").stdout
    assert re.search(r" __main__\.leaf\(n=0\) <-__main__\.mid:\d+\n", text)
    assert "<-__main__.mid:" not in fg.run("report", "-B", "calls", "-O", "nosym-offset").stdout
    assert " => __main__.leaf\n => __main__.mid\n => __main__.root\n" in text


@pytest.mark.parametrize("tracer", ["function", "function_graph"])
def test_options_that_exclude_each_other_are_refused(fg: Funcgraph, tracer: str) -> None:
    """Fails if the check is left to the engine, which refuses in each traced process."""
    result = fg.record("-p", tracer, "--args", "-O", "func-no-repeats", fg.script(APP))
    assert result.returncode == 2
    assert "func-no-repeats: cannot be on together with arguments" in result.stderr


SIGNALS = """
import signal

def leaf():
    pass

def handler(signum, frame):
    leaf()

def work():
    signal.raise_signal(signal.SIGUSR1)

signal.signal(signal.SIGUSR1, handler)
work()
"""


def test_signals_are_shown_in_one_and_left_out_of_another(fg: Funcgraph) -> None:
    """Fails if the option only affects the report, or if it does not reach the engine."""
    names = ["-l", "__main__.work", "-l", "__main__.handler", "-l", "__main__.leaf"]
    fg.record("-q", *names, "-B", "off", *names, "-O", "nofuncgraph-irqs", fg.script(SIGNALS))
    assert calls(fg.trace, "") == {"__main__.work": 1, "__main__.handler": 1, "__main__.leaf": 1}
    assert calls(fg.trace, "off") == {"__main__.work": 1}
    text = fg.run("report", "-B", "").stdout
    lines = [line.rpartition(" | ")[2].strip() for line in text.splitlines()[4:]]
    assert [re.sub(r" /\*.*", "", line) for line in lines] == [
        "__main__.work() {", "==========> |", "__main__.handler() {", "__main__.leaf();", "}",
        "<========== |", "}",
    ]  # fmt: skip
    assert "handler" not in fg.run("report", "-B", "", "-O", "nofuncgraph-irqs").stdout


def test_an_option_can_turn_a_flag_off(fg: Funcgraph) -> None:
    fg.record("-q", "--args", "-O", "nofuncgraph-args", "-l", "__main__.leaf", fg.script(APP))
    assert "__main__.leaf();" in fg.run("report", "-O", "funcgraph-args").stdout


def test_a_clock_shows_in_the_times(fg: Funcgraph) -> None:
    fg.record("-q", "-C", "tai", "-l", "__main__.root", fg.script(APP))
    line = fg.run("report", "-O", "funcgraph-abstime").stdout.splitlines()[-1]
    assert float(line.split()[0]) > 1_600_000_000  # since 1970


def test_a_block_records_instances(fg: Funcgraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fg.folder)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(fg.runtime))

    def inner() -> None:
        pass

    def outer() -> None:
        inner()

    here = outer.__module__
    instances = {"in": {"filter": [f"{here}.*.inner"]}, "out": {"filter": [f"{here}.*.outer"], "args": True}}
    with funcgraph.record("block.dat", instances=instances) as recording:
        outer()
        outer()
    assert recording.totals["processes"] == 1
    assert set(calls("block.dat", "in").values()) == set(calls("block.dat", "out").values()) == {2}
    assert [buffer.events for buffer in TraceFile("block.dat").buffers] == [0, 4, 4]


@pytest.mark.parametrize(
    ("keywords", "error", "text"),
    [
        ({"instances": {"a": {"colour": 1}}}, TypeError, "instance 'a' has no option 'colour'"),
        ({"instances": {"a/b": {}}}, ValueError, "name: 'a/b': must be one word"),
        ({"instances": {"": {}}, "args": True}, ValueError, "name: '': another instance has that name"),
        ({"instances": {"a": {"filter": ["["]}}}, ValueError, r"filter: '\[': "),
        ({"instances": {"a": {"filter": "x"}}}, TypeError, "filter must be a list of patterns"),
        ({"clock": "sundial"}, ValueError, "clock: 'sundial': must be one of local"),
        ({"options": ["funcgraph-colour"]}, ValueError, "options: 'funcgraph-colour': must be one of"),
    ],
)
def test_a_block_refuses_what_cannot_be(
    keywords: dict[str, object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        funcgraph.record("t.dat", **keywords)  # type: ignore[arg-type]


def shape(text: bytes) -> list[str]:
    """Return a report without durations."""
    return re.sub(rb"(?m)^.{14}\|", b"|", text).decode().splitlines()


def test_a_selection_of_a_recording_is_what_a_recording_of_it_has(fg: Funcgraph) -> None:
    """Instances that record a part, beside one that records everything."""
    parts = {
        "named": ("-l __main__.leaf -l __main__.root", {"functions": ["*.leaf", "*.root"]}),
        "graph": ("-g __main__.mid", {"graph": ["__main__.mid"]}),
        "both": ("-l __main__.leaf -g __main__.mid", {"functions": ["*.leaf"], "graph": ["*.mid"]}),
        "deep": ("-g __main__.root --max-graph-depth 2", {"graph": ["*.root"], "max_depth": 2}),
    }
    words = [word for name, (flags, _) in parts.items() for word in ("-B", name, *flags.split())]
    assert fg.record("-l", "__main__.*", *words, fg.script(APP)).returncode == 0
    read, options = TraceFile(fg.trace), {"funcgraph-proc": False}
    for name, (_, selection) in parts.items():
        recorded = b"".join(read.report(options, buffers=read.find_buffers([name])))
        select = funcgraph.Selection(**selection)
        selected = b"".join(read.report(options, buffers=read.find_buffers([""]), select=select))
        assert shape(selected) == shape(recorded), name
        assert len(shape(selected)) > 12
