"""A reader that is blocked in a pipe asks nothing of the process until there is something, and is then told.

No test here measures a time: a reader that was not told would look again only after the tests' time is over.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from served import SERVE, Served, answer, served

from funcgraph.control import wire
from funcgraph.control.client import Connection, ProcessEndedError, RemoteFile, connect, wait_until_ready

#: It answers each line: a number is so many calls; "asked": how many requests it had since the last time;
#: "close" closes instance x, "fork" forks, "stop" stops to serve.
WORKS = f"""
    {SERVE}
    import os
    from funcgraph.control import server
    answer, asked = server._answer, []
    def counted(client, message):
        asked.append(message)
        return answer(client, message)
    server._answer = counted
    def work(n):
        return n + 1
    for line in sys.stdin:
        word = line.strip()
        if word == 'asked':
            number = len(asked)
            asked.clear()
            print(number, flush=True)
            continue
        if word == 'close':
            from funcgraph.instance.instance import instances
            instances()['x']._state.engine.close()  # as the kill switch: open pipes hold the instance
        elif word == 'stop':
            funcgraph.serve(False)
        elif word == 'fork':
            if os.fork() == 0:
                work(1)
                os._exit(0)
            os.wait()
        else:
            for i in range(int(word)):
                work(i)
        print('done', flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path, WORKS) as one:
        yield one


def do(program: Served, word: str) -> str:
    program.send_line(word)
    return program.line()


def trace(process: Connection, folder: str = "") -> None:
    process.write_text(f"{folder}set_ftrace_filter", "__main__.work\n")
    process.write_text(f"{folder}current_tracer", "function_graph")


@contextmanager
def traced(program: Served) -> Iterator[tuple[Connection, RemoteFile]]:
    """Yield a connection and the top instance's pipe, which is empty."""
    with program.connect() as process:
        trace(process)
        with process.open("trace_pipe", os.O_RDONLY) as pipe:
            assert not pipe.ready
            yield process, pipe


class Waiting(threading.Thread):
    """A thread that waits until a file is ready."""

    def __init__(self, file: RemoteFile) -> None:
        super().__init__(daemon=True)
        self._file = file
        self.result: bool | BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self.result = wait_until_ready(self._file, 60)
        except BaseException as error:
            self.result = error

    def until_over(self) -> bool | BaseException | None:
        self.join(120)
        return self.result


def wait_connections(program: Served) -> int:
    """Return how many connections the program has, by its descriptors."""
    count = 0
    for number in program.descriptors():
        with suppress(FileNotFoundError):  # it is closed meanwhile
            count += os.readlink(f"/proc/{program.pid}/fd/{number}").startswith("socket:")
    return count


