"""Whatever a process answers at its socket, a verb ends, in clear lines, and with what it promises."""

from __future__ import annotations

import array
import itertools
import json
import os
import random
import re
import shlex
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sizes import ANSWERED_VERBS

from funcgraph import cli
from funcgraph.command_support import processes as _processes
from funcgraph.control import answers, wire
from funcgraph.control import client as control_client
from funcgraph.control.answer_limit import AnswerLimit, CommandLimit
from funcgraph.control.client import Connection
from funcgraph.control.procedures import PROCEDURES
from funcgraph.control.server import _OPERATIONS
from funcgraph.recorder.until_signal import ENDING
from funcgraph.rights.identity import ProcessIdentity
from funcgraph.steering import listing
from funcgraph.steering.folder import Process
from funcgraph.steering.pipe import Pipe
from funcgraph.steering.rates import counts_of
from funcgraph.steering.saved import path_for, save
from steering.local import LocalRemote
from steering.test_terminal import ATTACK, HARMFUL

pytestmark = pytest.mark.one_python

_MOST_REQUESTS = 3000  # of one verb; then the connection ends


def test_each_operation_and_procedure_has_a_shape() -> None:
    assert answers.PROCEDURES.keys() == PROCEDURES.keys()
    assert answers.OPERATIONS.keys() == _OPERATIONS.keys() - {"call"}


# ---- a process that answers what a test gives it


class Server:
    """The other end of a connection.

    Args:
        answer: returns the frames, as bytes, for a request's header; None: ends the connection.
        timeout_s: how long an answer is waited for, in seconds.
    """

    def __init__(self, answer: Any, timeout_s: float = 0.5) -> None:
        self.requests = 0
        self._answer = answer
        ours, self._theirs = socket.socketpair()
        ours.settimeout(timeout_s)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        try:
            self.connection = Connection(ProcessIdentity.of(os.getpid()), ours)
        except BaseException:
            self.close()
            raise

    def _serve(self) -> None:
        with suppress(OSError, EOFError, wire.WireError), self._theirs:
            while self.requests < _MOST_REQUESTS:
                message = wire.receive(self._theirs)
                self.requests += 1
                made = self._answer(wire.unpack(message)[0])
                if made is None:
                    return
                self._theirs.sendall(made)

    def close(self) -> None:
        with suppress(OSError):
            self._theirs.shutdown(socket.SHUT_RDWR)
        self._thread.join()


def framed(header: Any, body: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return wire.framed(wire.LENGTH.pack(len(text)) + text + body)


HELLO = framed({"ok": {"version": wire.VERSION}})


@contextmanager
def answering(*made: bytes, ends: bool = False) -> Iterator[Connection]:
    """Return a connection whose requests, after the first, get these answers; the last one again and again.

    Args:
        ends: what is closed in the end gets a right answer.
    """
    left = itertools.chain([HELLO], made, itertools.repeat(made[-1]))

    def answer(header: dict[str, Any]) -> bytes:
        is_end = header["op"] == "close" or header.get("name") == "saved_end"
        return framed({"ok": None}) if ends and is_end else next(left)

    server = Server(answer)
    try:
        yield server.connection
    finally:
        server.connection.close()
        server.close()


# ---- single answers

DEEP = b'{"ok":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
NONSENSE = {
    "null": b'{"ok":null}',
    "NaN": b'{"ok":NaN}',
    "infinity": b'{"ok":1e999}',
    "a huge number": b'{"ok":' + b"9" * 5000 + b"}",
    "a number beyond 64 bits": b'{"ok":' + b"9" * 30 + b"}",
    "a negative number": b'{"ok":-1}',
    "true": b'{"ok":true}',
    "a float": b'{"ok":1.5}',
    "deep": DEEP,
    "a list in a list": b'{"ok":[[]]}',
    "an object": b'{"ok":{"a":1}}',
    "no object": b"[1]",
    "neither": b"{}",
    "a huge number of an error": b'{"errno":' + b"9" * 30 + b',"error":""}',
    "a number of an error that is true": b'{"errno":true,"error":"x"}',
    "an error without a text": b'{"errno":2,"error":null}',
}


@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.parametrize("operation", sorted(answers.OPERATIONS.keys() | PROCEDURES.keys()))
def test_a_value_of_another_shape_is_one_clear_error(operation: str, nonsense: str) -> None:
    """Broken by `null` where a list was expected: TypeError."""
    with answering(framed(NONSENSE[nonsense])) as connection:
        is_procedure = operation in PROCEDURES
        shape = answers.PROCEDURES[operation] if is_procedure else answers.OPERATIONS[operation]
        try:
            shape(json.loads(NONSENSE[nonsense])["ok"])
        except (answers.ShapeError, LookupError, TypeError, ValueError, RecursionError):
            pass
        else:
            return  # this one is a right answer
        send = partial(connection.call, operation)
        if not is_procedure:
            send = partial(connection.request, operation, path="", file=1)
        with pytest.raises(OSError, match=f"^.Errno 71. process {os.getpid()} answered nonsense: ") as caught:
            send()
        assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "../../etc/cron.d/x", "a\0", "x" * 300, "\ud800", 7])
