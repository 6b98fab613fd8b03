"""A process that answers nonsense at its socket ends no command for the others."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from funcgraph.control.client import connect
from steering.conftest import Shops

#: Answers each request with the same bytes, `hello` as it has to be unless `all`; none: closes.
_SERVER = textwrap.dedent("""
    import json, os, socket, struct, sys, threading
    folder, answer, which = sys.argv[1], bytes.fromhex(sys.argv[2]), sys.argv[3]
    os.makedirs(folder, mode=0o700, exist_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{folder}/{os.getpid()}-1.sock")
    server.listen(9)
    print("ready", flush=True)

    def frame(text):
        return struct.pack("<II", len(text) + 4, len(text)) + text

    def serve(connection):
        while length := connection.recv(4, socket.MSG_WAITALL):
            message = connection.recv(struct.unpack("<I", length)[0], socket.MSG_WAITALL)
            if b'"hello"' in message and which != "all":
                connection.sendall(frame(b'{"ok":{"version":1}}'))
            elif not answer:
                break
            else:
                connection.sendall(answer)
        connection.close()

    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
""")


def _framed(text: bytes) -> bytes:
    size = len(text).to_bytes(4, "little")
    return (len(text) + 4).to_bytes(4, "little") + size + text


ANSWERS = {
    "null": _framed(b'{"ok":null}'),
    "number": _framed(b'{"ok":7}'),
    "list": _framed(b'{"ok":[null,{"a":[]}]}'),
    "object": _framed(b'{"ok":{"version":"x"}}'),
    "no result": _framed(b"{}"),
    "no number": _framed(b'{"errno":null,"error":[]}'),
    "no JSON": _framed(b"{]"),
    "too long": b"\xff\xff\xff\xff",
    "nothing": b"",
}


@contextmanager
def hostile(runtime: Path, answer: str, which: str) -> Iterator[int]:
    """Run a process that answers so."""
    folder = runtime / f"funcgraph-control-{os.geteuid()}"
    command = [sys.executable, "-c", _SERVER, str(folder), ANSWERS[answer].hex(), which]
    env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield process.pid
        finally:
            process.kill()


@pytest.mark.one_python
@pytest.mark.parametrize("which", ["all", "but hello"])
@pytest.mark.parametrize("answer", ANSWERS)
def test_nonsense_of_one_process_is_one_line_and_the_others_go_on(
    answer: str, which: str, shop: Shops, tmp_path: Path
) -> None:
    """Broken by `null` to `list`: TypeError."""
    other = shop()
    with hostile(tmp_path, answer, which) as pid:
        for words in (["stat"], *([["trace", "-l", "*.pay", "--", "true"]] if which != "all" else [])):
            done = subprocess.run(
                [sys.executable, "-m", "funcgraph", words[0], "-P", f"{pid},{other.pid}", *words[1:]],
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert "Traceback" not in done.stderr
            assert done.returncode in (0, 1), done.stderr
            lines = done.stderr.splitlines()
            assert len(lines) <= 1, done.stderr
            assert all(line.startswith(f"funcgraph: process {pid}: ") for line in lines)
    with connect(other.pid) as process:
        assert process.read_text("current_tracer") == "nop\n"
