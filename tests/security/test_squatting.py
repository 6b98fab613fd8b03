"""Names in folders where all may write are taken by whoever comes first: that keeps nobody from anything."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile_user import become

from funcgraph import _control
from funcgraph.control import place
from funcgraph.control.client import NotServedError, connect

STRANGER = 12345
HANDLER = "funcgraph.control.server:handle"
pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes other users"),
]


@pytest.fixture
def shared() -> Iterator[Path]:
    """Return a folder where all may write, as /dev/shm and /tmp."""
    folder = Path(tempfile.mkdtemp(prefix="fgtest-", dir="/tmp"))
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def stranger(act: Callable[[], object]) -> Iterator[int]:
    """Have another user do something, and go on until the block ends."""
    done, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        become(STRANGER)
        kept = act()
        os.write(writing, b"+")
        signal.pause()
        os._exit(kept is None)
    try:
        os.close(writing)
        assert os.read(done, 1) == b"+"
        yield pid
    finally:
        os.close(done)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def name_of_ours() -> str:
    return f"{place.PREFIX}{os.geteuid()}"


SQUATS: dict[str, Callable[[Path], object]] = {
    "a folder": lambda path: path.mkdir(0o700),
    "a folder for all": lambda path: (path.mkdir(), path.chmod(0o777)),
    "a file": lambda path: path.touch(),
    "a link to a folder of root's": lambda path: path.symlink_to("/root"),
    "a link to nothing": lambda path: path.symlink_to("/nowhere/at/all"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a FIFO": os.mkfifo,
}


@pytest.mark.parametrize("squat", SQUATS)
def test_a_name_that_another_user_has_taken_is_passed_over(squat: str, shared: Path) -> None:
    """Broken by two such mkdirs, in /dev/shm and in /tmp: no socket, no attaching, no record -P."""
    taken = shared / name_of_ours()
    with stranger(lambda: SQUATS[squat](taken)):
        before = taken.lstat()
        try:
            path = Path(_control.start((str(shared),), HANDLER, False))
            assert path.parent.parent == shared and path.parent.name.startswith(f"{taken.name}-")
            facts = path.parent.stat()
            assert (facts.st_uid, stat.S_IMODE(facts.st_mode)) == (os.geteuid(), 0o700)
        finally:
            _control.stop()
        assert sorted(shared.iterdir()) == [taken]  # ours is gone with the socket
        assert taken.lstat() == before


def test_no_two_names_of_ours_are_the_same(shared: Path) -> None:
    """Whoever has seen one name cannot take the next one."""
    seen = set()
    with stranger((shared / name_of_ours()).mkdir):
        for _ in range(3):
            seen.add(Path(_control.start((str(shared),), HANDLER, False)).parent)
            _control.stop()
    assert len(seen) == 3


def test_a_folder_that_cannot_be_made_leaves_nothing(shared: Path) -> None:
    """Nor does it try name after name: a file system that is full, or read-only, refuses all of them."""
    with pytest.raises(OSError, match="No such file or directory"):
        _control.start((str(shared / "none"),), HANDLER, False)
    assert list(shared.iterdir()) == []


@contextmanager
def program(shared: Path, code: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program whose sockets lie in the folder."""
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(shared)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


SERVES = "import funcgraph, sys; funcgraph.serve(); print('ready', flush=True); sys.stdin.read()"
IDLE = "import sys; print('ready', flush=True); sys.stdin.read()"


def test_clients_find_the_process_wherever_its_folder_is(shared: Path) -> None:
    with (
        stranger((shared / name_of_ours()).mkdir),
        program(shared, SERVES) as served,
        connect(served.pid) as process,
    ):
        assert process.call("info")["pid"] == served.pid


def test_a_process_of_another_user_is_never_taken_for_ours(shared: Path) -> None:
    """It listens where our process would, and under its name."""
    with program(shared, IDLE) as idle, program(shared, SERVES) as served:
        (mine,) = shared.iterdir()

        def listen() -> list[socket.socket]:
            kept = []
            for folder in (shared / f"{name_of_ours()}-0", shared / f"{name_of_ours()}-ffffffff"):
                folder.mkdir(mode=0o700)
                for pid in (idle.pid, served.pid):
                    kept.append(socket.socket(socket.AF_UNIX))
                    kept[-1].bind(f"{folder}/{pid}-00000000.sock")
                    kept[-1].listen()
            return kept

        with stranger(listen):
            with pytest.raises(NotServedError):
                connect(idle.pid)
            with connect(served.pid) as process:
                assert process.call("info")["pid"] == served.pid
        assert mine.exists()


SCRIPT = """
    set -e
    for folder in /tmp /dev/shm /run; do mount -t tmpfs -o mode=1777 none $folder; done
    cd /
    as_stranger='setpriv --reuid=12345 --regid=12345 --clear-groups'
    for folder in /tmp /dev/shm; do $as_stranger mkdir -m 700 $folder/funcgraph-control-0; done
    "$PYTHON" -c 'import time
    def turn(): time.sleep(0.001)
    while True: turn()' &
    target=$!
    trap 'kill $target' EXIT
    "$PYTHON" -m funcgraph attach $target
    "$PYTHON" -m funcgraph record -P $target -l __main__.turn -o /tmp/t.fg -- sleep 0.2
    "$PYTHON" -m funcgraph report /tmp/t.fg | grep -c 'turn()'
    "$PYTHON" -m funcgraph detach $target
"""


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_two_folders_of_another_user_keep_nobody_from_attaching_and_recording() -> None:
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("mount namespaces are refused here")
    environment = {
        name: value for name, value in os.environ.items() if name not in ("XDG_RUNTIME_DIR", "TMPDIR")
    }
    script = textwrap.dedent(SCRIPT)
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=120,
        env={**environment, "PYTHON": sys.executable},
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    attached, *_, calls, detached = done.stdout.splitlines()
    assert attached.endswith(": attached") and int(calls) > 10 and detached.endswith(": detached"), done
