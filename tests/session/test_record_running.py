"""`record -P`: processes that run already are recorded while a command runs, and go on as before."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from conftest import Funcgraph
from loaded_server import Server, serving
from recorders import Recorder, calls, pids, recorders

import funcgraph
from funcgraph.control.client import connect


@pytest.fixture(scope="module")
def helper() -> Iterator[Recorder]:
    with recorders() as one:
        yield one


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Run one server for all tests: each recording must leave it as it was."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as one:
        yield one


Record = Callable[..., int]


@pytest.fixture
def record(fg: Funcgraph, helper: Recorder) -> Record:
    """Return a function that records into fg.trace and returns the exit status."""
    return lambda *words: helper.run(fg.folder, fg.env, "record", "-o", str(fg.trace), *words)


def until(server: Server, count: int) -> list[str]:
    """Return a command that asks for so many answers of each kind: it begins after the process has joined."""
    return ["--", sys.executable, "-c", _ASK, str(server.folder), str(count)]


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


def test_a_running_process_is_recorded_while_the_command_runs(
    fg: Funcgraph, record: Record, server: Server
) -> None:
    before = server.state()
    assert record("-P", str(server.pid), "-l", "*.answer", "--args", *until(server, 10)) == 0
    assert calls(fg.trace)["__main__.answer"] == 20
    with funcgraph.open(fg.trace) as trace:
        assert sorted(call.arguments["number"] for call in trace.calls()) == sorted([*range(10)] * 2)
    assert fg.sessions() == []
    assert server.state()["tools"] == before["tools"]  # nothing is traced any longer


@pytest.mark.one_python
def test_the_commands_status_is_not_the_recordings(record: Record, server: Server) -> None:
    with server.under_load(1, 0):
        assert record("-P", str(server.pid), "--", "sh", "-c", "sleep 0.1; exit 3") == 0


@pytest.mark.one_python
def test_the_command_itself_is_not_recorded(fg: Funcgraph, record: Record, server: Server) -> None:
    assert record("-P", str(server.pid), *until(server, 3)) == 0
    assert pids(fg.trace) == {server.pid}


def test_all_options_of_instances_and_events_work(fg: Funcgraph, record: Record, server: Server) -> None:
    words = [
        "-e",
        "f:own/square __main__.square number",
        "-f",
        "number > 3",
        "-R",
        "traceoff:1 if number == 99",
    ]
    words += ["-B", "graph", "-g", "*.answer"]
    assert record("-P", str(server.pid), *words, *until(server, 7)) == 0
    summary = fg.summary()["buffers"]
    assert [(event["name"], event["hits"]) for event in summary[""]["events"]] == [("own/square", 6)]
    counts = {function["name"]: function["calls"] for function in summary["graph"]["functions"]}
    assert counts["__main__.answer"] == counts["__main__.fails"] == 14


@pytest.mark.one_python
def test_several_processes_and_a_pattern_are_one_trace(fg: Funcgraph, record: Record, server: Server) -> None:
    with serving(fg.folder) as second:
        both = {server.pid, second.pid}
        with server.under_load(1, 0), second.under_load(1, 0):
            assert record("-P", f"{server.pid},{second.pid}", "--", "sleep", "0.1") == 0
            assert pids(fg.trace) == both
            pattern = f"answering_server.py ({server.folder}|{fg.folder}) "
            assert record("-P", pattern, "--", "sleep", "0.1") == 0
            assert pids(fg.trace) == both
    with funcgraph.open(fg.trace) as trace:
        commands = {call.task.pid: call.task.process for call in trace.calls()}
    assert str(fg.folder) in commands[second.pid]


def test_what_was_there_before_is_sensible_in_the_trace(
    fg: Funcgraph, record: Record, server: Server
) -> None:
    """Threads have their names. What was in progress or suspended is not in it; what it calls is."""
    with server.under_load(2, 2):
        assert record("-P", str(server.pid), "-l", "__main__.*", "--", "sleep", "0.2") == 0
    with funcgraph.open(fg.trace) as trace:
        names = {call.task.name for call in trace.calls()}
    assert any("serve_connection" in name for name in names), names
    counts = calls(fg.trace)
    assert counts["__main__.answer"] > 0
    assert counts["__main__.accept"] == counts["__main__.loop"] == counts["__main__.serve_later"] == 0
    text = fg.run("report", "-O", "funcgraph-tail").stdout
    assert "answer" in text
    assert "/* __main__.accept" not in text
    assert "/* __main__.serve_connection" not in text
    assert "answer_later" in text
    assert "serve_later" not in text


@pytest.mark.one_python
def test_without_a_command_ctrl_c_ends_the_recording(fg: Funcgraph, server: Server) -> None:
    with server.under_load() as clients:
        recorder = fg.start("record", "-P", str(server.pid), "-l", "*.answer")
        wait_for_ring(fg, recorder)
        clients.wait_for(5)
        recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate()
    assert recorder.returncode == 0, errors
    assert calls(fg.trace)["__main__.answer"] > 0


@pytest.mark.one_python
def test_the_end_of_all_processes_ends_the_recording(fg: Funcgraph) -> None:
    with serving(fg.folder) as mortal:
        recorder = fg.start("record", "-P", str(mortal.pid), "-l", "__main__.*")
        wait_for_ring(fg, recorder)
        with connect(mortal.pid) as client:
            client.call("info")  # requests are answered in turn: it has joined
        mortal.line("threads").exchange("7")
        os.kill(mortal.pid, signal.SIGKILL)
        _, errors = recorder.communicate()
    assert recorder.returncode == 0, errors
    assert calls(fg.trace)["__main__.answer"] == 1


@pytest.mark.one_python
def test_the_times_bound_ends_the_recording(
    fg: Funcgraph, record: Record, helper: Recorder, server: Server
) -> None:
    with server.under_load():
        assert record("-P", str(server.pid), "--max-time", "1") == 0
    assert "--max-time" in helper.errors
    assert calls(fg.trace)["__main__.answer"] > 0


@pytest.mark.one_python
def test_a_signal_dumps_what_is_kept_in_memory(fg: Funcgraph, server: Server) -> None:
    with server.under_load() as clients:
        recorder = fg.start("record", "-P", str(server.pid), "--ring", "1M")
        wait_for_ring(fg, recorder)
        clients.wait_for(10)
        recorder.send_signal(signal.SIGUSR2)
        wait_until(fg.trace.exists, recorder)
        recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate()
    assert recorder.returncode == 0, errors
    assert "SIGUSR2" in errors
    assert calls(fg.trace)["__main__.answer"] > 0


@pytest.mark.one_python
def test_what_a_killed_recorder_left_is_recovered(fg: Funcgraph, record: Record, server: Server) -> None:
    with server.under_load() as clients:
        recorder = fg.start("record", "-P", str(server.pid), "-l", "*.answer", "-b", "64")
        wait_for_ring(fg, recorder)
        clients.wait_for(5)
        recorder.kill()
        recorder.communicate()
        clients.wait_for(5)
        recovered = fg.run("recover")
        assert recovered.returncode == 0, recovered.stderr
        assert calls(fg.trace)["__main__.answer"] > 0
        # The next recording is as if there had been none.
        assert record("-P", str(server.pid), "-l", "*.answer", "--", "sleep", "0.1") == 0
    assert calls(fg.trace)["__main__.answer"] > 0
    assert fg.sessions() == []


def test_children_that_run_are_recorded(fg: Funcgraph, record: Record, helper: Recorder) -> None:
    with serving(fg.folder, workers=2) as preforking:
        workers = set(preforking.workers)
        assert len(workers) == 2
        with preforking.under_load(8, 0):
            words = ["-P", str(preforking.pid), "--children", "-l", "*.answer"]
            assert record(*words, "--", "sleep", "0.2") == 0, helper.errors
    assert pids(fg.trace) <= {preforking.pid, *workers}
    assert pids(fg.trace) & workers


@pytest.mark.parametrize("follow", [False, True])
def test_children_that_come_are_recorded_with_children_alone(
    fg: Funcgraph, record: Record, server: Server, follow: bool
) -> None:
    words = ["-P", str(server.pid), "-l", "*.answer", *(["--children"] if follow else [])]
    assert record(*words, "--", sys.executable, "-c", _FORK, str(server.folder / "threads")) == 0
    assert calls(fg.trace)["__main__.answer"] == (2 if follow else 1)
    assert len(pids(fg.trace)) == (2 if follow else 1)


_FORK = """
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
line.sendall(b"fork\\n")
assert line.recv(9)
"""


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        (["--or-untraced", "-P", "{pid}"], 2, "--or-untraced"),
        (["--children", "--no-follow", "-P", "{pid}"], 2, "--no-follow"),
        (["--children", "script.py"], 2, "only with -P"),
        (["-P", "no such program here"], 2, "no Python process"),
        (["-P", "{pid}", "-P", "{sleeper}"], 2, "{sleeper}"),
        (["-P", "{pid},{gone}"], 2, "{gone}"),
        (["-P", "{pid}", "--", "/no/such/command"], 127, "/no/such/command"),
        (["-P", "{pid}", "-p", "nonsense"], 2, "nonsense"),
        (["-P", "{pid}", "-e", "f:a/b __main__.answer no_such:string"], 2, "no_such"),
    ],
)
def test_what_cannot_be_recorded_is_refused_as_a_whole(
    fg: Funcgraph,
    record: Record,
    helper: Recorder,
    server: Server,
    words: list[str],
    status: int,
    reason: str,
) -> None:
    gone, sleeper = subprocess.Popen(["true"]), subprocess.Popen(["sleep", "60"])
    gone.wait()
    names = {"pid": server.pid, "gone": gone.pid, "sleeper": sleeper.pid}
    state = server.state()
    before = {name: state[name] for name in ("threads", "descriptors", "tools", "references", "environment")}
    try:
        assert record(*(word.format(**names) for word in words)) == status
    finally:
        sleeper.kill()
        sleeper.wait()
    assert reason.format(**names) in helper.errors
    assert helper.errors.startswith("funcgraph: ")
    assert fg.sessions() == []
    assert not list(fg.folder.glob("trace.fg*"))
    assert server.state_like(before) == before


def wait_until(condition: Callable[[], object], recorder: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert recorder.poll() is None, recorder.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def wait_for_ring(fg: Funcgraph, recorder: subprocess.Popen[str]) -> None:
    """Wait until a process has joined."""
    wait_until(lambda: list(fg.runtime.glob("funcgraph-*/*.ring")), recorder)


_SHORT_CHILDREN = """
import os, signal, sys, threading, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def work():
    return sum(range(100))
