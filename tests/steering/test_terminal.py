"""What a hostile process answers, or wrote into its trace, is text: a terminal obeys none of it.

The other end of a pipe may be a terminal, so it does not matter what standard output is.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fgreader
import pytest

from funcgraph import cli, names
from funcgraph.command_support.messages import print_message

pytestmark = pytest.mark.one_python

#: Sets the title of a terminal, has it answer, reverses text, begins a line that looks like one of ours.
ATTACK = "\x1b]0;owned\x07\x1b[6n\x9b31m\u202e\u2066\r\x08\x7f\u2028"
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]")

#: Serves the tree of a process truly, but adds an attack to each line of a file, to each name and each error.
SERVER = textwrap.dedent(
    """
    import json, os, socket, struct, sys, threading
    from funcgraph.control import wire
    from funcgraph.control.server import handle
    attack = sys.argv[2]
    folder = sys.argv[1]
    os.makedirs(folder, mode=0o700, exist_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{folder}/{os.getpid()}-00000001.sock")
    server.listen(9)
    turn = threading.Lock()
    sys.argv = ["shop" + attack]

    def shop():
        pass

    def worse(value):
        if isinstance(value, str):
            return value + attack
        if isinstance(value, list):
            return [worse(one) for one in value]
        if isinstance(value, dict):
            return {name: worse(one) for name, one in value.items()}
        return value

    def attacked(answer, operation):
        header, body = wire.unpack(answer)
        is_empty = header.get("ok") in (True, False, None) and "error" not in header and not body
        if operation == "stat" or is_empty:
            return answer
        lines = body.decode("utf-8", "replace").split("\\n")
        if operation == "get" and len(lines) < 2000:
            body = "\\n".join(line + attack if line else line for line in lines).encode("utf-8", "replace")
            body = body[:wire.MAX_BODY]
        if operation == "read" and body:
            body = (attack + "\\n").encode() + body[:1000]
        return wire.pack(worse(header), body)

    def serve(connection, number):
        while True:
            message = wire.receive(connection)
            with turn:
                answer = handle(number, message)
            header = {} if message[4:8] == b"WAIT" else wire.unpack(message)[0]
            operation = header.get("op")
            if operation not in (None, "hello", "open", "wait"):
                answer = attacked(answer, operation)
            connection.sendall(wire.framed(answer))

    print("ready", flush=True)
    number = 0
    while True:
        connection, _ = server.accept()
        number += 1
        threading.Thread(target=serve, args=(connection, number), daemon=True).start()
    """
)


@contextmanager
def attacker(runtime: Path, name: str = "") -> Iterator[int]:
    """Run a process that answers so, with the attack in its command line."""
    folder = runtime / f"funcgraph-control-{os.geteuid()}"
    command = [sys.executable, "-c", SERVER, str(folder), ATTACK + name]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process.pid
        finally:
            process.kill()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Return a process that attacks terminals, and its runtime folder."""
    runtime = tmp_path_factory.mktemp("hostile")
    with attacker(runtime) as pid:
        yield pid, runtime


VERBS = [
    "show", "show -f", "show --current_tracer", "show --ftrace_filter", "show -s", "show -c 0",
    "show -B none", "show --hist py:raise", "show --trigger py:raise",
    "list", "list -e raise", "list -e raise -F --full", "list -e raise -l", "list -e raise -R", "list -s",
    "list -t", "list -o", "list -f", "list -f shop", "list -B", "list -C",
    "settings", "stat", "snapshot", "snapshot -s", "snapshot -f", "hist", "hist py:raise",
    "hist py:raise keys=type", "set -e py:raise", "set -l shop*", "set -p nonsense", "set -e nonsense",
    "start -p function", "stop", "restart", "clear -a", "extract -a -t", "profile -- true",
    "trace -l shop* -- true", "top -b -n 1 -d 0.01",
    "trace -e py:raise -f 'type ===' -- true", "reset -a -t", "record -o t.fg -- true", "detach",
]  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_passes_on_what_a_terminal_obeys(
    verb: str, hostile: tuple[int, Path], tmp_path: Path
) -> None:
    pid, runtime = hostile
    name, *rest = shlex.split(verb)
    done = subprocess.run(
        [sys.executable, "-m", "funcgraph", name, "-P", str(pid), *rest],
        capture_output=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime), "PYTHONIOENCODING": "utf-8"},
    )
    assert_harmless(done.stdout)
    assert_harmless(done.stderr)
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    assert done.returncode in (0, 1, 2), done.stderr
    assert all(line.startswith(b"funcgraph: ") for line in done.stderr.splitlines()), done.stderr.decode()


