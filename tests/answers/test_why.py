"""Promise: `funcgraph why` says what a call spent its time on, in parts that add up to the nanosecond: on a
program whose every wait is planted, on each CPython; and nothing is counted twice."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph.answers.named_call import find_call
from funcgraph.answers.why import Why, why
from funcgraph.answers.why_text import why_lines
from funcgraph.tracedata import SelectionError
from funcgraph.tracedata.opened import Trace

HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()

SCRIPT = """
    import asyncio, gc, os, sys, threading, time

    LOCK = threading.Lock()

    def sleeps():
        time.sleep(0.05)

    def convoy():
        LOCK.acquire()
        LOCK.release()

    def holder(held):
        LOCK.acquire()
        held.set()
        time.sleep(0.1)
        LOCK.release()

    def reads(pipe):
        os.read(pipe, 1)

    def writer(pipe):
        time.sleep(0.1)
        os.write(pipe, b"x")

    def collects():
        gc.collect()

    def imports():
        import planted

    def needs_gil():
        for _ in range(10):
            time.sleep(0)

    def hog(done):
        while not done:
            pass

    def computes(n):
        total = 0
        for i in range(n):
            total += i * i
        return total

    def calls():
        for _ in range(5):
            computes(40_000)

    def mixed(i):
        time.sleep(0.05 if i % 10 == 3 else 0)

    def decorated():
        time.sleep(0.01)

    made = {"__name__": "__main__"}
    exec("def decorated(): pass", made)

    def recurses(n):
        if n:
            return recurses(n - 1)
        time.sleep(0.01)

    async def awaits():
        await asyncio.sleep(0.1)

    async def fetch():
        await awaits()

    async def blocks():
        time.sleep(0.2)

    async def late():
        await asyncio.sleep(0.001)

    async def main():
        await fetch()
        task = asyncio.create_task(late())
        await asyncio.sleep(0)
        await blocks()
        await task

    def start(function, *args):
        thread = threading.Thread(target=function, args=args)
        thread.start()
        return thread

    with open("planted.py", "w") as file:
        file.write("import time; time.sleep(0.05)")
    sys.path.insert(0, "")
    sleeps()
    held = threading.Event()
    thread = start(holder, held)
    held.wait()
    convoy()
    thread.join()
    read, write = os.pipe()
    thread = start(writer, write)
    reads(read)
    thread.join()
    heap = [[] for _ in range(300_000)]
    collects()
    imports()
    done = []
    thread = start(hog, done)
    needs_gil()
    done.append(1)
    thread.join()
    calls()
    for i in range(40):
        mixed(i)
    for _ in range(3):
        decorated()
    for _ in range(30):
        made["decorated"]()
    recurses(3)
    asyncio.run(main())
    sys.stdout.flush()
    os._exit(0) if "exit" in sys.argv else None
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("why")
    fg = Funcgraph(folder, folder)
    made = fg.record("-q", "--why", fg.script(SCRIPT))
    assert made.returncode == 0, made.stderr
    return fg.trace


@pytest.fixture
def trace(recorded: Path) -> Iterator[Trace]:
    with funcgraph.open(recorded) as opened:
        yield opened


def adds_up(answer: Why) -> bool:
    groups = [group for group in (answer.slow, answer.typical) if group is not None]
    return all(sum(part.ns for part in one.sums.parts) == one.sums.total_ns for one in groups)


PLANTED = [
    ("sleeps", "sleep", "time.sleep"),
    ("convoy", "lock", "_thread.lock.acquire"),
    ("reads", "io", "posix.read"),
    ("collects", "gc", None),
    ("imports", "import", None),
    ("calls", "callee", "__main__.computes"),
    ("computes", "own", None),
    ("fetch", "suspended", "asyncio.tasks.sleep"),
    ("awaits", "suspended", "asyncio.tasks.sleep"),
    ("late", "ready", None),
    ("blocks", "sleep", "time.sleep"),
]


@pytest.mark.parametrize(("function", "kind", "name"), PLANTED, ids=[row[0] for row in PLANTED])
def test_what_was_planted_is_the_largest_part(trace: Trace, function: str, kind: str, name: str) -> None:
    answer = why(trace, f"__main__.{function}", slowest=True)
    largest = answer.slow.sums.parts[0]
    assert (largest.kind, largest.function and largest.function.name) == (kind, name), answer.slow.sums
    assert adds_up(answer)
    assert answer.call is not None
    assert answer.slow.sums.total_ns == answer.call.end_ns - answer.call.begin_ns


@pytest.mark.skipif(not HAS_GIL, reason="no interpreter lock")
def test_a_hog_holds_the_gil(trace: Trace) -> None:
    answer = why(trace, "__main__.needs_gil")
    largest = answer.slow.sums.parts[0]
    assert (largest.kind, largest.label) == ("gil", "__main__.hog")
    assert adds_up(answer)


def test_slow_calls_beside_typical_ones(trace: Trace) -> None:
    answer = why(trace, "__main__.mixed")
    assert answer.calls == 40
    assert answer.slow.calls == answer.slow.sums.calls == 4
    assert answer.typical is not None
    assert answer.typical.most_ns < answer.slow.least_ns
    assert answer.slow.sums.parts[0].kind == "sleep"
    assert answer.slow.sums.parts[0].count == 4
    assert adds_up(answer)


