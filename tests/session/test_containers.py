"""`record -P` reaches a process in a container: from the node, from inside, and from a debug container.

The container is what a container runtime makes: namespaces of processes and mounts, its own /dev/shm.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph
from loaded_server import PROGRAM

from funcgraph.recorder.directory import Session
from funcgraph.recorder.reach import Reach, ReachError
from funcgraph.rights.identity import ProcessIdentity

_CAN_UNSHARE = ["unshare", "-m", "-p", "-f", "mount", "-t", "tmpfs", "t", "/dev/shm"]
pytestmark = [
    pytest.mark.one_python,
    pytest.mark.skipif(
        os.geteuid() != 0 or subprocess.run(_CAN_UNSHARE, capture_output=True).returncode != 0,
        reason="only root makes namespaces, and only where it may mount",
    ),
]

FUNCGRAPH = f"{shlex.quote(sys.executable)} -m funcgraph"
ASK = """
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
file = line.makefile("rw")
for number in range(5):
    print(number, file=file, flush=True)
    assert file.readline().startswith(f"{number} ")
"""


@pytest.fixture
def container(fg: Funcgraph) -> Iterator[int]:
    """Run the server as process 1 of a container; return its id here."""
    start = (
        f"mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm && unset XDG_RUNTIME_DIR && "
        f"exec {shlex.quote(sys.executable)} {PROGRAM} {fg.folder}"
    )
    outer = subprocess.Popen(
        ["unshare", "-m", "-p", "-f", "sh", "-c", start],
        stdout=subprocess.PIPE,
        text=True,
        env={**fg.env, "FUNCGRAPH": "control"},
    )
    assert outer.stdout is not None
    assert outer.stdout.readline() == "ready\n"
    pid = int(Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text())
    yield pid
    os.kill(pid, 9)
    outer.communicate()


def record(pid: int, fg: Funcgraph, trace: Path) -> str:
    """Return the command that records process `pid` while it is asked five times."""
    ask = f"{shlex.quote(sys.executable)} -c {shlex.quote(ASK)} {fg.folder}/threads"
    return f"{FUNCGRAPH} record -P {pid} -l '*.answer' -o {trace} -- {ask}"


def test_from_the_node(fg: Funcgraph, container: int) -> None:
    run("sh", "-c", record(container, fg, fg.trace))
    assert fg.calls()["__main__.answer"] == 5
    assert {task["pid"] for task in fg.summary()["tasks"]} == {1}  # the id that it has itself
    assert not list(Path(f"/proc/{container}/root/dev/shm").glob("funcgraph-[0-9]*"))


def test_from_inside(fg: Funcgraph, container: int) -> None:
    """As `kubectl exec` does it."""
    run("nsenter", "-t", str(container), "-m", "-p", "sh", "-c", record(1, fg, fg.trace))
    assert fg.calls()["__main__.answer"] == 5


def test_from_a_container_that_shares_its_processes(fg: Funcgraph, container: int) -> None:
    """As `kubectl debug --target` and shareProcessNamespace do it."""
    script = f"mount -t proc proc /proc && mount -t tmpfs tmpfs /dev/shm && {record(1, fg, fg.trace)}"
    run("nsenter", "-t", str(container), "-p", "unshare", "-m", "sh", "-c", script)
    assert fg.calls()["__main__.answer"] == 5


def test_processes_that_see_different_files_are_refused_together(container: int) -> None:
    own, other = ProcessIdentity.of(os.getpid()), ProcessIdentity.of(container)
    assert Reach.of(own).is_own and not Reach.of(other).is_own
    for pair in ((own, other), (other, own)):
        with pytest.raises(ReachError, match="different files"):
            Reach.of_all(pair)
    assert Reach.of(other).outer_pid(1) == container
    assert Reach.of(own).outer_pid(os.getpid()) == os.getpid()


def test_processes_of_one_container_are_recorded_together(container: int) -> None:
    identities = [ProcessIdentity.of(container) for _ in range(2)]
    assert not Reach.of_all(identities).is_own


def test_a_session_of_another_users_process_is_made_by_that_user() -> None:
    """The process finds the session in a folder that both reach, and nothing there is ours."""
    process = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60"])
    try:
        while (identity := ProcessIdentity.of(process.pid)).uid == 0:  # setpriv has not changed its user yet
            time.sleep(0.005)
        session = Session.create(places=Reach.of(identity).places(), most_ring_bytes=1 << 20)
        paths = [session.path, *(f"{session.path}/{name}" for name in os.listdir(session.path))]
        assert {(os.stat(path).st_uid, os.stat(path).st_gid) for path in paths} == {(65534, 65534)}
        assert {os.path.basename(path) for path in paths} == {session.name, "lock", "page"}
        session.remove()
        assert not os.path.exists(session.path)
    finally:
        process.kill()
        process.wait()


def run(*words: str) -> None:
    result = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
