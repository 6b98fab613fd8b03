"""A hostile, slow or dead client stops neither the program nor other clients, and makes it keep nothing."""

from __future__ import annotations

import os
import random
import socket
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from served import HELLO, SERVE, Served, exchange, served
from sizes import REQUESTS

from funcgraph.control import wire
from funcgraph.control.client import Connection
from funcgraph.control.server import MAX_FILES

CLIENTS = 64  # FG_SERVER_CLIENTS of server.h


def is_dropped(connection: socket.socket) -> bool:
    """Return whether the other side closes the connection; it sends nothing before."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def request(op: str, body: bytes = b"", **fields: object) -> bytes:
    return wire.pack({"op": op, **fields}, body)


@pytest.mark.one_python
@pytest.mark.parametrize(
    "sent",
    [
        struct.pack("<I", 0),
        struct.pack("<I", wire.MAX_FRAME + 1),
        b"\xff\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=["empty frame", "too long", "longest", "http"],
)
def test_what_is_no_frame_ends_the_connection(tmp_path: Path, sent: bytes) -> None:
    with served(tmp_path) as program, program.connect() as other, program.raw() as hostile:
        hostile.sendall(sent)
        assert is_dropped(hostile)
        assert other.call("info")["pid"] == program.pid


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("message", "number", "text"),
    [
        (b"abc", "EPROTO", "a message of 3 bytes has no header"),
        (struct.pack("<I", 99) + b"{}", "EPROTO", "a header of 99 bytes in a message of 6"),
        (struct.pack("<I", 2) + b"{]", "EPROTO", "the header is no JSON"),
        (struct.pack("<I", 2) + b"[]", "EPROTO", "the header is no JSON object but list"),
        (struct.pack("<I", 40000) + b"[" * 40000, "EPROTO", "more than 1000 lists and objects"),
        (struct.pack("<I", 999) + b"[" * 999, "EPROTO", "the header is no JSON"),
        (request("nonsense"), "EOPNOTSUPP", "no operation 'nonsense'"),
        (request("stat", path=7), "EPROTO", "'path' must be str, not int"),
        (request("stat"), "EPROTO", "'path' must be str, not NoneType"),
        (request("stat", path="a//b"), "ENOENT", ""),
        (request("stat", path="instances/../trace"), "ENOENT", ""),
        (request("stat", path="x" * 256), "ENAMETOOLONG", ""),
        (request("read", file=1, offset=0, size=1), "EBADF", ""),
        (request("read", file=True, offset=0, size=1), "EPROTO", "'file' must be int, not bool"),
        (request("read", file=1, offset=0, size=wire.MAX_BODY + 1), "EINVAL", "'size' must be from 0 to"),
        (request("open", path="trace", flags=-1), "EINVAL", "'flags' must be from 0 to"),
        (request("call", name="info", arguments=[]), "EPROTO", "'arguments' must be dict"),
    ],
)
def test_a_wrong_request_is_refused_with_its_reason(
    shared: Served, message: bytes, number: str, text: str
) -> None:
    import errno

    with shared.raw() as connection:
        exchange(connection, HELLO)
        header, body = exchange(connection, message)
        assert header["errno"] == getattr(errno, number), header
        assert text in header["error"] and header["error"]
        assert not body
        assert "ok" in exchange(connection, request("list", path=""))[0]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> object:
    """One program for many tests."""
    with served(tmp_path_factory.mktemp("shared")) as program:
        yield program


@pytest.mark.one_python
def test_the_first_request_must_be_hello(shared: Served) -> None:
    with shared.raw() as connection:
        header, _ = exchange(connection, request("list", path=""))
        assert "the first request must be 'hello', not 'list'" in header["error"]


@pytest.mark.one_python
def test_another_version_is_told(shared: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "VERSION", wire.VERSION + 1)
    with pytest.raises(OSError, match="has another version of funcgraph"):
        shared.connect()


@pytest.mark.one_python
def test_half_a_frame_and_silence_holds_nobody_up(shared: Served) -> None:
    with shared.raw() as slow, shared.connect() as other:
        frame = wire.framed(HELLO)
        slow.sendall(frame[:7])
        for _ in range(20):
            assert other.call("info")["pid"] == shared.pid
        slow.sendall(frame[7:])
        assert slow.recv(4)


@pytest.mark.one_python
def test_a_client_that_takes_no_answers_holds_nobody_up(shared: Served) -> None:
    with shared.raw() as deaf, shared.connect() as other:
        deaf.setblocking(False)
        message = wire.framed(HELLO)
        sent = 0
        try:
            while sent < 4 << 20:
                sent += deaf.send(message * 100)
        except BlockingIOError:
            pass
        assert sent < 4 << 20  # the process reads no more than it has answered
        assert other.call("info")["pid"] == shared.pid


@pytest.mark.one_python
def test_200_connections(tmp_path: Path) -> None:
    with served(tmp_path) as program:
        with program.connect() as first:
            descriptors = len(program.descriptors())
            crowd = [program.raw() for _ in range(200)]
            assert first.call("info")["pid"] == program.pid  # the one that asks keeps its place
            assert len(program.descriptors()) <= descriptors + CLIENTS
            with program.connect() as late:  # those that only connect keep no other one out
                assert late.call("info")["pid"] == program.pid
                assert first.call("info")["pid"] == program.pid
            for one in crowd:
                one.close()
            assert first.call("info")["pid"] == program.pid
        assert_descriptors(program, descriptors - 1)


def assert_descriptors(program: Served, number: int) -> None:
    """Closed connections are noticed one after the other: ask until the last one was."""
    for _ in range(1000):
        with program.connect() as process:
            process.call("info")
            if len(program.descriptors()) == number + 1:
                return
    raise AssertionError(program.descriptors())


@pytest.mark.one_python
def test_clients_that_ask_keep_their_places(tmp_path: Path) -> None:
    with served(tmp_path) as program:
        crowd: list[Connection] = [program.connect() for _ in range(CLIENTS)]
        with pytest.raises(ConnectionError, match="too many clients"):
            program.connect()
        assert all(one.call("info")["pid"] == program.pid for one in crowd)
        crowd.pop().close()
        assert_place(program)
        for one in crowd:
            one.close()


def assert_place(program: Served) -> None:
    for _ in range(1000):
        try:
            program.connect().close()
        except ConnectionError:
            continue
        return
    raise AssertionError("the place of a client that has gone stays taken")


@pytest.mark.one_python
def test_a_client_has_a_bounded_number_of_files(shared: Served) -> None:
    with shared.connect() as process:
        files = [process.open("tracing_on", os.O_RDONLY) for _ in range(MAX_FILES)]
        with pytest.raises(OSError, match=f"{MAX_FILES} files are open"):
            process.open("tracing_on", os.O_RDONLY)
        files.pop().close()
        process.open("tracing_on", os.O_RDONLY)


def test_files_of_a_client_that_was_killed_are_closed(shared: Served) -> None:
    with shared.connect() as process:
        process.mkdir("instances/kept")
        with shared.raw() as killed:
            exchange(killed, HELLO)
            exchange(killed, request("open", path="instances/kept/trace", flags=os.O_RDONLY))
            with pytest.raises(OSError, match="one of its files is open"):
                process.rmdir("instances/kept")
            killed.sendall(wire.framed(request("list", path=""))[:-3])  # in the middle of a request
        for _ in range(1000):  # until its end is noticed
            with suppress(OSError):
                process.rmdir("instances/kept")
                break
        assert "kept" not in process.list("instances")


@pytest.mark.one_python
def test_a_program_without_free_descriptors_waits_for_one(tmp_path: Path) -> None:
    code = f"""
        import os, resource
        {SERVE}
        for line in sys.stdin:
            if line == 'fill\\n':
                resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))
                held = []
                try:
                    while True:
                        held.append(os.dup(0))
                except OSError:
                    print('full', flush=True)
            else:
                os.close(held.pop())
                print('free', flush=True)
    """
    with served(tmp_path, code) as program, program.connect() as first:
        names = first.list("")  # what it imports is loaded
        program.send_line("fill")
        assert program.line() == "full"
        with program.raw() as late:
            late.sendall(wire.framed(HELLO))
            assert first.list("") == names
            program.send_line("free")
            assert program.line() == "free"
            assert late.recv(4)


def test_a_daemon_that_closes_all_descriptors_loses_none_of_its_own(tmp_path: Path) -> None:
    """Numbers that were ours are the program's now: nothing is written to them, and they stay open."""
    code = f"""
        import os
        {SERVE}
        sys.stdin.readline()
        ours = [int(fd) for fd in os.listdir('/proc/self/fd') if int(fd) > 2]
        for fd in ours:
            try:
                os.close(fd)
            except OSError:
                pass
        reader, writer = os.pipe()
        for fd in ours:
            if fd not in (reader, writer):
                os.dup2(writer, fd)
        os.set_blocking(reader, False)
        funcgraph.serve(False)
        for fd in ours:
            os.fstat(fd)
        try:
            print('written', os.read(reader, 100))
        except BlockingIOError:
            print('untouched', flush=True)
    """
    with served(tmp_path, code) as program:
        with program.connect():
            program.send_line("close")
            assert program.line() == "untouched"
        assert program.end() == 0