def test_functions_of_one_name_are_not_mixed(trace: Trace) -> None:
    """A decorator may make another function of the same name, as that of Celery's tasks does."""
    answer = why(trace, "__main__.decorated")
    assert (answer.calls, answer.others) == (3, (" (<string>:1)",))
    assert answer.slow.sums.parts[0].kind == "sleep"
    assert "another function of the same name is left out (<string>:1)" in why_lines(answer, "trace.fg", 80)


def test_an_inner_call_is_a_part_of_the_outer_one(trace: Trace) -> None:
    answer = why(trace, "__main__.recurses")
    assert (answer.calls, answer.slow.calls, answer.typical) == (1, 1, None)
    inner = why(trace, "__main__.recurses", nth=4)
    assert inner.slow.sums.total_ns < answer.slow.sums.total_ns
    assert next(part.count for part in answer.slow.sums.parts if part.kind == "callee") == 1
    assert adds_up(answer)
    assert adds_up(inner)


def test_all_is_recorded_and_nothing_unknown(trace: Trace) -> None:
    answer = why(trace, "__main__.sleeps")
    assert set(answer.missing) <= ({"with"} if HAS_GIL else {"with", "gil"})
    everything = why(trace, "__main__.<module>").slow.sums
    assert not [part for part in everything.parts if part.kind == "unknown" and part.ns]


def test_a_call_is_named_by_its_number_or_a_time(trace: Trace) -> None:
    fourth = find_call(trace, "__main__.mixed:4")
    assert fourth == find_call(trace, "__main__.mixed:-37")
    assert str(fourth) == "__main__.mixed:4"
    sleep = find_call(trace, f"{fourth.task.tid}@{(fourth.begin_ns + fourth.end_ns) / 2e9:.6f}")
    assert sleep.function == "time.sleep"
    assert fourth.begin_ns <= sleep.begin_ns
    assert sleep.end_ns <= fourth.end_ns
    assert find_call(trace, "*.convoy").number == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("__main__.mixed:41", "has 40 calls"),
        ("__main__.mixed", "has 40 calls: __main__.mixed:1 is the first one"),
        ("__main__.nothing:1", "no function of the trace matches"),
        ("__main__.*s:1", "functions match"),
        ("MainThread@soon:1", "no function of the trace matches"),
        ("nobody@1.5", "no task 'nobody'"),
    ],
)
def test_a_name_of_no_call_is_one_clear_error(trace: Trace, name: str, text: str) -> None:
    with pytest.raises(SelectionError, match=text):
        find_call(trace, name)


def test_the_command_prints_one_screen_with_the_evidence(recorded: Path, tmp_path: Path) -> None:
    fg = Funcgraph(tmp_path, tmp_path)
    text = fg.run("why", "__main__.mixed", "-i", recorded)
    assert text.returncode == 0, text.stderr
    lines = text.stdout.splitlines()
    assert len(lines) <= 24
    assert all(len(line) <= 80 for line in lines if not line.startswith("the longest: "))
    shown = lines[-1].removeprefix("the longest: funcgraph ").split()
    report = fg.run(*shown)
    assert "time.sleep" in report.stdout
    assert report.stdout.count("__main__.mixed") >= 1
    answer = json.loads(fg.run("why", "__main__.mixed", "--slowest", "--json", "-i", recorded).stdout)
    assert sum(part["ns"] for part in answer["slow"]["parts"]) == answer["slow"]["total_ns"]


def test_brief_c_functions_are_left_out_unless_all_are_wanted(recorded: Path, tmp_path: Path) -> None:
    fg = Funcgraph(tmp_path, tmp_path)
    text = fg.run("report", "-i", recorded).stdout
    assert "_thread.lock.acquire()" in text
    assert "_thread.lock.release()" not in text
    script = "def f(): return len([]), sum([])\nf()"
    assert fg.record("-q", "--why", "--c-calls", "-c", script).returncode == 0
    text = fg.run("report").stdout
    assert "builtins.len()" in text
    assert "builtins.sum()" in text


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    fg = Funcgraph(tmp_path, tmp_path)
    assert fg.record("-q", "-c", "def f(): pass\nf()").returncode == 0
    with funcgraph.open(fg.trace) as opened:
        assert why(opened, "__main__.f").missing == ("c_calls", "gil", "gc")
    text = fg.run("why", "__main__.f").stdout
    assert "not recorded, so in other parts (record --why):\n  C functions: " in text


def test_a_block_of_the_program_records_all_that_is_needed(tmp_path: Path) -> None:
    fg = Funcgraph(tmp_path, tmp_path)
    script = fg.script("""
        import time, funcgraph
        def f(): time.sleep(0.01)
        with funcgraph.record("trace.fg", why=True):
            f()
        """)
    if not HAS_GIL:
        pytest.skip("a block records all or nothing, and there is no interpreter lock")
    assert fg.plain(sys.executable, script).returncode == 0
    with funcgraph.open(fg.trace) as opened:
        assert why(opened, "__main__.f").slow.sums.parts[0].kind == "sleep"
