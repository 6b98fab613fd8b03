"""A connection to a process is its tracefs, and each way in which it can fail is one clear error."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from served import SERVE, WAIT, served

from funcgraph.control import processes, sockets
from funcgraph.control.client import NotServedError, ProcessEndedError, connect, wait_until_ready

WORKS = f"""
    {SERVE}
    def work(n):
        return n + 1
    for line in sys.stdin:
        for i in range(int(line)):
            work(i)
        print('done', flush=True)
"""


def test_a_function_is_traced_from_outside(tmp_path: Path) -> None:
    with served(tmp_path, WORKS) as program, program.connect() as process:
        process.mkdir("instances/shop")
        process.write_text("instances/shop/set_ftrace_filter", "__main__.work\n")
        process.write_text("instances/shop/current_tracer", "function_graph")
        with process.open("instances/shop/trace_pipe", os.O_RDONLY) as pipe:
            assert not pipe.ready
            with pytest.raises(BlockingIOError):
                pipe.read(0, 100)
            program.send_line("3")
            assert program.line() == "done"
            assert wait_until_ready(pipe)
            assert pipe.read_all().count(b"__main__.work();") == 3
        assert process.read_text("instances/shop/current_tracer") == "function_graph\n"
        process.rmdir("instances/shop")
        assert "shop" not in process.list("instances")


def test_the_handler_is_in_no_trace(tmp_path: Path) -> None:
    with served(tmp_path, WORKS) as program, program.connect() as process:
        process.write_text("set_event", "py/raise\n")
        process.write_text("function_profile_enabled", "1")
        process.write_text("current_tracer", "function_graph")
        with pytest.raises(FileNotFoundError):
            process.stat("nothing")  # raises in the process, too
        process.write_text("trace_marker", "hello\n")  # from here on the thread has a task
        with pytest.raises(FileNotFoundError):
            process.stat("nothing")
        program.send_line("1")
        program.line()
        names = [line for line in process.read_text("trace").splitlines() if "|" in line and line[0] != "#"]
        assert sum("__main__.work" in line for line in names) == 1
        assert sum("hello" in line for line in names) == 1
        assert not [line for line in names if "funcgraph" in line or "json" in line or "raise" in line]
        known = process.call("info")["functions"]
        assert process.call("info")["functions"] == known


def test_a_text_of_more_than_one_answer_is_read_whole(tmp_path: Path) -> None:
    with served(tmp_path, WORKS) as program, program.connect() as process:
        process.write_text("set_ftrace_filter", "__main__.work\n")
        process.write_text("current_tracer", "function_graph")
        program.send_line("30000")
        program.line()
        text = process.read_text("trace")
        assert len(text) > 1 << 20
        assert text.count("__main__.work();") == 30_000


@pytest.mark.one_python
def test_no_such_process() -> None:
    child = subprocess.Popen(["true"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(ProcessLookupError, match=f"no process {child.pid}"):
        connect(child.pid)  # a zombie
    child.wait()
    with pytest.raises(ProcessLookupError, match=f"no process {child.pid}"):
        connect(child.pid)


@pytest.mark.one_python
def test_a_process_that_does_not_serve() -> None:
    child = subprocess.Popen(["sleep", "60"])
    try:
        with pytest.raises(
            NotServedError, match=r"attach to it, .* FUNCGRAPH=control, .* funcgraph.serve\(\)"
        ):
            connect(child.pid)
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("end", [signal.SIGKILL, None])
def test_a_process_that_has_ended_meanwhile(tmp_path: Path, end: signal.Signals | None) -> None:
    with served(tmp_path) as program:
        process = program.connect()
        file = process.open("trace", os.O_RDONLY)
        if end is None:
            assert program.end() == 0
        else:
            program.process.send_signal(end)
            program.process.wait()
        for _ in range(2):
            with pytest.raises(ProcessEndedError, match=f"process {program.pid} has ended"):
                process.list("")
        file.close()
        process.close()
        assert program.pid not in processes.running()


def test_a_process_that_stops_to_serve(tmp_path: Path) -> None:
    stop = "funcgraph.serve(False); print('stopped', flush=True); sys.stdin.read()"
    code = f"{SERVE}; sys.stdin.readline(); {stop}"
    with served(tmp_path, code) as program, program.connect() as process:
        program.send_line("stop")
        assert program.line() == "stopped"
        with pytest.raises(ProcessEndedError, match="stopped serving"):
            process.list("")
        with pytest.raises(NotServedError):
            program.connect()
        assert not Path(program.path).exists()
        assert not Path(program.path).parent.exists()


def test_a_client_can_make_it_stop(tmp_path: Path) -> None:
    code = f"{SERVE}; sys.stdin.readline(); print(funcgraph.serve(), flush=True); sys.stdin.read()"
    with served(tmp_path, code) as program:
        with program.connect() as process:
            assert process.call("stop_serving") is True
        with pytest.raises(NotServedError):
            program.connect()
        program.send_line("serve again")
        assert Path(program.line()).parent == Path(program.path).parent
        with program.connect() as process:
            assert process.call("info")["pid"] == program.pid
        assert program.end() == 0


def test_a_stopped_process_is_told_from_one_that_has_ended(tmp_path: Path) -> None:
    with served(tmp_path) as program:
        program.process.send_signal(signal.SIGSTOP)
        with pytest.raises(TimeoutError, match=f"process {program.pid} did not answer within 0.2 s"):
            program.connect(timeout_s=0.2)
        program.process.send_signal(signal.SIGCONT)
        with program.connect() as process:
            assert process.call("info")["pid"] == program.pid


def test_the_running_ones_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with served(tmp_path) as one, served(tmp_path) as other:
        assert {one.pid, other.pid} <= set(processes.running())
        one.process.kill()
        one.process.wait()
        assert one.pid not in processes.running()
        assert Path(one.path).exists()
        sockets.remove_stale()
        assert not Path(one.path).exists()
        assert Path(other.path).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a mount namespace")
def test_one_in_another_mount_namespace_is_found(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    script = tmp_path / "app.py"
    script.write_text(WAIT)
    mounted = f"mount -t tmpfs none {inside} && exec {sys.executable} {script}"
    program = subprocess.Popen(
        ["unshare", "--mount", "sh", "-c", mounted],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(inside)},
    )
    try:
        assert program.stdout
        line = program.stdout.readline()
        if not line:
            pytest.skip(f"no mount namespace can be made here: {program.stderr and program.stderr.read()}")
        assert not Path(line.split()[1]).exists()
        with connect(program.pid) as process:
            assert process.call("info")["pid"] == program.pid
        assert program.pid in processes.running()
    finally:
        program.kill()
        program.communicate()