def child():
    until = time.monotonic() + 0.1
    while time.monotonic() < until:
        work()
    os._exit(0)
print("ready", flush=True)
while True:
    if os.fork() == 0:
        child()
    work()
    time.sleep(0.02)
"""


def test_children_that_end_meanwhile_are_left_out_and_counted(
    fg: Funcgraph, record: Record, helper: Recorder
) -> None:
    """Broken: one of many short-lived children always ended before it was attached to."""
    with subprocess.Popen([sys.executable, "-c", _SHORT_CHILDREN], stdout=subprocess.PIPE) as parent:
        try:
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"ready\n"
            time.sleep(0.2)
            words = ["-P", str(parent.pid), "--children", "-l", "*.work"]
            reported = re.compile("that was found has ended|that were found have ended")
            while not reported.search(helper.errors):
                assert record(*words, "--", "sleep", "0.3") == 0, helper.errors
                assert parent.pid in pids(fg.trace)
            verbs = ["stat", "-P", str(parent.pid), "--children"]
            assert helper.run(fg.folder, fg.env, *verbs) == 0, helper.errors
        finally:
            parent.kill()


@pytest.mark.one_python
def test_what_was_named_must_be_there_and_what_was_found_need_not(capsys: pytest.CaptureFixture[str]) -> None:
    from funcgraph.command_support.messages import CommandError
    from funcgraph.command_support.running import RunningProcesses

    gone = subprocess.Popen(["true"])
    gone.wait()
    with serving_nothing() as program:
        processes = RunningProcesses([program, gone.pid], {program})
        assert processes.pids == [program]
        processes.close()
        assert capsys.readouterr().err == "funcgraph: 1 process that was found has ended meanwhile\n"
        with pytest.raises(CommandError, match=f"process {gone.pid}: there is no such process"):
            RunningProcesses([program, gone.pid], {program, gone.pid})
        with pytest.raises(CommandError, match="1 process that was found has ended meanwhile; nothing"):
            RunningProcesses([gone.pid], ())


@pytest.mark.one_python
def test_what_was_found_and_cannot_be_recorded_is_named_and_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken: a child that executed another program meanwhile, or was ending, ended the whole recording."""
    from funcgraph.command_support import running
    from funcgraph.command_support.messages import CommandError
    from funcgraph.command_support.running import RunningProcesses

    monkeypatch.setattr(running, "PlanHandover", lambda *_: SimpleNamespace(give=lambda pid: None))
    recording: Any = SimpleNamespace(session=SimpleNamespace(path="/no/such/session"), step=lambda: 0.0)
    with (
        serving_nothing() as program,
        serving_nothing() as ending,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE) as cat,
    ):
        processes = RunningProcesses([program, cat.pid, ending], {program})
        assert processes.pids == [program, ending]
        line = f"funcgraph: process {cat.pid}: no CPython is loaded in it (cat); it is not recorded\n"
        assert capsys.readouterr().err == line
        with pytest.raises(CommandError, match=rf"process {cat.pid}: no CPython .*; nothing is recorded"):
            RunningProcesses([cat.pid], ())
        with pytest.raises(CommandError, match=rf"process {cat.pid}: no CPython .*; nothing is recorded"):
            RunningProcesses([program, cat.pid], {program, cat.pid})

        with connect(ending) as process:
            process.call("stop_serving")
        monkeypatch.setattr(processes.all[0], "join", lambda directory: None)
        processes.join(recording, ["*"])
        assert processes.pids == [program]
        assert re.fullmatch(
            rf"funcgraph: process {ending}: .*; it is not recorded\n", capsys.readouterr().err
        )
        monkeypatch.undo()
        with pytest.raises(CommandError, match=rf"process {program}: .*; nothing is recorded"):
            processes.join(recording, ["*"])
        processes.close()