def test_a_name_in_a_folder_leads_nowhere_else(name: Any) -> None:
    """Broken by `extract -a`: an instance named "../x" chose where root wrote."""
    with (
        answering(framed({"ok": ["a", name]})) as connection,
        pytest.raises(OSError, match="answered nonsense"),
    ):
        connection.list("instances")


@pytest.mark.parametrize("mode", [0o4755, 0o120777, -1, 1 << 40, True])
def test_a_mode_has_permission_bits_alone(mode: Any) -> None:
    """A mount shows them: a program of root's with the setuid bit, or a link, could lie there."""
    with answering(framed({"ok": [False, mode]})) as connection, pytest.raises(OSError, match="nonsense"):
        connection.stat("trace")


def test_a_body_belongs_to_a_read_alone_and_is_no_longer_than_asked() -> None:
    with answering(framed({"ok": []}, b"x")) as connection, pytest.raises(OSError, match="nonsense"):
        connection.list("")
    with answering(framed({"ok": 1}), framed({"ok": None}, b"xyz")) as connection:
        file = connection.open("trace", os.O_RDONLY)
        with pytest.raises(OSError, match="3 bytes to 'read' of 2"):
            file.read(0, 2)


def test_no_write_takes_more_than_it_got() -> None:
    with answering(framed({"ok": 1}), framed({"ok": 9})) as connection:
        file = connection.open("trace", os.O_WRONLY)
        with pytest.raises(OSError, match="9 to 'write' of 3"):
            file.write(0, b"abc")


@pytest.mark.parametrize("number", ["EPIPE", "ECONNRESET", "ECONNREFUSED", "ESHUTDOWN"])
def test_an_error_of_the_process_is_not_taken_for_one_of_our_own_output(number: str) -> None:
    """Broken by EPIPE: the command ended as if whoever reads its output had, and said nothing."""
    import errno

    made = framed({"errno": getattr(errno, number), "error": "broken"})
    with answering(made) as connection, pytest.raises(OSError, match="broken") as caught:
        connection.list("")
    assert not isinstance(caught.value, ConnectionError)


def test_descriptors_that_nobody_asked_for_are_closed() -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(10)
    with open(os.devnull) as null:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null.fileno()] * 50))]
        theirs.sendmsg([HELLO], rights)
    process = ProcessIdentity.of(os.getpid())
    before = len(os.listdir("/proc/self/fd"))
    with Connection(process, ours):
        assert len(os.listdir("/proc/self/fd")) == before
    theirs.close()


# ---- answers that do not end


class Ticks:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_the_limit_grows_with_what_comes_and_ends() -> None:
    clock = Ticks()
    limit = AnswerLimit("an answer", 10.0, most_bytes=3 << 20, clock=clock)
    clock.now_s = 10.0
    limit.take(1)
    clock.now_s = 19.0
    limit.take(1 << 20)
    limit.take(1 << 20)
    clock.now_s = 40.0
    with pytest.raises(TimeoutError, match="an answer does not end: 2097153 bytes came in 40 s"):
        limit.take(0)
    with pytest.raises(OSError, match="an answer does not end: it has more than 3145728 bytes"):
        limit.take(1 << 20)


