"""Processes share a folder of sockets. Each removes what dead ones left there, and never another socket."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from served import SERVE, WAIT, served

import funcgraph
from funcgraph.control import sockets
from funcgraph.control.client import connect

pytestmark = pytest.mark.one_python
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces")

CONTAINERS = 6
#: Serves and stops again and again. Its socket must be there each time.
COMES_AND_GOES = """
import funcgraph, os
for _ in range(400):
    path = funcgraph.serve()
    for _ in range(20):
        assert os.path.exists(path)
    funcgraph.serve(False)
print("ready")
"""
SWEEPS = """
from funcgraph.control.sockets import remove_stale
print("ready", flush=True)
while True:
    remove_stale()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the processes of a test make their sockets."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def end(*programs: subprocess.Popen[str]) -> None:
    for program in programs:
        program.kill()
        program.communicate()


def line_of(program: subprocess.Popen[str]) -> str:
    assert program.stdout
    return program.stdout.readline().rstrip("\n")


@needs_root
def test_containers_with_the_same_process_ids_keep_their_sockets(folder: Path) -> None:
    """Started at once: number and start time of the processes are the same."""
    container = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", WAIT]
    programs = [start(*container) for _ in range(CONTAINERS)]
    try:
        paths = [line_of(program).removeprefix("ready ") for program in programs]
        if "" in paths:
            pytest.skip("no namespace of process ids can be made here")
        assert all(Path(path).name.startswith("1-") for path in paths)
        end(programs.pop())
        assert len({path for path in paths[:-1] if Path(path).exists()}) == CONTAINERS - 1
        for program in programs:
            children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
            with connect(int(children[0])) as process:
                assert process.call("info")["pid"] == 1
    finally:
        end(*programs)


def test_a_socket_that_is_made_while_a_stale_one_is_removed_stays(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = folder / "app.py"
    script.write_text(f"import sys; print('runs', flush=True); sys.stdin.readline(); {WAIT}")
    with served(
        folder, f"import os; {SERVE}; os.execv(sys.executable, [sys.executable, {str(script)!r}])"
    ) as program:
        assert program.line() == "runs"
        unlink = os.unlink

        def serve_first(*args: Any, **keywords: Any) -> None:
            monkeypatch.undo()
            program.send_line("serve")
            program.line()
            unlink(*args, **keywords)

        monkeypatch.setattr(os, "unlink", serve_first)
        sockets.remove_stale()
        assert os.unlink is unlink  # it has removed something
        with program.connect() as process:
            assert process.call("info")["pid"] == program.pid


@needs_root
def test_who_cannot_connect_removes_nothing(folder: Path) -> None:
    package = str(Path(funcgraph.__file__).parent.parent)
    code = f"""if True:
        import sys
        sys.path.insert(0, {package!r})
        from funcgraph.control.sockets import remove_stale
        print("ready", flush=True)
        sys.stdin.readline()
        remove_stale()
        print("swept", flush=True)
    """
    with served(folder) as program:
        sweeper = start("unshare", "--mount", sys.executable, "-c", code)
        try:
            if line_of(sweeper) != "ready":
                pytest.skip("no mount namespace can be made here")
            hide = [
                "nsenter",
                "--mount",
                "--target",
                str(sweeper.pid),
                "mount",
                "-t",
                "tmpfs",
                "none",
                "/proc",
            ]
            subprocess.run(hide, check=True)
            assert sweeper.communicate("\n")[0] == "swept\n"
        finally:
            end(sweeper)
        with program.connect() as process:
            assert process.call("info")["pid"] == program.pid


def test_a_socket_stays_while_others_look_for_stale_ones(folder: Path) -> None:
    sweepers = [start(sys.executable, "-c", SWEEPS) for _ in range(2)]
    program = start(sys.executable, "-c", COMES_AND_GOES)
    try:
        assert [line_of(one) for one in sweepers] == ["ready"] * 2
        assert line_of(program) == "ready"
    finally:
        end(program, *sweepers)
    assert os.listdir(folder) in ([], [f"funcgraph-control-{os.geteuid()}"])