# ---- random requests


def damaged(chance: random.Random, message: bytes) -> bytes:
    """Return the message with some of its bytes changed, added or lost."""
    data = bytearray(message)
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(3)
        if kind == 0:
            data[at:at] = chance.randbytes(chance.randrange(1, 9))
        elif kind == 1:
            del data[at : at + chance.randrange(1, 9)]
        else:
            data[at : at + 1] = chance.randbytes(1)
    return bytes(data)


PATHS = ["", "trace", "trace_pipe", "tracing_on", "instances", "instances/a", "instances/a/trace", "events",
         "set_event", "current_tracer", "set_ftrace_filter", "trace_marker", "x", "../..", "\udc80",
         "a" * 300]  # fmt: skip
VALUES = [None, True, -1, 0, 1, 2, 3, 1 << 20, 1 << 64, 1.5, "", "x", [], {}, [[]], *PATHS]
TEXTS = [b"", b"0", b"1", b"nop", b"function_graph\n", b"!*", b"\xff\0", b"a b c", b"x" * 5000]
FIELDS = {"path": PATHS, "flags": [0, 1, 2, 1025, 513], "file": [1, 2, 3], "offset": [0, 1, 10**9],
          "size": [0, 1, 4096, 1 << 20], "name": ["info", "inf"], "arguments": [{}, {"a": 1}]}  # fmt: skip
