"""Promise: `funcgraph why` says what a call spent its time on, in parts that add up to the nanosecond: on a
program whose every wait is planted, on each CPython; and nothing is counted twice."""

from __future__ import annotations

import json
import sys
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph.answers.named_call import calls_of, find_call
from funcgraph.answers.thread_waits import ready_waits
from funcgraph.answers.why import Why, why
from funcgraph.answers.why_text import why_lines
from funcgraph.tracedata import Selection, SelectionError
from funcgraph.tracedata.call_parts import PartSum
from funcgraph.tracedata.opened import Trace

HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()

# What is planted lasts so long by itself, or until something later in the program's order: on any machine.
SCRIPT = """
    import asyncio, gc, os, socket, sys, threading, time

    LOCK = threading.Lock()
    READER, WRITER = socket.socketpair()
    TURNS = [0]

    def sleeps():
        time.sleep(0.05)

    def convoy():
        LOCK.acquire(timeout=0.1)

    def holder(held, let_go):
        with LOCK:
            held.set()
            let_go.wait()

    def reads():
        try:
            READER.recv(1)
        except TimeoutError:
            pass

    class Sleeper:
        def __del__(self):
            time.sleep(0.05)

    def collects():
        sleeper = Sleeper()
        sleeper.itself = sleeper
        del sleeper
        gc.collect()

    def imports():
        import planted

    def needs_gil():  # a hog gives it up when a thread has waited for the switch interval
        before = TURNS[0]
        while TURNS[0] == before:
            time.sleep(0.001)

    def hog(done):
        while not done:
            TURNS[0] += 1

    def computes(n):
        total = 0
        for i in range(n):
            total += i * i
        return total

    def calls():
        for _ in range(5):
            computes(40_000)

    def mixed(seconds):
        time.sleep(seconds)

    def took(function, *args):
        begin = time.monotonic()
        function(*args)
        return time.monotonic() - begin

    def decorated(seconds):
        time.sleep(seconds)

    made = {"__name__": "__main__"}
    exec("def decorated(): pass", made)

    def recurses(n):
        if n:
            return recurses(n - 1)
        time.sleep(0.01)

    async def gate(opened):
        await opened

    async def awaits(opened):
        await gate(opened)

    async def fetch(opened):
        await awaits(opened)

    async def opens(opened):
        asyncio.get_running_loop().call_later(0.1, opened.set_result, None)

    async def blocks():
        time.sleep(0.2)

    async def late():
        await asyncio.sleep(0.001)

    async def main():
        opened = asyncio.get_running_loop().create_future()
        fetching = asyncio.create_task(fetch(opened))
        await asyncio.create_task(opens(opened))
        await fetching
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
    gc.disable()
    sleeps()
    held, let_go = threading.Event(), threading.Event()
    thread = start(holder, held, let_go)
    held.wait()
    convoy()
    let_go.set()
    thread.join()
    READER.settimeout(0.1)
    reads()
    collects()
    imports()
    sys.setswitchinterval(0.05)
    done = []
    thread = start(hog, done)
    needs_gil()
    done.append(1)
    thread.join()
    sys.setswitchinterval(0.005)
    calls()
    longest = max([took(mixed, 0) for _ in range(36)])
    for _ in range(4):
        mixed(max(0.05, 2 * longest))
    all_of_them = sum([took(made["decorated"]) for _ in range(30)])
    for _ in range(3):
        decorated(max(0.01, all_of_them))
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


def part_of(answer: Why, kind: str, name: str | None = None) -> PartSum:
    """Return a part of the slow calls by its kind, and the name of its function or holder."""
    [part] = [
        one
        for one in answer.slow.sums.parts
        if one.kind == kind and (one.label or (one.function and one.function.name)) == name
    ]
    return part


MS = 990_000  # a millisecond; clocks may differ by a hundredth
PLANTED = [
    ("sleeps", "sleep", "time.sleep", 50),
    ("convoy", "lock", "_thread.lock.acquire", 100),
    ("reads", "io", "_socket.socket.recv", 100),
    ("collects", "gc", None, 50),
    ("imports", "import", None, 50),
    ("fetch", "suspended", "__main__.gate", 100),
    ("awaits", "suspended", "__main__.gate", 100),
    ("gate", "suspended", None, 100),
    ("late", "ready", None, 199),  # its timer is due after 1 ms, and blocks() takes 200
    ("blocks", "sleep", "time.sleep", 200),
]


@pytest.mark.parametrize(("function", "kind", "name", "ms"), PLANTED, ids=[row[0] for row in PLANTED])
def test_what_was_planted_has_its_part(
    trace: Trace, function: str, kind: str, name: str | None, ms: int
) -> None:
    answer = why(trace, f"__main__.{function}", slowest=True)
    assert part_of(answer, kind, name).ns >= ms * MS, answer.slow.sums
    assert adds_up(answer)
    assert answer.call is not None
    assert answer.slow.sums.total_ns == answer.call.end_ns - answer.call.begin_ns


def test_own_and_called_time_are_those_of_the_calls(trace: Trace) -> None:
    calls, computes = why(trace, "__main__.calls"), why(trace, "__main__.computes", slowest=True)
    [batch] = trace.call_columns(select=Selection(functions=("__main__.computes",)), texts=False)
    called = part_of(calls, "callee", "__main__.computes")
    assert (called.count, called.ns) == (5, sum(batch.duration_ns))
    assert computes.call is not None
    own_ns = batch.duration_ns[batch.begin_ns.tolist().index(computes.call.begin_ns)]
    assert part_of(computes, "own").ns == own_ns
    assert adds_up(calls)


@pytest.mark.skipif(not HAS_GIL, reason="no interpreter lock")
def test_a_hog_holds_the_gil(trace: Trace) -> None:
    answer = why(trace, "__main__.needs_gil")
    assert part_of(answer, "gil", "__main__.hog").ns >= 50 * MS
    assert adds_up(answer)


def test_a_callback_is_ready_until_the_loop_runs_it(trace: Trace) -> None:
    """Fails if a wait has the time at which its record was written: the thread may be preempted before."""
    names = {number: function.name for number, function in enumerate(trace.functions)}
    events: dict[int, list[tuple[int, str, str | None]]] = {}
    for batch in trace.columns(buffers=[trace.buffers[0].name]):
        for kind, time_ns, task, function in zip(
            batch.kind, batch.time_ns, batch.task, batch.function, strict=True
        ):
            row = (time_ns, batch.KINDS[kind], names.get(function))
            events.setdefault(task, []).append(row)
    ready = [overlay for overlay in ready_waits(trace, 0) if not overlay.is_earlier]
    assert ready
    for overlay in ready:
        later = events[overlay.task][bisect_left(events[overlay.task], (overlay.end_ns,)) :]
        assert later[0][1:] == ("entry", "asyncio.events.Handle._run")


def test_slow_calls_beside_typical_ones(trace: Trace) -> None:
    answer = why(trace, "__main__.mixed")
    assert answer.calls == 40
    assert answer.slow.calls == answer.slow.sums.calls == 4
    assert answer.typical is not None
    assert answer.typical.most_ns < answer.slow.least_ns
    sleep = part_of(answer, "sleep", "time.sleep")
    assert sleep.count == 4
    assert sleep.ns >= 4 * 50 * MS
    assert adds_up(answer)


def test_functions_of_one_name_are_not_mixed(trace: Trace) -> None:
    """A decorator may make another function of the same name, as that of Celery's tasks does."""
    answer = why(trace, "__main__.decorated")
    assert (answer.calls, answer.others) == (3, (" (<string>:1)",))
    assert part_of(answer, "sleep", "time.sleep").ns >= 10 * MS
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
    last = find_call(trace, "__main__.mixed:40")
    assert last == find_call(trace, "__main__.mixed:-1")
    assert str(last) == "__main__.mixed:40"
    *_, sleep = (call for call in calls_of(trace, "time.sleep") if call.end_ns <= last.end_ns)
    assert last.begin_ns <= sleep.begin_ns
    assert find_call(trace, f"{last.task.tid}@{(sleep.begin_ns + sleep.end_ns) / 2e9:.6f}") == sleep
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
    # The kernel counts a thread's time when it switches: one that never waits may have run for no time.
    assert fg.record("-q", "-c", "import time\ndef f(): time.sleep(0.01)\nf()").returncode == 0
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
        assert part_of(why(opened, "__main__.f"), "sleep", "time.sleep").ns >= 10 * MS
