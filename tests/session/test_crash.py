"""After a crash of the program or of the recorder, the trace has everything recorded before."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from conftest import Funcgraph

pytestmark = pytest.mark.one_python

# Writes its number of calls into a mapped file, so that the count survives any crash.
COUNTED = """
import ctypes, faulthandler, mmap, os, signal, sys, time

with open("count", "w+b") as file:
    file.truncate(8)
    count = mmap.mmap(file.fileno(), 8)
cell = ctypes.c_uint64.from_buffer(count)

def step():
    pass

def main(limit):
    print("ready", flush=True)
    while not limit or cell.value < limit:
        step()
        cell.value += 1

"""


def count(fg: Funcgraph) -> int:
    return int.from_bytes((fg.folder / "count").read_bytes(), "little")


ENDS = {
    "os._exit": "os._exit(3)",
    "kill -9": "os.kill(os.getpid(), signal.SIGKILL)",
    "abort": "os.abort()",
    "segfault": "ctypes.string_at(0)",
    "bus error": "signal.raise_signal(signal.SIGBUS)",
    "exit of a thread": "from threading import *; Thread(target=os._exit, args=[3]).start(); time.sleep(9)",
}


@pytest.mark.parametrize("end", ENDS)
def test_every_call_before_the_programs_end_is_in_the_trace(fg: Funcgraph, end: str) -> None:
    script = fg.script(f"{COUNTED}\nmain(1234)\n{ENDS[end]}\n")
    result = fg.record("-q", "-l", "__main__.step", script, preexec_fn=no_core)
    assert result.returncode in (3, -signal.SIGKILL, -signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS)
    assert fg.calls()["__main__.step"] == 1234
    assert fg.sessions() == []


def no_core() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@pytest.mark.parametrize("delay_s", [0.0, 0.01, 0.05, 0.2, 0.7])
def test_program_killed_at_a_random_moment(fg: Funcgraph, delay_s: float) -> None:
    # Wait until the first call is over: a program without calls leaves no trace.
    script = fg.script(f"{COUNTED}\nstep()\ncell.value += 1\nprint(os.getpid(), flush=True)\nmain(0)\n")
    process = fg.start("record", "-q", "-l", "__main__.step", script)
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    time.sleep(delay_s)
    os.kill(pid, signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert errors == ""
    # The program counts a call after making it. If it is killed in between, the trace has one more.
    assert fg.calls()["__main__.step"] - count(fg) in (0, 1)


@pytest.mark.parametrize("delay_s", [0.0, 0.3])
def test_recorder_killed_program_goes_on_and_recover_makes_the_trace(fg: Funcgraph, delay_s: float) -> None:
    script = fg.script(
        f"{COUNTED}\nmain(20000)\nopen('before', 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.01)\nmain(25000)\nopen('after', 'w').close()\n"
    )
    process = fg.start("record", "-l", "__main__.step", script)
    wait_for(fg.folder / "before")
    time.sleep(delay_s)
    process.kill()
    process.wait(timeout=30)
    (fg.folder / "go").touch()
    wait_for(fg.folder / "after")  # the program finished its work
    process.communicate(timeout=30)
    assert not fg.trace.exists()

    (session,) = fg.sessions()
    status = fg.run("status")
    assert str(session) in status.stdout
    assert "the recorder was killed" in status.stdout

    result = fg.run("recover", session)
    assert result.returncode == 0, result.stderr
    assert 20000 <= fg.calls()["__main__.step"] <= 25000
    assert fg.sessions() == []
    assert not Path(f"{fg.trace}.part").exists()


def test_recover_tells_of_forked_processes_that_could_not_be_traced(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import os, resource, signal

        def leaf(): pass

        leaf()
        pid = os.fork()
        if pid == 0:
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
            leaf()
            os._exit(0)
        os.waitpid(pid, 0)
        print(pid, flush=True)
        os.kill(os.getppid(), signal.SIGKILL)
        """
    )
    killed = fg.record("-l", "*.leaf", script)
    assert killed.returncode == -signal.SIGKILL
    result = fg.run("recover", *fg.sessions())
    assert result.returncode == 0
    reported = "1 forked process could not be traced: no file descriptor was left"
    assert f"funcgraph: {reported} ({killed.stdout.strip()})\n" in result.stderr
    assert fg.calls() == {"__main__.leaf": 1}