def test_all_processes_of_a_round_have_one_deadline_that_answers_move() -> None:
    clock = Ticks()
    limit = CommandLimit(10.0, clock=clock)
    limits = limit.round(3)
    silent, answering, sending = limits.share(), limits.share(), limits.share()
    clock.now_s = 8.0
    answering.answered(1)
    sending.answered(1 << 20)
    assert silent.left_s() == 2.0
    assert 2.0 < answering.left_s() < 2.2  # a hundred requests have as much time as a MiB
    assert sending.left_s() == 12.0
    clock.now_s = 10.0
    assert silent.left_s() == 0.0


def test_processes_that_are_late_in_turn_do_not_add_up() -> None:
    limit = CommandLimit(10.0, clock=Ticks())
    limit.lose(3.0)
    assert limit.round(1).share().left_s() == 7.0
    limit.lose(100.0)
    assert limit.round(1).share().left_s() == 5.0


def test_answers_that_are_kept_have_one_limit_for_all_and_the_longest_is_refused() -> None:
    """Broken: 32 processes with endless answers have 32 GiB of memory when all are asked at once."""
    limits = CommandLimit(most_bytes=100).round(4)
    short, long, longer = limits.share(), limits.share(), limits.share()
    AnswerLimit("x", share=long).take(60)
    AnswerLimit("x", share=short).take(25)
    with pytest.raises(OSError, match="y does not end: it has more than 29 bytes"):
        AnswerLimit("y", share=longer).take(30)
    longer.release()
    long.release()
    AnswerLimit("x", share=short).take(75)


def test_late_answers_of_one_process_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Ticks()
    with answering(framed({"ok": []}), framed({"ok": []})) as connection:
        connection.limit(CommandLimit(10.0, clock=clock).round(2).share())
        connection.list("")
        clock.now_s = 10.2
        with pytest.raises(TimeoutError, match=r"process \d+ answers too slowly: 1 answers in 10 s"):
            connection.list("")