@pytest.mark.one_python
def test_processes_that_come_join_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken: thirty that do not answer kept the recorder for thirty time limits."""
    from funcgraph.command_support import running
    from funcgraph.command_support.running import RunningProcess, RunningProcesses

    count = 30
    together = [threading.Barrier(count) for _ in range(2)]

    def join(self: RunningProcess, directory: str) -> None:
        together[1].wait(60)
        if self.pid % 2:
            raise TimeoutError("it does not answer")

    def reach(pids: Sequence[int], meanwhile: object = None) -> Iterator[tuple[int, RunningProcess]]:
        for pid in pids:
            process = object.__new__(RunningProcess)
            process.pid = pid
            yield pid, process

    monkeypatch.setattr(running, "reach_all", reach)
    monkeypatch.setattr(running, "process_error_text", lambda pid, error: f"{pid}: {error}")
    monkeypatch.setattr(RunningProcess, "join", join)
    processes = RunningProcesses([], ())
    processes._plans = cast("Any", SimpleNamespace(give=lambda pid: together[0].wait(60)))
    recording: Any = SimpleNamespace(step=lambda: 0.01)
    lines = processes.add(range(1, count + 1), recording)
    assert lines == [
        f"{pid}: it does not answer; it is not recorded" for pid in range(1, count + 1) if pid % 2
    ]
    assert processes.pids == [*range(1, count + 1)]


@contextmanager
def serving_nothing() -> Iterator[int]:
    """Run a Python that has a control socket and waits."""
    code = "import funcgraph, time; funcgraph.serve(); print('ready', flush=True); time.sleep(1000)"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as program:
        try:
            assert program.stdout is not None
            assert program.stdout.readline() == b"ready\n"
            yield program.pid
        finally:
            program.kill()
