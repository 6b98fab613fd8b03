"""What the kernel says of how long threads ran, or were ready to: in a summary that says whether a function's
own time was waiting, and in `why`."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pyte
import pytest
from conftest import Funcgraph
from terminal_picture import lines_on

import funcgraph
from funcgraph.answers.why import Why, why
from funcgraph.answers.why_text import processor_wait_text
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


STARVED = """
import os, subprocess, threading

def waited():
    with open(f"/proc/self/task/{threading.get_native_id()}/schedstat") as file:
        return int(file.read().split()[1])

def starved():
    before = waited()
    while waited() - before < 20_000_000:
        sum(range(100_000))
    return waited() - before

def unharmed():
    pass

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
hogs = [subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"]) for _ in range(2)]
try:
    print(starved())
finally:
    for hog in hogs:
        hog.kill()
        hog.wait()
unharmed()
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


@pytest.mark.parametrize("name", ["trace.fg", "trace.dat"])
def test_why_bounds_how_long_the_thread_of_a_call_had_no_processor(fg: Funcgraph, name: str) -> None:
    """The thread shares one processor with two loops until /proc says that it waited for 20 ms: the recording
    has at least what it waited in the call. Broken by: time that the thread ran, or slept, in its place."""
    trace = fg.folder / name
    starved_ns = int(fg.record("-q", "-o", trace, fg.script(STARVED)).stdout)
    answer = json.loads(fg.run("why", "__main__.starved", "--json", "-i", trace).stdout)
    (task,) = json.loads(fg.run("summary", "--json", "-i", trace).stdout)["tasks"]
    assert 20_000_000 <= starved_ns <= answer["processor_wait_ns"] == task["ready_ns"]
    assert "processor" not in answer["missing"]
    text = fg.run("why", "__main__.starved", "-i", trace).stdout
    assert re.search("^waits for a processor: at most ", text, re.MULTILINE)
    short = fg.run("why", "__main__.unharmed", "-i", trace).stdout.splitlines()
    assert any(
        re.fullmatch(r"waits for .* at most \S+ m?s, which is all in the recording", line) for line in short
    )


def test_why_says_what_the_bound_is_of(fg: Funcgraph) -> None:
    """Of a call a share, unless it is shorter; of slow calls a share of their sum; 0 is said as well."""
    fg.record("-q", fg.script(PROGRAM), "fetch")
    with funcgraph.open(fg.trace) as trace:
        one = why(trace, "__main__.wait_for_reply", nth=1)
        several = why(trace, "__main__.wait_for_reply")
        assert one.processor_wait_ns == trace.tasks[0].ready_ns
        assert several.processor_wait_ns == sum(task.ready_ns for task in trace.tasks)

    def said(answer: Why, share: float) -> str:
        wait_ns = round(answer.slow.sums.total_ns * share)
        return processor_wait_text(replace(answer, processor_wait_ns=wait_ns))

    assert re.fullmatch(
        r"waits for a processor: at most 25.0% of it \(\S+ ms in the recording\)", said(one, 0.25)
    )
    assert re.fullmatch(r"waits for .*: at most \S+ ms, which is all in the recording", said(one, 1.5))
    assert ": at most 25.0% of slow calls (" in said(several, 0.25)
    assert said(one, 0) == "waits for a processor: none in the recording"


def test_of_a_killed_program_the_wait_for_a_processor_is_missing(fg: Funcgraph) -> None:
    fg.record("-q", fg.script(PROGRAM.replace("globals()[sys.argv[1]]()", "fetch(); import os; os._exit(0)")))
    with funcgraph.open(fg.trace) as trace:
        answer = why(trace, "__main__.fetch")
    assert (answer.processor_wait_ns, answer.missing[-1]) == (None, "processor")
    assert processor_wait_text(answer) == ""