def test_a_frame_that_drips_has_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken by a deadline for each byte: a frame of a MiB could take months. Counts bytes."""
    clock = Ticks()
    sent: list[float] = []

    class Stream:
        def gettimeout(self) -> float:
            return 10.0

        def settimeout(self, timeout_s: float) -> None:
            assert timeout_s > 0

        def recv_into(self, room: memoryview) -> int:
            clock.now_s += 1.0
            room[:1] = b"\0" if sent else b"\x40"  # a frame of 64 bytes
            sent.append(clock.now_s)
            return 1

    monkeypatch.setattr(wire.time, "monotonic", clock)
    with pytest.raises(TimeoutError):
        wire.receive(Stream())  # type: ignore[arg-type]
    assert len(sent) == 10


def test_a_file_without_an_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_client.AnswerLimit, "__init__", patched_init(most_bytes=8 << 20))
    part = framed({"ok": None}, b"x" * wire.MAX_BODY)
    with answering(framed({"ok": 1}, b"x"), part, ends=True) as connection:
        with pytest.raises(
            OSError, match=r"process \d+: a file does not end: it has more than 8388608 bytes"
        ):
            connection.read_text("trace")


def patched_init(**fixed: Any) -> Any:
    true = AnswerLimit.__init__

    def init(self: AnswerLimit, *args: Any, **given: Any) -> None:
        true(self, *args, **given | fixed)

    return init


def test_a_list_of_functions_without_an_end_ends() -> None:
    """Broken by a process that begins again and again."""
    with answering(framed({"ok": ["a", "b"]})) as connection:
        with pytest.raises(OSError, match="names of functions that are not in order"):
            listing.function_names(Process(1, connection))


def test_a_trace_without_an_end_ends(tmp_path: Path) -> None:
    made = framed({"ok": {"number": 1, "bytes": 7}})
    with answering(made, framed({"ok": "YWJj"}), ends=True) as connection:
        folder = Process(1, connection).instance()
        with pytest.raises(OSError, match="the trace of process 1 does not end"):
            save(folder, str(tmp_path / "t.fg"))
    assert not list(tmp_path.iterdir())


def test_a_part_of_a_trace_that_is_no_base64_is_nonsense(tmp_path: Path) -> None:
    with answering(framed({"ok": {"number": 1, "bytes": 7}}), framed({"ok": "###"}), ends=True) as connection:
        with pytest.raises(OSError, match="answered nonsense"):
            save(Process(1, connection).instance(), str(tmp_path / "t.fg"))


def test_a_line_without_an_end_is_not_kept() -> None:
    part = framed({"ok": None}, b"x" * wire.MAX_BODY)
    with answering(framed({"ok": 1}), part) as connection:
        pipe = Pipe(Process(1, connection).instance())
        assert len(pipe.lines()) > wire.MAX_BODY
        assert len(pipe._rest) == 0


def test_long_lines_take_no_longer_than_their_length() -> None:
    """Broken by expressions that look at each place of a line from each other place."""
    assert counts_of("  " + " 1" * (1 << 19)) == {}
    assert counts_of(f"  f {'9' * 5000}   1.5 us  1.5 us  1.5 us\n") == {}
    with answering(framed({"ok": None}, b"[" * (1 << 20))) as connection:
        assert Process(1, connection).instance().value("trace_clock") == "[" * (1 << 20)


# ---- all verbs, with random answers

VERBS = [
    "show", "show -p", "show --hist py:raise", "show -c 0", "list", "list -e raise -F", "list -f",
    "list -B -C -t -o", "settings", "snapshot", "hist", "hist py:raise keys=type", "set -e py:raise",
    "set -l shop* --args", "start", "stop",
    "restart", "clear -a", "extract -a -t", "profile -l x -- true", "trace -l shop* -- true",
    "top -b -n 1 -d 0.01", "reset -t -a -d",
    "start -p nop -e py:raise -f 'a == 1'",
]  # fmt: skip

_TEXTS = ["", "nop", "a", "py:raise", "..", "a/b", ATTACK, "x" * 300, "\ud800", "cpu0", "cpu", "  \x1c", "7"]
_NUMBERS = [0, 1, -1, 7, 1 << 31, 1 << 62, 1 << 70, 1.5, float("nan"), float("inf")]


class Canned:
    """True answers, without a process that changes."""

    def __init__(self) -> None:
        self._remote = LocalRemote()
        self._reads = 0
        self._files: dict[str, bytes] = {}

    def answer(self, header: dict[str, Any]) -> tuple[Any, bytes]:
        operation, path = header["op"], header.get("path", "")
        if operation == "hello":
            return {"version": wire.VERSION}, b""
        if operation == "stat":
            return [False, 0o640], b""
        if operation == "list":
            return (["x"] if path == "instances" else self._names(path)), b""
        if operation == "get":
            return None, self._text(path)
        if operation == "open":
            return 1, b""
        if operation == "read":
            self._reads += 1  # every other time it is the end
            return None, b"# a line\n" * (self._reads % 2)
        if operation == "call":
            return {
                "functions_after": [], "give_back": True, "unmatched": [], "saved_part": "",
                "save": {"number": 1, "bytes": 10},
            }.get(header["name"]), b""  # fmt: skip
        return {"write": 1, "ready": True}.get(operation), b""

    def _names(self, path: str) -> list[str]:
        with suppress(OSError):
            return self._remote.list(re.sub("^instances/x/?", "", path))
        return ["a"]

    def _text(self, path: str) -> bytes:
        if path not in self._files:
            self._files[path] = b"1\n"
            with suppress(OSError):
                self._files[path] = self._remote.read_text(re.sub("^instances/x/", "", path)).encode()
        return self._files[path][: 1 << 16]


def some_value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(7 if depth < 4 else 4)
    if kind < 2:
        return chance.choice(_TEXTS)
    if kind == 2:
        return chance.choice(_NUMBERS)
    if kind == 3:
        return chance.choice([None, True, False])
    if kind < 6:
        return [some_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(_TEXTS): some_value(chance, depth + 1) for _ in range(chance.randrange(4))}


def damaged_text(chance: random.Random, text: bytes) -> bytes:
    """Return a file with lines lost, repeated, cut or replaced."""
    lines = text.split(b"\n")
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(lines))
        lines[at : at + 1] = chance.choice([
            [], [lines[at]] * 3, [lines[at][: chance.randrange(9)]], [chance.randbytes(9)],
            [chance.choice(_TEXTS).encode("utf-8", "replace")], [b" " * 5], [lines[at] + ATTACK.encode()],
            [b"\x1c", b"\x85", b"\xe2\x80\xa8"],
        ])  # fmt: skip
        lines = lines or [b""]
    return b"\n".join(lines)


def some_answer(chance: random.Random, canned: Canned, share: float, header: dict[str, Any]) -> bytes | None:
    """Return an answer, of which this share is no right one. Files are damaged besides."""
    value, body = canned.answer(header)
    kind = chance.random()
    if chance.random() >= share:
        is_damaged = header["op"] in answers.WITH_BODY and chance.random() < 0.5
        return framed({"ok": value}, damaged_text(chance, body) if is_damaged else body)
    if kind < 0.4:
        return framed({"ok": some_value(chance)}, chance.choice([b"", b"", b"x"]))
    if kind < 0.6:
        return framed(
            {"errno": chance.choice([1, 2, 11, 22, 32, 104, 110, 3, 4]), "error": chance.choice(_TEXTS)}
        )
    if kind < 0.8:
        frame = bytearray(framed({"ok": value}, body))
        for _ in range(chance.randrange(1, 4)):
            frame[chance.randrange(8, len(frame))] = chance.randrange(256)
        return bytes(frame)
    if kind < 0.9:
        return framed({"errno": some_value(chance), "error": some_value(chance)})
    return None if kind < 0.95 else framed(chance.randbytes(chance.randrange(20)))


@pytest.fixture
def signals() -> Iterator[None]:
    """Keep the handlers: verbs that watch take Ctrl-C."""
    handlers = {number: signal.getsignal(number) for number in ENDING}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def run(
    words: str,
    answer: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    timeout_s: float = 0.5,
) -> tuple[int, str, str]:
    """Run a verb on a process that answers so; return its status and what it printed."""
    servers: list[Server] = []

    def connect(pids: list[int], borrows: bool) -> Iterator[tuple[int, Process]]:
        for pid in pids:
            servers.append(Server(answer, timeout_s))
            yield pid, Process(pid, servers[-1].connection)

    monkeypatch.setattr(_processes, "_connect", connect)
    name, *rest = shlex.split(words)
    status = cli.main([name, "-P", str(os.getpid()), *rest])
    for server in servers:
        server.close()
    return status, *capfd.readouterr()


@pytest.mark.parametrize("words", VERBS)
def test_with_right_answers_the_verb_gets_to_its_end(
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    signals: None,
) -> None:
    """What the next test tries is not refused at once."""
    monkeypatch.chdir(tmp_path)
    right = partial(_right_answer, Canned())
    status, _, err = run(words, right, monkeypatch, capfd, timeout_s=60)
    assert (status, err) == (0, "")


def _right_answer(canned: Canned, header: dict[str, Any]) -> bytes:
    value, body = canned.answer(header)
    return framed({"ok": value}, body)


@pytest.mark.parametrize("seed", range(len(VERBS)))
def test_a_verb_ends_in_clear_lines_whatever_it_is_answered(
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    signals: None,
) -> None:
    monkeypatch.chdir(tmp_path)
    canned = Canned()
    for number in range(max(1, ANSWERED_VERBS // len(VERBS))):
        chance = random.Random(seed << 32 | number)
        answer = partial(some_answer, chance, canned, chance.choice([0, 0.003, 0.03, 0.15]))
        status, out, err = run(VERBS[seed], answer, monkeypatch, capfd)
        assert status in (0, 1, 2), (VERBS[seed], number)
        assert not HARMFUL.search(out) and not HARMFUL.search(err), (VERBS[seed], number)
        assert all(line.startswith("funcgraph: ") for line in err.splitlines()), err
        assert {path.name for path in tmp_path.iterdir()} <= {"trace.fg"} or "extract" in VERBS[seed]


def test_files_of_instances_lie_where_they_were_asked_for() -> None:
    folder = Process(1, LocalRemote()).instance("x")
    assert path_for("trace.fg", folder, processes=1, instances=2) == "trace.x.fg"