OPERATIONS = [
    "stat",
    "list",
    "mkdir",
    "rmdir",
    "open",
    "read",
    "write",
    "ready",
    "close",
    "get",
    "put",
    "call",
]


def some_request(chance: random.Random) -> bytes:
    fields = {
        name: chance.choice(values if chance.random() < 0.9 else VALUES)
        for name, values in FIELDS.items()
        if chance.random() < 0.95
    }
    message = request(chance.choice(OPERATIONS), chance.choice(TEXTS), **fields)
    return damaged(chance, message) if chance.random() < 0.3 else message


def resident_kb(program: Served) -> int:
    status = Path(f"/proc/{program.pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def hail(program: Served, chance: random.Random, number: int) -> None:
    """Send random requests; those that end the connection are followed by a new one."""
    connection = program.raw()
    exchange(connection, HELLO)
    for _ in range(number):
        try:
            header, _ = exchange(connection, some_request(chance) or b"\0")
            assert header.keys() in ({"ok"}, {"errno", "error"})
        except EOFError:
            connection.close()
            connection = program.raw()
            exchange(connection, HELLO)
    connection.close()


def test_random_requests_harm_nothing(tmp_path: Path) -> None:
    """Neither a crash, nor a leak: after the first ones, the same again grows nothing."""
    with served(tmp_path) as program, program.connect() as other:
        hail(program, random.Random(1), REQUESTS // 2)
        descriptors, resident = len(program.descriptors()), resident_kb(program)
        hail(program, random.Random(2), REQUESTS - REQUESTS // 2)
        assert other.call("info")["pid"] == program.pid
        assert len(program.descriptors()) <= descriptors + 1
        assert resident_kb(program) < resident + 16 * 1024
        assert program.end() == 0
        assert program.errors.read_text() == ""