def until(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    while not condition():
        pause.wait(0.005)


@pytest.mark.flaky(reruns=1)  # requests are counted over a time: more fit in on an overloaded machine
def test_an_idle_reader_asks_nothing(program: Served) -> None:
    with traced(program) as (_, pipe):
        do(program, "asked")
        assert not wait_until_ready(pipe, 1.5)  # longer than one request is kept
        assert do(program, "asked") == "1"
        waiting = Waiting(pipe)
        do(program, "1")
        assert waiting.until_over() is True
        assert int(do(program, "asked")) <= 3
        assert pipe.read_all().count(b"__main__.work();") == 1


def test_each_single_call_wakes(program: Served) -> None:
    with traced(program) as (_, pipe):
        for _ in range(10):
            waiting = Waiting(pipe)
            do(program, "1")
            assert waiting.until_over() is True
            assert pipe.read_all().count(b"__main__.work();") == 1


def test_a_request_is_answered_by_a_process_that_keeps_the_lock(tmp_path: Path) -> None:
    code = f"{SERVE}; sys.setswitchinterval(1000)\nwhile True: pass"
    request = wire.framed(wire.wait_message(1234567, 0))
    with served(tmp_path, code) as program, program.raw() as connection:
        connection.sendall(request)
        assert answer(connection)[0] == {"ok": True}  # there is no such instance: look again


def test_a_request_ends_after_a_while_and_may_be_made_again(program: Served) -> None:
    with traced(program) as (_, pipe), program.raw() as connection:
        wait = pipe.wait()
        assert wait is not None
        with closing(wait):
            do(program, "asked")
            for _ in range(2):
                connection.sendall(wire.framed(wire.wait_message(*wait.place)))
                assert answer(connection)[0] == {"ok": False}
            assert do(program, "asked") == "0"


def test_several_readers_are_told(program: Served) -> None:
    with traced(program) as (_, pipe), program.connect() as other:
        other.mkdir("instances/x")
        trace(other, "instances/x/")
        with other.open("instances/x/per_cpu/cpu0/trace_pipe", os.O_RDONLY) as lane:
            readers = [Waiting(pipe), Waiting(lane), Waiting(pipe)]
            do(program, "1")
            assert [reader.until_over() for reader in readers] == [True] * 3
            assert b"work" in lane.read_all() and b"work" in pipe.read_all()


def test_the_end_of_tracing_is_told(program: Served) -> None:
    with traced(program) as (process, pipe):
        do(program, "1")
        assert pipe.read_all()
        waiting = Waiting(pipe)
        process.write_text("tracing_on", "0")
        assert waiting.until_over() is True
        assert pipe.read(0, 100) == b""


def test_the_end_of_an_instance_is_told(program: Served) -> None:
    with program.connect() as process:
        process.mkdir("instances/x")
        with process.open("instances/x/trace_pipe", os.O_RDONLY) as pipe:
            waiting = Waiting(pipe)
            do(program, "close")
            assert waiting.until_over() is True
            assert pipe.read(0, 100) == b""


@pytest.mark.parametrize("end", ["stop", "detach", "kill"])
def test_the_end_of_serving_ends_a_wait(program: Served, end: str) -> None:
    with traced(program) as (_, pipe):
        waiting = Waiting(pipe)
        if end == "stop":
            do(program, "stop")
        elif end == "detach":
            with program.connect() as other:
                other.call("detach")
        else:
            program.process.send_signal(signal.SIGKILL)
        assert isinstance(waiting.until_over(), ProcessEndedError)


def test_a_fork_leaves_the_reader_to_the_parent(program: Served) -> None:
    with traced(program) as (_, pipe):
        waiting = Waiting(pipe)
        for _ in range(3):
            do(program, "fork")
        do(program, "1")
        assert waiting.until_over() is True
        assert pipe.read_all().count(b"__main__.work();") == 1


def test_a_client_that_ends_is_forgotten(program: Served) -> None:
    with traced(program) as (_, pipe):
        wait = pipe.wait()
        assert wait is not None
        wait.close()
        before = wait_connections(program)
        for _ in range(3):
            dying = [program.raw() for _ in range(20)]
            for connection in dying:
                connection.sendall(wire.framed(wire.wait_message(*wait.place)))
            # One fewer: the first one may have been seen before the program had closed it.
            until(lambda: wait_connections(program) >= before + 19)
            for connection in dying:
                connection.close()
            until(lambda: wait_connections(program) <= before)
        waiting = Waiting(pipe)
        do(program, "1")
        assert waiting.until_over() is True


def test_waiting_clients_keep_no_other_out(program: Served) -> None:
    with traced(program) as (_, pipe):
        wait = pipe.wait()
        assert wait is not None
        crowd: list[socket.socket] = []
        for _ in range(100):
            crowd.append(program.raw())
            crowd[-1].sendall(wire.framed(wire.wait_message(*wait.place)))
        with connect(program.pid) as process:
            assert process.call("info")["pid"] == program.pid
        for connection in crowd:
            connection.close()
        wait.close()


def ends(connection: socket.socket) -> bool:
    try:
        return connection.recv(100) == b""
    except ConnectionError:
        return True


def test_what_is_said_while_waiting_ends_the_connection(program: Served) -> None:
    with traced(program) as (_, pipe), program.raw() as connection:
        wait = pipe.wait()
        assert wait is not None
        connection.sendall(wire.framed(wire.wait_message(*wait.place)) + b"more")
        assert ends(connection)
        wait.close()


@pytest.mark.parametrize("size", [8, 15, 17])
def test_a_message_that_is_nearly_a_wait_is_refused(program: Served, size: int) -> None:
    message = (struct.pack("<I4sII", 0, b"WAIT", 1, 2) + b"x")[:size]
    with program.raw() as connection:
        connection.sendall(wire.framed(message))
        assert answer(connection)[0]["error"]
