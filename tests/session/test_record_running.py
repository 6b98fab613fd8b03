"""`record -P`: processes that run already are recorded while a command runs, and go on as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest
from asking import Server, serving
from conftest import Funcgraph

MODULE = "__main__"


@pytest.fixture
def environment(fg: Funcgraph) -> dict[str, str]:
    return {**fg.env, "FUNCGRAPH": "control"}


@pytest.fixture
def server(fg: Funcgraph, environment: dict[str, str]) -> Iterator[Server]:
    with serving(fg.folder, environment) as one:
        yield one


def until(asked: Server, count: int) -> list[str]:
    """Return a command that asks for so many answers of each kind: it begins after the process has joined."""
    return ["--", sys.executable, "-c", _ASK, str(asked.folder), str(count)]


_ASK = """
import socket, sys
for name in ("threads", "asyncio"):
    line = socket.socket(socket.AF_UNIX)
    line.connect(f"{sys.argv[1]}/{name}")
    file = line.makefile("rw")
    for number in range(int(sys.argv[2])):
        print(number, file=file, flush=True)
        assert file.readline().startswith(f"{number} ")
"""


def test_a_running_process_is_recorded_while_the_command_runs(fg: Funcgraph, server: Server) -> None:
    result = fg.record("-P", str(server.pid), "-l", "*.answer", "--args", *until(server, 10))
    assert result.returncode == 0, result.stderr
    assert fg.calls()["__main__.answer"] == 20
    assert "answer(number=9)" in fg.run("report").stdout
    assert fg.sessions() == []
    # Afterwards nothing is traced.
    state = server.state()
    assert state["tools"] in ([], [None] * 6)


def test_the_commands_status_is_not_the_recordings(fg: Funcgraph, server: Server) -> None:
    with server.asked():
        result = fg.record("-P", str(server.pid), "--", "sh", "-c", "sleep 0.2; exit 3")
    assert result.returncode == 0, result.stderr


def test_the_command_itself_is_not_recorded(fg: Funcgraph, server: Server) -> None:
    script = fg.script("def mine(): pass\nmine()\nimport time; time.sleep(0.2)\n")
    with server.asked():
        result = fg.record("-P", str(server.pid), "--", script)
    assert result.returncode == 0, result.stderr
    assert {task["pid"] for task in fg.summary()["tasks"]} == {server.pid}


def test_all_options_of_instances_and_events_work(fg: Funcgraph, server: Server) -> None:
    result = fg.record(
        "-P", str(server.pid), "-e", "f:own/square __main__.square number", "-f", "number > 3",
        "-R", "traceoff:1 if number == 99", "-B", "graph", "-g", "*.answer", *until(server, 7),
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    summary = fg.summary()["buffers"]
    assert [(event["name"], event["hits"]) for event in summary[""]["events"]] == [("own/square", 6)]
    calls = {function["name"]: function["calls"] for function in summary["graph"]["functions"]}
    assert calls["__main__.answer"] == calls["__main__.fails"] == 14


def test_several_processes_and_a_pattern_are_one_trace(fg: Funcgraph, environment: dict[str, str]) -> None:
    folders = [fg.folder / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    with serving(folders[0], environment) as first, serving(folders[1], environment) as second:
        with first.asked(1, 0), second.asked(1, 0):
            listed = fg.record("-P", f"{first.pid},{second.pid}", "--", "sleep", "0.2")
            assert listed.returncode == 0, listed.stderr
            assert {task["pid"] for task in fg.summary()["tasks"]} == {first.pid, second.pid}
            matched = fg.record("-P", f"answering_server.py {fg.folder}/[ab]", "--", "sleep", "0.2")
            assert matched.returncode == 0, matched.stderr
    assert {task["pid"] for task in fg.summary()["tasks"]} == {first.pid, second.pid}


def test_threads_that_existed_before_have_their_names(fg: Funcgraph, server: Server) -> None:
    with server.asked(2, 1):
        result = fg.record("-P", str(server.pid), "-l", "__main__.*", "--", "sleep", "0.2")
    assert result.returncode == 0, result.stderr
    names = {task["name"] for task in fg.summary()["tasks"]}
    assert any("serve_connection" in name for name in names), names


def test_calls_in_progress_give_no_returns_without_entries(fg: Funcgraph, server: Server) -> None:
    """accept(), loop() and suspended coroutines began before: their ends are not in the trace."""
    with server.asked(2, 2):
        result = fg.record("-P", str(server.pid), "-l", "__main__.*", "--", "sleep", "0.2")
    assert result.returncode == 0, result.stderr
    calls = fg.calls()
    assert calls["__main__.answer"] > 0
    assert calls["__main__.accept"] == calls["__main__.loop"] == 0
    with_ends = fg.run("report", "-O", "funcgraph-tail").stdout
    assert "/* __main__.accept" not in with_ends
    assert "/* __main__.serve_connection" not in with_ends


def test_without_a_command_ctrl_c_ends_the_recording(fg: Funcgraph, server: Server) -> None:
    with server.asked():
        recorder = fg.start("record", "-P", str(server.pid), "-l", "*.answer")
        wait_for_ring(fg, recorder)
        recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate()
    assert recorder.returncode == 0, errors
    assert fg.calls()["__main__.answer"] > 0


def test_the_end_of_all_processes_ends_the_recording(fg: Funcgraph, environment: dict[str, str]) -> None:
    with serving(fg.folder, environment) as server:
        recorder = fg.start("record", "-P", str(server.pid), "-l", "__main__.*")
        wait_for_ring(fg, recorder)
        server.line("threads").ask("7")
        os.kill(server.pid, signal.SIGKILL)
        _, errors = recorder.communicate()
    assert recorder.returncode == 0, errors
    assert fg.calls()["__main__.answer"] == 1


def test_the_times_bound_ends_the_recording(fg: Funcgraph, server: Server) -> None:
    with server.asked():
        result = fg.record("-P", str(server.pid), "--max-time", "1")
    assert result.returncode == 0, result.stderr
    assert "--max-time" in result.stderr
    assert fg.calls()["__main__.answer"] > 0


def test_a_signal_dumps_what_is_kept_in_memory(fg: Funcgraph, server: Server) -> None:
    with server.asked() as clients:
        recorder = fg.start("record", "-P", str(server.pid), "--ring", "1M")
        wait_for_ring(fg, recorder)
        clients.wait_for(10)
        recorder.send_signal(signal.SIGUSR2)
        wait_until(fg.trace.exists, recorder)
        recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate()
    assert recorder.returncode == 0, errors
    assert "SIGUSR2" in errors
    assert fg.calls()["__main__.answer"] > 0


def test_a_killed_recorder_leaves_the_process_running_and_a_trace_to_recover(
    fg: Funcgraph, server: Server
) -> None:
    with server.asked() as clients:
        recorder = fg.start("record", "-P", str(server.pid), "-l", "*.answer", "-b", "64")
        wait_for_ring(fg, recorder)
        clients.wait_for(5)
        recorder.kill()
        recorder.communicate()
        clients.wait_for(5)
        recovered = fg.run("recover")
        assert recovered.returncode == 0, recovered.stderr
        assert fg.calls()["__main__.answer"] > 0
        # The next recording is as if there had been none.
        again = fg.record("-P", str(server.pid), "-l", "*.answer", "-o", "again.fg", "--", "sleep", "0.2")
    assert again.returncode == 0, again.stderr
    assert fg.calls("again.fg")["__main__.answer"] > 0
    assert fg.sessions() == []


def test_children_that_run_and_those_that_come_are_recorded(
    fg: Funcgraph, environment: dict[str, str]
) -> None:
    with serving(fg.folder, environment, workers=2) as server:
        workers = server.workers
        assert len(workers) == 2
        with server.asked(8, 0):
            result = fg.record("-P", str(server.pid), "--children", "-l", "*.answer", "--", "sleep", "0.3")
    assert result.returncode == 0, result.stderr
    pids = {task["pid"] for task in fg.summary()["tasks"]}
    assert pids <= {server.pid, *workers}
    assert pids & set(workers), result.stderr


def test_without_children_only_the_process_is_recorded(fg: Funcgraph, server: Server) -> None:
    result = fg.record("-P", str(server.pid), "--", *forking(server))
    assert result.returncode == 0, result.stderr
    assert {task["pid"] for task in fg.summary()["tasks"]} == {server.pid}


def test_children_that_come_are_recorded(fg: Funcgraph, server: Server) -> None:
    result = fg.record("-P", str(server.pid), "--children", "-l", "*.answer", "--", *forking(server))
    assert result.returncode == 0, result.stderr
    assert len({task["pid"] for task in fg.summary()["tasks"]}) == 2
    assert fg.calls()["__main__.answer"] == 2


def forking(server: Server) -> list[str]:
    """Return a command that has the server call answer() in itself and in a forked child."""
    return [sys.executable, "-c", _FORK, str(server.folder / "threads")]


_FORK = """
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
line.sendall(b"fork\\n")
assert line.recv(9)
"""


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--or-untraced", "-P", "{pid}"], "--or-untraced"),
        (["--children", "--no-follow", "-P", "{pid}"], "--no-follow"),
        (["--children", "script.py"], "only with -P"),
        (["-P", "no such program here"], "no Python process"),
        (["-P", "{pid}", "-P", "1"], "1"),
        (["-P", "{pid},{gone}"], "{gone}"),
        (["-P", "{pid}", "--", "/no/such/command"], "/no/such/command"),
        (["-P", "{pid}", "-p", "nonsense"], "nonsense"),
    ],
)
def test_what_cannot_be_recorded_is_refused_as_a_whole(
    fg: Funcgraph, server: Server, words: list[str], reason: str
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    names = {"pid": server.pid, "gone": gone.pid}
    before = server.state()
    result = fg.record(*(word.format(**names) for word in words))
    assert result.returncode in (2, 127)
    assert reason.format(**names) in result.stderr
    assert "Traceback" not in result.stderr
    assert fg.sessions() == []
    assert not fg.trace.exists()
    assert not (fg.folder / "trace.fg.part").exists()
    after = server.state()
    assert {**after, "objects": 0} == {**before, "objects": 0}


def wait_until(condition: Callable[[], object], recorder: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert recorder.poll() is None, recorder.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_ring(fg: Funcgraph, recorder: subprocess.Popen[str]) -> None:
    """Wait until a process has joined."""
    wait_until(lambda: list(fg.runtime.glob("funcgraph-*/*.ring")), recorder)
