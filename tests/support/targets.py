"""Processes of other users, in namespaces and root directories of their own, that do as a test says.

Each is a shell that runs the lines which it gets. It needs no Python: other users may be unable to run ours.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hostile_user import as_user

__all__ = [
    "AS_STRANGER",
    "OWN_MOUNTS",
    "OWN_NAMESPACES",
    "STRANGER",
    "as_root",
    "in_child",
    "jail",
    "may",
    "running",
    "some_mounts",
    "some_namespaces",
]

#: A user and a group without an entry in any table, of this run alone: a user may kill all its processes.
STRANGER = 30000 + os.getpid() % 30000
AS_STRANGER = as_user(STRANGER)
#: As root of a user namespace and a mount namespace that are the process's own.
OWN_NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount")

#: As the user that it was, in a mount namespace of its own.
OWN_MOUNTS = ("unshare", "--mount")


def may(*command: str) -> bool:
    """Return whether a command can be run by a command such as OWN_MOUNTS here."""
    words = [*command, "true"]
    return shutil.which(words[0]) is not None and subprocess.run(words, capture_output=True).returncode == 0


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes other users")
some_namespaces = pytest.mark.skipif(not may(*OWN_NAMESPACES), reason="user namespaces are refused here")
some_mounts = pytest.mark.skipif(not may(*OWN_MOUNTS), reason="only root makes mount namespaces, if it may")

_SHELL = 'echo ready; while read -r line; do eval "$line"; echo; echo done; done'


class Target:
    """A running shell.

    Args:
        process: it.
        pid: its id; `process` may be a program that became it by exec.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def run(self, line: str) -> str:
        """Have it run a line; return what that prints."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        lines: list[str] = []
        while (answer := self._process.stdout.readline()) != "done\n":
            assert answer, f"the shell has ended at: {line}"
            lines.append(answer)
        return "".join(lines).removesuffix("\n")

    def execute(self, command: str) -> None:
        """Have it execute another program."""
        assert self._process.stdin is not None
        before = os.readlink(f"/proc/{self.pid}/exe")
        self._process.stdin.write(f"exec {command}\n")
        self._process.stdin.flush()
        while os.readlink(f"/proc/{self.pid}/exe") == before:
            time.sleep(0.005)

    def end(self) -> None:
        """Kill it and wait for it."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def running(*command: str) -> Iterator[Target]:
    """Start a shell, as the last program of a command that executes it; end it in the end."""
    words = [*command, "/bin/sh", "-c", _SHELL]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/")
    target = Target(process)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n", words
        yield target
    finally:
        target.end()


def jail(folder: Path) -> tuple[str, ...]:
    """Make a root directory with a shell in it; return the command that enters it as the stranger."""
    files = re.findall(r"/\S+", subprocess.check_output(["ldd", "/bin/sh"], text=True))
    for file in ["/bin/sh", *files]:
        copy = folder / file.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    for name in ("dev/shm", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name).chmod(0o1777)
    folder.chmod(0o755)
    return ("chroot", f"--userspec={STRANGER}:{STRANGER}", "--groups=", str(folder))


def in_child(work: Callable[[], None]) -> None:
    """Run a part of a test in a process of its own, which may give up its rights, and fail for all of it."""
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os.write(write_fd, traceback.format_exc().encode())
        finally:
            os._exit(0)
    os.close(write_fd)
    with open(read_fd) as file:
        failure = file.read()
    os.waitpid(child, 0)
    assert not failure, failure