def assert_harmless(printed: bytes) -> None:
    text = printed.decode("utf-8")  # nothing that is no UTF-8, either
    assert not HARMFUL.search(text), ascii(text)


def test_status_prints_a_hostile_command_line(hostile: tuple[int, Path]) -> None:
    env = {**os.environ, "XDG_RUNTIME_DIR": str(hostile[1])}
    done = subprocess.run([sys.executable, "-m", "funcgraph", "status"], capture_output=True, env=env)
    assert_harmless(done.stdout + done.stderr)
    assert f"\n  {hostile[0]}: ".encode() in done.stdout


def test_a_newline_in_a_name_begins_no_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Broken by print_message() that kept newlines: a message of ours seemed to follow a file's name."""
    name = tmp_path / "a\nfuncgraph: all is well\x1b[2J.fg"
    name.write_text("no trace")
    assert cli.main(["report", str(name)]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == 1 and r"a\nfuncgraph: all is well\x1b[2J.fg" in errors


def test_only_lines_of_ours_follow_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    print_message("a\nb", ["  c\nd", "  ^"])
    assert capsys.readouterr().err == "funcgraph: a\\nb\n  c\\nd\n  ^\n"


def test_a_file_that_a_process_gives_stays_byte_for_byte(
    hostile: tuple[int, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An API and a mount give what is there; only what is printed is escaped."""
    from funcgraph.control.client import connect

    monkeypatch.setenv("XDG_RUNTIME_DIR", str(hostile[1]))
    with connect(hostile[0]) as process:
        assert ATTACK in process.read_text("current_tracer")


# ---- traces

#: A name that a program can have; in the trace's file an attack takes its place, byte for byte.
NAME = "Q" + "x" * (len(ATTACK.encode("utf-8")) - 1)
#: The kernel cuts names of threads.
_SHORT = 15

PROGRAM = f"""
import funcgraph, sys, threading
import {NAME} as module

def {NAME}({NAME}):
    return {NAME}

class {NAME}Error(Exception):
    pass

def fails():
    raise {NAME}Error({NAME!r})

def work():
    {NAME}({NAME!r})
    module.{NAME}()
    funcgraph.trace_marker.write({NAME!r})
    try:
        fails()
    except Exception:
        pass

thread = threading.Thread(target=work, name={NAME!r})
thread.start()
thread.join()
work()
"""


def attacked(data: bytes) -> bytes:
    """Return a trace in which the name has become the attack. Its directory is left out: it was cut off."""
    file = fgreader.File(data)
    made = [data[:16]]
    for chunk in file.chunks:
        if chunk.type == fgreader.DIRECTORY:
            continue
        payload = file.payload(chunk).replace(NAME.encode(), ATTACK.encode())
        payload = payload.replace(
            NAME[:_SHORT].encode(), b"\x1b[2J\x9b31m\xc2\x9b5n\r\x08"[:_SHORT].ljust(_SHORT)
        )
        fields = list(fgreader.CHUNK.unpack(data[chunk.offset : chunk.offset + fgreader.CHUNK.size]))
        fields[2], fields[5], fields[7], fields[8] = 0, len(payload), zlib.crc32(payload), 0
        fields[8] = zlib.crc32(fgreader.CHUNK.pack(*fields))
        made += [fgreader.CHUNK.pack(*fields), payload, bytes(-len(payload) % 8)]
    return b"".join(made)


READERS = [
    "report", "report -O args --no-pager", "report --tree", "report --callers Q*", "summary",
    "summary --json", "summary --sort name", "diff TRACE TRACE", "diff --first-difference TRACE OTHER",
    "report --task nonsense",
    "report -l nonsense", "export -F csv -o -", "export -F jsonl -o -", "export -F collapsed -o -",
    "export -F dot -o -", "export -F mermaid -o -", "sql TRACE SELECT*FROM(calls)",
]  # fmt: skip


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace in which each name that a program chooses is an attack."""
    folder = tmp_path_factory.mktemp("trace")
    (folder / f"{NAME}.py").write_text(f"def {NAME}(): pass")
    for number in (1, 2):
        program, plain = folder / f"program{number}.py", folder / f"plain{number}.fg"
        program.write_text(PROGRAM + "work()\n" * number)
        words = [
            "record",
            "-o",
            str(plain),
            "-B",
            NAME,
            "-p",
            "function_graph",
            "-e",
            "py:raise",
            "--args",
            "--retval",
        ]
        env = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
        done = subprocess.run(
            [sys.executable, "-m", "funcgraph", *words, sys.executable, str(program), NAME],
            capture_output=True, timeout=60, env=env,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        made = attacked(plain.read_bytes())
        assert NAME.encode() not in made and made.count(ATTACK.encode()) > 9
        (folder / f"t{number}\x1b[2J.fg").write_bytes(made)
    return folder


@pytest.mark.parametrize("reader", READERS)
def test_no_reader_passes_on_what_a_terminal_obeys(reader: str, trace: Path) -> None:
    """Also on a terminal, where the formats for other programs are escaped, too."""
    one, other = (str(trace / f"t{number}\x1b[2J.fg") for number in (1, 2))
    name, *rest = shlex.split(reader)
    words = [one if word == "TRACE" else other if word == "OTHER" else word for word in rest]
    if "TRACE" not in rest:
        words.append(one)
    env = {**os.environ, "PAGER": "cat", "NO_COLOR": "1"}
    reading, writing = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "funcgraph", name, *words], stdout=writing, stderr=writing, env=env
    ) as process:
        os.close(writing)
        printed = b""
        try:
            while part := os.read(reading, 1 << 16):
                printed += part
        except OSError:  # EIO: the other end is closed
            pass
        os.close(reading)
    assert process.returncode in (0, 1, 2)
    assert b"Traceback" not in printed, printed.decode()
    assert_harmless(printed.replace(b"\r\n", b"\n"))
    assert printed.strip()


# ---- the functions


def test_names_are_escaped_as_python_writes_them() -> None:
    assert names.printable("a\n\x1b\x9b\u202e\udc80") == r"a\n\x1b\x9b\u202e\udc80"
    assert names.printable_lines("a\tb\r\n\x07") == "a\tb\\r\n\\x07"
    assert names.printable("名\u3000前 \xa0é") == "名\u3000前 \xa0é"


#: The calls that print -> why what they print needs no look.
PRINTING = {
    ("command_support/messages.py", "print(text, file=sys.stderr"): "say() itself",
    ("command_support/parser.py", "print(parser.format_all()"): "our own help",
    ("commands/list.py", "print(_compressions()"): "our own names of codecs",
    ("commands/selftest.py", "print("): "our own checks of this machine",
    ("steering/output.py", "stream.write("): "the one place",
    ("steering/output.py", "sys.stdout.flush"): "the one place",
    ("steering/screen.py", "sys.stdout.write(text)"): "a page whose lines are escaped",
    ("steering/screen.py", "sys.stdout.flush"): "a page whose lines are escaped",
    ("commands/export.py", "sys.stdout.buffer"): "no terminal: byte for byte",
}


def test_there_is_one_place_that_prints() -> None:
    package = Path(cli.__file__).parent
    found = []
    for folder in ("commands", "command_support", "steering"):
        for path in sorted((package / folder).glob("*.py")):
            name = f"{folder}/{path.name}"
            for line in path.read_text().splitlines():
                if not re.search(
                    r"(?<![\w.])(?<!def )print\(|sys\.stdout\.(write|buffer|flush)|stream\.write\(", line
                ):
                    continue
                if not any(name == file and begin in line for file, begin in PRINTING):
                    found.append(f"{name}: {line.strip()}")
    assert found == []