def test_recover_while_the_program_still_runs_leaves_it_running(fg: Funcgraph) -> None:
    script = fg.script(
        f"{COUNTED}\nmain(5000)\nopen('before', 'w').close()\nwhile not os.path.exists('go'):\n"
        "    step(); time.sleep(0.001)\nopen('after', 'w').close()\n"
    )
    process = fg.start("record", "-l", "__main__.step", script)
    wait_for(fg.folder / "before")
    process.kill()
    process.wait(timeout=30)
    result = fg.run("recover", "-o", "found.dat", *fg.sessions())
    assert result.returncode == 0, result.stderr
    assert fg.calls("found.dat")["__main__.step"] >= 5000
    assert not fg.trace.exists()
    (fg.folder / "go").touch()
    wait_for(fg.folder / "after")
    process.communicate(timeout=30)


def test_recover_without_a_name_takes_the_only_session_and_lists_several(fg: Funcgraph) -> None:
    script = fg.script("import time\ndef f(): pass\nf()\nprint('ready', flush=True)\ntime.sleep(30)\n")
    processes = []
    for name in ("one.dat", "two.dat"):
        process = fg.start("record", "-o", name, script, start_new_session=True)
        assert process.stdout is not None
        process.stdout.readline()
        processes.append(process)
    time.sleep(0.2)
    for process in processes:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=30)
    result = fg.run("recover")
    assert result.returncode == 2
    for session in fg.sessions():
        assert str(session) in result.stderr
    assert "one.dat" in result.stderr
    assert "two.dat" in result.stderr
    for session in fg.sessions():
        assert fg.run("recover", session).returncode == 0
    assert fg.calls("one.dat")["__main__.f"] == fg.calls("two.dat")["__main__.f"] == 1


def test_recover_refuses_a_session_that_is_alive(fg: Funcgraph) -> None:
    script = fg.script("def f(): pass\nf()\nprint('ready', flush=True)\ninput()\n")
    process = fg.start("record", script)
    assert process.stdout is not None
    process.stdout.readline()
    (session,) = fg.sessions()
    result = fg.run("recover", session)
    assert (result.returncode, result.stderr) == (
        2,
        f"funcgraph: {session}: its recorder is alive; it will write the trace itself\n",
    )
    assert "recording" in fg.run("status").stdout
    process.communicate("\n", timeout=30)
    assert process.returncode == 0
    assert fg.calls()["__main__.f"] == 1


@pytest.mark.parametrize("what", ["missing", "folder", "text"])
def test_recover_of_what_is_none(fg: Funcgraph, what: str) -> None:
    path = fg.folder / "thing"
    if what == "folder":
        path.mkdir()
    elif what == "text":
        path = fg.folder / "thing.part"
        path.write_text("no spool\n" * 1000)
    result = fg.run("recover", path)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "thing" in result.stderr
    assert path.exists() == (what != "missing")


def test_part_of_a_killed_recorder_is_not_overwritten(fg: Funcgraph) -> None:
    part = Path(f"{fg.trace}.part")
    part.write_bytes(b"precious")
    result = fg.record("-c", "print('ran')")
    assert (result.returncode, result.stdout) == (2, "")
    assert "funcgraph recover" in result.stderr
    assert part.read_bytes() == b"precious"
    assert fg.sessions() == []


def wait_for(path: Path, timeout_s: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not path.exists():
        assert time.monotonic() < deadline, path
        time.sleep(0.01)
