"""Where the socket lies: nobody else can stand there, come in, or lead us elsewhere."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from served import SERVE, WAIT, served

import funcgraph
from funcgraph import _control
from funcgraph.control import processes
from funcgraph.control.client import NotServedError, connect

HANDLER = "funcgraph.control.server:handle"
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
pytestmark = pytest.mark.one_python


def folder_in(base: Path) -> Path:
    return base / f"funcgraph-control-{os.geteuid()}"


def refused(*bases: Path) -> str:
    """Return why no folder can be used."""
    with pytest.raises(OSError) as caught:
        _control.start(tuple(map(str, bases)), HANDLER, False)
    assert _control.path() is None
    return str(caught.value)


def test_only_its_user_can_enter_the_folder_and_use_the_socket(tmp_path: Path) -> None:
    with served(tmp_path, f"import os; os.umask(0); {WAIT}") as program:
        assert stat.S_IMODE(folder_in(tmp_path).stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(program.path).stat().st_mode) == 0o600
        assert Path(program.path).name.startswith(f"{program.pid}-")


def passed_over(base: Path) -> None:
    """Assert that what has the folder's name is not used, and keeps nobody from serving."""
    before = sorted(folder_in(base).parent.rglob("*"))
    try:
        path = Path(_control.start((str(base),), HANDLER, False))
        assert path.parent.name.startswith(f"{folder_in(base).name}-")
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    finally:
        _control.stop()
    assert sorted(folder_in(base).parent.rglob("*")) == before


def test_a_link_in_the_folders_place_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o700)
    folder_in(tmp_path).symlink_to(target)
    passed_over(tmp_path)
    assert not list(target.iterdir())


def test_a_file_in_the_folders_place(tmp_path: Path) -> None:
    folder_in(tmp_path).touch()
    passed_over(tmp_path)


def test_a_folder_that_others_may_use(tmp_path: Path) -> None:
    folder_in(tmp_path).mkdir()
    folder_in(tmp_path).chmod(0o755)
    passed_over(tmp_path)


@needs_root
def test_a_folder_of_another_user(tmp_path: Path) -> None:
    folder_in(tmp_path).mkdir(mode=0o700)
    os.chown(folder_in(tmp_path), NOBODY, NOBODY)
    passed_over(tmp_path)


def test_each_folder_is_named_with_its_reason_and_the_next_is_tried(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad", tmp_path / "good"
    bad.touch()
    good.mkdir()
    text = refused(bad, tmp_path / "none")
    assert f"{folder_in(bad)}: Not a directory; {folder_in(tmp_path / 'none')}: No such file" in text
    try:
        assert _control.start((str(bad), str(good)), HANDLER, False).startswith(str(good))
    finally:
        _control.stop()


def test_a_path_of_any_length(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 200) / ("y" * 200)
    long.mkdir(parents=True)
    with served(long) as program:
        assert program.path.startswith(str(long))
        with program.connect() as process:
            assert process.call("info")["pid"] == program.pid


def test_sockets_of_dead_processes_are_removed(tmp_path: Path) -> None:
    with served(tmp_path) as dead:
        dead.process.kill()
        dead.process.wait()
    assert Path(dead.path).exists()
    with served(tmp_path) as program:
        assert os.listdir(folder_in(tmp_path)) == [Path(program.path).name]


def test_a_socket_that_somebody_else_made_is_not_taken_for_it(tmp_path: Path) -> None:
    """Same user, same folder, the right name: the kernel says who listens."""
    child = subprocess.Popen(["sleep", "60"], env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})
    folder_in(tmp_path).mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as imposter:
        imposter.bind(f"{folder_in(tmp_path)}/{child.pid}-1.sock")
        imposter.listen()
        with pytest.raises(NotServedError):
            connect(child.pid)
    child.kill()
    child.wait()


def test_a_folder_of_others_is_not_looked_into_by_clients(tmp_path: Path) -> None:
    with served(tmp_path) as program:
        folder_in(tmp_path).rename(tmp_path / "elsewhere")
        folder_in(tmp_path).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(NotServedError):
            program.connect()


def test_an_exec_leaves_a_socket_that_the_next_program_removes(tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text(WAIT)
    with served(
        tmp_path, f"import os; {SERVE}; os.execv(sys.executable, [sys.executable, {str(script)!r}])"
    ) as one:
        left = Path(one.line())
        assert os.listdir(folder_in(tmp_path)) == [left.name]
        with one.connect() as process:
            assert process.call("info")["argv"] == [str(script)]


def as_nobody(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python code as another user, who finds funcgraph where we do."""
    package = str(Path(funcgraph.__file__).parent.parent)
    become = f"import os, sys; sys.path.insert(0, {package!r}); os.setgroups([]); "
    become += f"import funcgraph.control.client; os.setgid({NOBODY}); os.setuid({NOBODY}); "
    return subprocess.run([sys.executable, "-c", become + code], capture_output=True, text=True, cwd=folder)


@needs_root
def test_another_user_is_refused(tmp_path: Path) -> None:
    with served(tmp_path) as program:
        code = f"from funcgraph.control.client import connect; connect({program.pid})"
        done = as_nobody(code, tmp_path)
        assert (
            f"process {program.pid} belongs to user root: only that user and root may steer it" in done.stderr
        )
        with program.connect() as process:
            assert process.call("info")["pid"] == program.pid


@needs_root
def test_another_user_who_gets_at_the_socket_is_refused_by_the_process(tmp_path: Path) -> None:
    """Also if somebody has opened the folder to all."""
    with served(tmp_path) as program, program.connect() as process:
        for folder in [Path(program.path), *Path(program.path).parents]:
            if not folder.stat().st_mode & stat.S_IXOTH:  # also those of a worker of pytest
                folder.chmod(0o777)
        code = f"""
import socket
connection = socket.socket(socket.AF_UNIX)
folder, name = os.path.split({program.path!r})
connection.connect(f"/proc/self/fd/{{os.open(folder, os.O_PATH)}}/{{name}}")
try:
    connection.sendall(b'abcd' * 100)
    print(connection.recv(1))
except ConnectionError:
    print(b'')
"""
        done = as_nobody(f"exec({code!r})", Path("/"))
        assert done.stdout == "b''\n", done.stderr
        assert process.call("info")["pid"] == program.pid


@needs_root
def test_root_steers_the_process_of_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Path(tempfile.mkdtemp(prefix="fgtest-", dir="/tmp"))
    os.chown(own, NOBODY, NOBODY)
    package = str(Path(funcgraph.__file__).parent.parent)
    become = (
        f"import os, sys; sys.path.insert(0, {package!r}); import funcgraph._control, funcgraph._engine; "
    )
    become += "import funcgraph.control.entrance, funcgraph.control.owned, funcgraph.control.serving; "
    become += "import funcgraph.tracefs.tree; "
    become += f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY}); "
    with served(own, f"{become}{WAIT}") as program:
        assert Path(program.path).stat().st_uid == NOBODY
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(own))
        assert program.pid in processes.running()
        with program.connect() as process:
            assert process.pid == program.pid  # it has answered
        assert program.end() == 0
        assert not Path(program.path).exists()
    shutil.rmtree(own)
