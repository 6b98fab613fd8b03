"""Native functions of a process that runs already: hooked, recorded with the Python ones, and as before
afterwards.

Broken by hand: the attacher gave no plans (nothing native was recorded); release() left the functions that
load objects replaced; the thread of the control socket was not hidden (its calls were in the trace).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from builds import needs_gil
from conftest import Funcgraph
from kill_switch import TRIP
from loaded_server import serving
from native_code import NativeCode
from planned import build, needs_plans
from sizes import NATIVE_CYCLES
from targets import STRANGER, as_root

pytestmark = needs_plans

COUNTER = """
    static long calls;

    __attribute__((noinline)) long step(long n) { calls++; return n % 2 ? n * 3 + 1 : n / 2; }
    long walk(long n)
    {
        long steps = 0;

        for (; n != 1; n = step(n))
            steps++;
        return steps;
    }
"""
#: Threads that call without a pause, until a line comes; each line is executed.
PROGRAM = """
import ctypes, sys, threading, time
ends = False
wrong = []
def load(path):
    library = ctypes.CDLL(path)
    library.walk.restype = ctypes.c_long
    return library
library = load(sys.argv[1])
def outer(n):
    return library.walk(n)
def run():
    while not ends:
        if outer(6) != 8:
            wrong.append(1)
        bytes(5000)  # by malloc()
        time.sleep(0.001)
threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads: thread.start()
print("ready", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
ends = True
for thread in threads: thread.join()
print(len(wrong))
"""


class Program:
    """The program, while it runs."""

    def __init__(self, process: subprocess.Popen[str], library: Path) -> None:
        self.process = process
        self.pid = process.pid
        self.code = NativeCode(process.pid, library)

    def run(self, line: str) -> str:
        """Have it execute a line; return what that prints."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        lines: list[str] = []
        while (answer := self.process.stdout.readline()) != "done\n":
            assert answer, "it has ended"
            lines.append(answer.rstrip("\n"))
        return "\n".join(lines)

    def end(self) -> None:
        """End it: each result was right."""
        assert self.process.communicate(timeout=60)[0] == "0\n"
        assert self.process.returncode == 0


@contextmanager
def running(
    fg: Funcgraph, folder: Path, *command: str, program: str = "", **environment: str
) -> Iterator[Program]:
    library = build(folder, COUNTER, "-Wl,--build-id", language="c", name="libcounter.so")
    words = [*command, sys.executable, "-c", program + PROGRAM, str(library)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env={**fg.env, **environment})
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Program(process, library)
    finally:
        process.kill()
        process.communicate()


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def record(fg: Funcgraph, pid: int, *patterns: str) -> str:
    """Record a process for a moment; return the report."""
    words = [word for pattern in patterns for word in ("-l", pattern)]
    done = fg.record("-q", "-P", str(pid), *words, "--", "sleep", "0.05")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return fg.run("report").stdout


def graph_of_each_thread(report: str) -> dict[str, str]:
    """Return what a report has behind the durations, of each thread."""
    lines: dict[str, list[str]] = {}
    for line in report.splitlines():
        if not line.startswith("#"):
            lines.setdefault(line.split()[0], []).append(line.rpartition("|  ")[2])
    return {task: "\n".join(graphs) for task, graphs in lines.items()}


GRAPH = r"""__main__\.outer\(\) \{
(?:  malloc \[libc\]\(\);
)*  walk \[libcounter\]\(\) \{
(?:    step \[libcounter\]\(\);
){8}  \}
"""


def test_a_busy_process_is_recorded_and_is_as_before(fg: Funcgraph, tmp_path: Path) -> None:
    with running(fg, tmp_path) as program:
        before = program.code.mappings()
        for _ in range(2):
            report = record(fg, program.pid, "__main__.outer", "*:mod:libcounter", "malloc:mod:libc")
            graphs = [text for text in graph_of_each_thread(report).values() if re.search(GRAPH, text)]
            assert len(graphs) == 3
            assert program.code.is_as_in_its_file()
            assert program.code.mappings() == before
        program.end()


@needs_gil("its objects are not made by malloc()")
def test_threads_of_funcgraph_are_not_in_the_trace(fg: Funcgraph, tmp_path: Path) -> None:
    with running(fg, tmp_path) as program:
        threads = program.run("import os; print(*os.listdir('/proc/self/task'))").split()
        report = record(fg, program.pid, "*alloc:mod:libc", "*free:mod:libc")
        tids = set(re.findall(r"-(\d+) +\|", report))
        assert tids and tids <= set(threads)
        program.end()


def test_the_attacher_brings_the_plans(fg: Funcgraph, tmp_path: Path) -> None:
    """The process has no cache, and its Python no decoder."""
    with running(fg, tmp_path, XDG_CACHE_HOME="/proc/none", PYTHONNOUSERSITE="1") as program:
        program.run("sys.executable = '/bin/false'")
        assert re.search("walk .libcounter.", record(fg, program.pid, "walk:mod:libcounter"))
        assert program.code.is_as_in_its_file()
        program.end()
    assert fg.sessions() == []


def test_an_object_that_is_loaded_later_is_hooked(fg: Funcgraph, tmp_path: Path) -> None:
    """The main thread loads it: the thread of the control socket is stopped like any other."""
    other = build(
        tmp_path, "long walk(long n) { return n + 5; }", "-Wl,--build-id", language="c", name="libother.so"
    )
    with running(fg, tmp_path) as program:
        with fg.start("record", "-P", str(program.pid), "-l", "walk:mod:libother", "--", "cat") as recorder:
            state = "print([state[2] for state in __import__('funcgraph')._engine.native_functions()])"
            followed = "print(getattr(sys.modules.get('funcgraph.native.hooking'), '_followed', ''))"
            wait_for(lambda: "ctypes" in program.run(followed))
            assert program.run(f"other = load({str(other)!r}); print(other.walk(1))") == "6"
            assert program.run(state) == "[True]"
            recorder.communicate(timeout=60)
        assert program.run(state) == "[False]"
        program.end()
    assert re.search("walk .libother.", fg.run("report").stdout)


def test_what_loads_objects_is_as_before(fg: Funcgraph, tmp_path: Path) -> None:
    loaders = (
        "import _imp, _ctypes; print(_imp.create_dynamic, _ctypes.dlopen, ctypes._dlopen is _ctypes.dlopen)"
    )
    with running(fg, tmp_path) as program:
        before = program.run(loaders)
        record(fg, program.pid, "walk:mod:libcounter")
        assert program.run(loaders) == before
        program.end()


def test_verbs_hook_and_the_program_changes_hooks_beside_them(fg: Funcgraph, tmp_path: Path) -> None:
    with running(fg, tmp_path, FUNCGRAPH="control") as program:
        pid = str(program.pid)
        done = fg.run("start", "-P", pid, "-l", "walk:mod:libcounter", "-l", "__main__.outer")
        assert (done.returncode, done.stderr) == (0, "")
        assert not program.code.is_as_in_its_file()
        program.run(
            "from funcgraph import Instance; one = Instance('one', tracer='function_graph', "
            "filter=['step:mod:libcounter']); one.tracing_on = True"
        )
        wait_for(lambda: "step [libcounter]" in program.run("print(one.trace())"))
        wait_for(lambda: "walk [libcounter]();" in fg.run("show", "-P", pid).stdout)
        program.run("one.close()")
        assert not program.code.is_as_in_its_file()
        assert fg.run("reset", "-P", pid).returncode == 0
        assert program.code.is_as_in_its_file()
        program.end()


#: A thread that blocks each signal, by a system call of its own.
BLOCKER = """
import ctypes, threading
def block():
    ctypes.CDLL(None).syscall(14, 0, (ctypes.c_ulong * 1)(2**64 - 1), None, 8)
    blocks.set()
    free.wait()
blocks, free = threading.Event(), threading.Event()
threading.Thread(target=block, daemon=True).start()
blocks.wait()
"""


def test_a_thread_that_cannot_be_stopped_is_named(fg: Funcgraph, tmp_path: Path) -> None:
    with running(fg, tmp_path, program=BLOCKER) as program:
        pid = str(program.pid)
        done = fg.record(
            "-q", "-P", pid, "-l", "__main__.outer", "-l", "*:mod:libcounter", "--", "sleep", "0.05"
        )
        why = r"thread \d+ \(.+\) cannot be stopped: it blocks signal 33"
        assert re.search(f"libcounter: 2 functions are not hooked: {why}", done.stderr)
        assert done.returncode == 0
        for event in ("f:x/walks libcounter:walk", "p:x/place walk+0:mod:libcounter"):
            done = fg.record("-q", "-P", pid, "-e", event, "--", "sleep", "0.05")
            assert re.search(f"libcounter: 1 function is not hooked: {why}", done.stderr)
            assert (done.returncode, done.stderr.count("recorder failed")) == (0, 0)
        done = fg.run("start", "-P", pid, "-l", "walk:mod:libcounter")
        assert done.returncode != 0
        assert re.search("libcounter: 1 function is not hooked: thread .* cannot be stopped", done.stderr)
        assert program.code.is_as_in_its_file()
        program.run("free.set()")
        wait_for(lambda: program.run("print(threading.active_count())") == "4")
        assert re.search("walk .libcounter.", record(fg, program.pid, "walk:mod:libcounter"))
        program.end()


def test_a_killed_recorder_leaves_no_hooks(fg: Funcgraph, tmp_path: Path) -> None:
    with running(fg, tmp_path) as program:
        recorder = fg.start(
            "record", "-P", str(program.pid), "-l", "__main__.outer", "-l", "*:mod:libcounter"
        )
        wait_for(lambda: not program.code.is_as_in_its_file())
        recorder.kill()
        recorder.communicate()

        def calls_and_looks() -> bool:
            program.run("for _ in range(5000): outer(6)")
            return program.code.is_as_in_its_file()

        wait_for(calls_and_looks)
        program.end()


def test_the_kill_switch_takes_hooks_off(fg: Funcgraph, tmp_path: Path) -> None:
    program_text = textwrap.dedent(TRIP)
    with running(fg, tmp_path, program=program_text) as program:
        program.run(
            "one = funcgraph.Instance('one', tracer='function_graph', filter=['*:mod:libcounter']); "
            "one.tracing_on = True"
        )
        assert not program.code.is_as_in_its_file()
        program.run("trip_kill_switch()")
        wait_for(program.code.is_as_in_its_file)  # threads call all the time
        assert program.run("print(funcgraph.killed() is not None)") == "True"
        program.end()


@as_root
def test_a_process_of_another_user(fg: Funcgraph, tmp_path: Path) -> None:
    """It gets plans that root has made. What it makes itself would be in a cache of its own."""
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    user = ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups")
    if subprocess.run([*user, sys.executable, "-c", ""], capture_output=True).returncode:
        pytest.skip("this Python is not for other users")
    with running(fg, tmp_path, *user, HOME="/nonexistent") as program:
        assert os.stat(f"/proc/{program.pid}").st_uid == STRANGER
        assert re.search("walk .libcounter.", record(fg, program.pid, "walk:mod:libcounter"))
        assert program.code.is_as_in_its_file()
        program.end()


@pytest.mark.timeout(300 + 5 * NATIVE_CYCLES)
def test_recordings_of_a_loaded_server_come_and_go(fg: Funcgraph) -> None:
    """Its answers stay right, and after each recording its code is that of its files."""
    with serving(fg.folder, control=False) as server, server.under_load() as clients:
        code = NativeCode.of_name(server.pid, "libc.so.6")
        for number in range(NATIVE_CYCLES):
            patterns = ("*:mod:libc",) if number % 4 == 0 else ("malloc:mod:libc", "pthread_*:mod:libc")
            words = [word for pattern in (*patterns, "__main__.*") for word in ("-l", pattern)]
            done = fg.record(
                "-q", "-P", str(server.pid), "-b", "1024", "--drop", *words, "--", "sleep", "0.02"
            )
            # A server that gets no processor calls nothing in so short a time.
            assert done.returncode == 0 or "was called; no trace was written" in done.stderr, done.stderr
            assert code.is_as_in_its_file(), done.stderr
            clients.wait_for(2)
    assert " [libc]" in fg.run("report").stdout  # without the GIL objects are not made by malloc()
