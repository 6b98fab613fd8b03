"""Whether a summary says that a function's own time was waiting, by what the kernel says of its threads."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyte
import pytest
from conftest import Funcgraph
from terminal_picture import lines_on

from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.tracedata.waiting import find_waiting

PROGRAM = """
import sys, threading, time

def wait_for_reply():
    time.sleep(0.3)

def fetch():
    for _ in range(3):
        wait_for_reply()

def compute():
    return sum(range(10_000_000))

def both():
    thread = threading.Thread(target=fetch, name="fetcher")
    thread.start()
    compute()
    thread.join()

globals()[sys.argv[1]]()
"""


def schedstat_counts() -> bool:
    """Return whether this kernel says how long threads run (CONFIG_SCHED_INFO)."""
    return Path("/proc/self/schedstat").read_text().split()[0] != "0"


pytestmark = pytest.mark.skipif(not schedstat_counts(), reason="the kernel does not tell")


@pytest.mark.parametrize("name", ["trace.fg", "trace.dat"])
def test_a_function_that_sleeps_is_told_with_what_shows_more(fg: Funcgraph, name: str) -> None:
    trace = fg.folder / name
    fg.record("-q", "-o", trace, fg.script(PROGRAM), "fetch")
    waiting = find_waiting(TraceFile(trace), 0)
    assert waiting is not None and waiting.name == "__main__.wait_for_reply"
    assert waiting.self_ns - waiting.task.cpu_ns - waiting.task.ready_ns == waiting.least_ns
    for command in (("summary",), ("report", "--tree")):
        text = fg.run(*command, "-i", trace).stdout
        assert "that __main__.wait_for_reply took by itself there" in text
        assert "record --c-calls shows" in text


@pytest.mark.one_python
def test_on_a_terminal_the_report_of_calls_ends_with_the_proposal(fg: Funcgraph) -> None:
    """Broken: only the tree and the summary had it. A file has the trace's text alone."""
    fg.record("-q", fg.script(PROGRAM), "fetch")
    command = [sys.executable, "-m", "funcgraph", "report"]
    *calls, waited, proposal = lines_on(pyte.Screen(80, 24), command, cwd=fg.folder, env=fg.env)
    assert "that __main__.wait_for_reply took by itself there" in waited
    assert proposal.startswith("record --c-calls shows")
    assert "\n".join(calls) == fg.run("report").stdout.rstrip("\n")


def test_a_function_that_computes_is_not_told_however_long_it_has_no_processor(fg: Funcgraph) -> None:
    """Fails if elapsed time counts as waiting: on a busy machine the thread is ready for most of it."""
    fg.record("-q", fg.script(PROGRAM), "compute")
    assert find_waiting(TraceFile(fg.trace), 0) is None
    assert "--c-calls" not in fg.run("summary").stdout


def test_of_a_computing_and_a_sleeping_thread_the_sleeping_one_is_told(fg: Funcgraph) -> None:
    fg.record("-q", fg.script(PROGRAM), "both")
    waiting = find_waiting(TraceFile(fg.trace), 0)
    assert waiting is not None
    assert (waiting.task.name, waiting.name) == ("fetcher", "__main__.wait_for_reply")


def test_a_recording_with_c_calls_shows_what_waited_and_needs_no_proposal(fg: Funcgraph) -> None:
    fg.record("-q", "--c-calls", fg.script(PROGRAM), "fetch")
    assert find_waiting(TraceFile(fg.trace), 0) is None


def test_each_thread_has_the_time_that_it_ran(fg: Funcgraph) -> None:
    fg.record("-q", fg.script(PROGRAM), "both")
    tasks = json.loads(fg.run("summary", "--json").stdout)["tasks"]
    for task in tasks:
        assert task["cpu_ns"] > 0 and task["ready_ns"] >= 0
    main, fetcher = sorted(tasks, key=lambda task: task["name"] == "fetcher")
    assert fetcher["cpu_ns"] < main["cpu_ns"]


def test_a_killed_program_has_no_such_times_and_no_proposal(fg: Funcgraph) -> None:
    ends_at_once = PROGRAM.replace("globals()[sys.argv[1]]()", "fetch(); import os; os._exit(0)")
    fg.record("-q", fg.script(ends_at_once))
    trace = TraceFile(fg.trace)
    assert [task.cpu_ns for task in trace.tasks] == [0]
    assert find_waiting(trace, 0) is None
