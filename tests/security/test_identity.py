"""A process that has ended, executed another program or changed its user is not the one that was named."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from targets import OWN_MOUNTS, STRANGER, as_root, running, some_mounts

from funcgraph import _system
from funcgraph.rights import identity as module
from funcgraph.rights.identity import IdentityError, ProcessIdentity
from funcgraph.rights.proc_facts import has_ended

pytestmark = pytest.mark.one_python

Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a Python program that says "ready", waits for a line, takes a step, and says "done"."""
    started: list[subprocess.Popen[str]] = []

    def run(step: str) -> subprocess.Popen[str]:
        source = f"import os\nprint('ready', flush=True)\ninput()\n{step}\nprint('done', flush=True)\ninput()"
        command = [sys.executable, "-c", source]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


def take_step(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"


@pytest.fixture(params=["pidfd", "no pidfd"], autouse=True)
def pidfd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the system call: a filter of system calls may forbid it."""
    if request.param == "no pidfd":
        monkeypatch.setattr(module, "pidfd_or_none", lambda pid: None)


def test_a_process_that_goes_on_is_itself(start: Start) -> None:
    process = start("pass")
    identity = ProcessIdentity.of(process.pid)
    take_step(process)
    identity.check()
    assert identity.uids == (os.getuid(), os.geteuid(), os.geteuid(), os.geteuid())
    assert (identity.uid, identity.gid, identity.inner_pid) == (os.geteuid(), os.getegid(), process.pid)
    assert identity.is_like_us
    identity.close()


def test_a_process_that_has_ended_is_told(start: Start) -> None:
    process = start("pass")
    identity = ProcessIdentity.of(process.pid)
    process.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(IdentityError, match=f"process {process.pid} has ended"):
        identity.check()
    with pytest.raises(ProcessLookupError):
        ProcessIdentity.of(process.pid)  # a zombie
    process.wait()
    with pytest.raises(IdentityError, match="has ended"):
        identity.check()
    identity.close()


def test_an_id_that_was_reused_is_not_the_process(start: Start) -> None:
    first, second = start("pass"), start("pass")
    identity = ProcessIdentity.of(first.pid)
    reused = module.ProcessIdentity(second.pid, None, *_after_pidfd(identity))
    with pytest.raises(IdentityError, match="has ended"):
        reused.check()


def _after_pidfd(identity: ProcessIdentity) -> list[object]:
    names = [name for name in ProcessIdentity.__slots__ if name not in ("pid", "pidfd")]
    return [getattr(identity, name) if name != "start" else f"{identity.start}0" for name in names]


def test_an_exec_of_another_program_is_told(start: Start) -> None:
    process = start("os.execlp('sh', 'sh', '-c', 'echo done; read line')")
    identity = ProcessIdentity.of(process.pid)
    take_step(process)
    with pytest.raises(IdentityError, match="executes another program"):
        identity.check()
    identity.close()


@as_root
@pytest.mark.parametrize(
    "step", [f"os.setgid({STRANGER})", f"os.setuid({STRANGER})", f"os.seteuid({STRANGER})"]
)
def test_a_change_of_user_or_group_is_told(start: Start, step: str) -> None:
    process = start(step)
    identity = ProcessIdentity.of(process.pid)
    take_step(process)
    with pytest.raises(IdentityError, match="has changed its user or group"):
        identity.check()
    identity.close()


@some_mounts
def test_a_mount_namespace_makes_other_files_whatever_its_root_directory_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A file system of a user's own refuses root to look at its directories."""
    look = _system.device_inode

    def refuse(path: str) -> tuple[int, int]:
        if path.endswith("/root") and "self" not in path:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return look(path)

    monkeypatch.setattr("funcgraph._system.device_inode", refuse)
    with running(*OWN_MOUNTS) as target:
        identity = ProcessIdentity.of(target.pid)
        assert (identity.has_our_files, identity.is_like_us) == (False, False)


def test_there_is_no_process_without_an_identity() -> None:
    with pytest.raises(ProcessLookupError, match="no process 4194305"):
        ProcessIdentity.of(4194305)


def test_a_process_that_exits_has_ended_when_its_executable_is_gone(start: Start) -> None:
    """Broken: `stat --children` failed for a child whose memory was just being freed."""
    process = start("memory = bytearray(1 << 28); os._exit(0)")
    assert process.stdin is not None
    assert not has_ended(process.pid)
    process.stdin.write("\n")
    process.stdin.flush()
    while os.path.exists(f"/proc/{process.pid}/exe"):
        pass
    assert has_ended(process.pid)
