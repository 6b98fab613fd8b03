"""A process, from outside: what /proc says of it, and its memory."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from funcgraph.attach.errors import AttachError
from funcgraph.rights.proc_facts import inner_pid, read_status, stat_fields

__all__ = ["Mapping", "Process"]

#: The main thread is past a few instructions after this, on the processor.
_PASSED_NS = 1_000_000
#: How long to wait for that.
_PASS_S = 2.0
_PAUSE_S = 0.001
_MAP_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) \S+ \d+ *(.*)")


@dataclass(frozen=True)
class Mapping:
    """One mapping of a process: [low, high), its rights as "r-xp", and the file mapped from `offset` on."""

    low: int
    high: int
    rights: str
    offset: int
    path: str


class Process:
    """Another process, opened to read its memory.

    Args:
        pid: the process, by its number here.

    Raises:
        AttachError: there is no such process, or it may not be attached to.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.folder = Path(f"/proc/{pid}")
        self.status = self._read_status()
        if self.status["State"][:1] in "ZX":
            raise AttachError(pid, "it has ended, and its parent has not waited for it yet")
        try:
            self._memory = os.open(self.folder / "mem", os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise AttachError(pid, self._refused(error)) from None

    def close(self) -> None:
        """Close its memory."""
        os.close(self._memory)

    def _read_status(self) -> dict[str, str]:
        try:
            lines = (self.folder / "status").read_text(errors="replace").splitlines()
        except OSError:
            raise AttachError(self.pid, "there is no such process") from None
        status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if status.get("Tgid", str(self.pid)) != str(self.pid):
            raise AttachError(self.pid, f"this is a thread of process {status['Tgid']}: attach to that")
        return status

    def number(self, name: str) -> int:
        """Return the first number of a line of its status: 0 without such a line."""
        return int(self.status.get(name, "0").split()[0])

    @property
    def inner_pid(self) -> int:
        """Its number in its own namespace."""
        return inner_pid(self.status)

    def is_gone(self, inner_pid: int) -> bool:
        """Return whether the process of that number in its namespace has ended, as far as its /proc tells."""
        there = self.folder / "root" / "proc"
        return (there / str(self.inner_pid)).exists() and not (there / str(inner_pid)).exists()

    @property
    def user(self) -> tuple[int, int]:
        """The user and group as which it opens files."""
        return int(self.status["Uid"].split()[3]), int(self.status["Gid"].split()[3])

    def _refused(self, error: OSError) -> str:
        """Return why its memory cannot be opened."""
        if isinstance(error, FileNotFoundError):
            return "it has ended"
        if self.status.get("Kthread") == "1":
            return "no CPython is loaded in it (a kernel thread)"
        user = self.user[0]
        if user != os.geteuid():
            return f"it belongs to user {user}: attach as that user, or with CAP_SYS_PTRACE (as root)"
        scope = _yama_scope()
        if scope:
            return f"kernel.yama.ptrace_scope is {scope}: needs CAP_SYS_PTRACE (as root)" + (
                ", or 'sysctl kernel.yama.ptrace_scope=0'" if scope < 3 else " and a reboot"
            )
        return "the kernel does not let this user trace it: needs CAP_SYS_PTRACE (as root)"

    def environment(self) -> set[str]:
        """Return the names of the variables that it began with and that are not empty."""
        try:
            words = os.fsdecode((self.folder / "environ").read_bytes()).split("\0")
        except OSError:
            return set()
        return {name for name, _, value in (word.partition("=") for word in words) if value}

    def mappings(self) -> list[Mapping]:
        """Return its mappings, in the order of their addresses."""
        try:
            text = (self.folder / "maps").read_text(errors="surrogateescape")
        except OSError as error:
            raise AttachError(self.pid, self._refused(error)) from None
        found = (_MAP_LINE.match(line) for line in text.splitlines())
        return [
            Mapping(int(m[1], 16), int(m[2], 16), m[3], int(m[4], 16), m[5]) for m in found if m is not None
        ]

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes of its memory.

        Raises:
            AttachError: it has ended, or there is no such memory.
        """
        try:
            data = os.pread(self._memory, size, address)
        except (OSError, OverflowError):
            data = b""
        if len(data) != size:
            raise AttachError(self.pid, f"its memory at {address:#x} cannot be read")
        return data

    def threads(self) -> Iterator[int]:
        """Yield its threads: the main thread first."""
        try:
            names = os.listdir(self.folder / "task")
        except OSError:
            return
        yield self.pid
        yield from sorted(int(name) for name in names if name != str(self.pid))

    def state(self, tid: int) -> str:
        """Return the letter of a thread's state: "R", "S", "D" ...; "X": it has ended."""
        fields = stat_fields(f"{self.pid}/task/{tid}")
        return fields[0].decode() if fields else "X"

    def outer_thread(self, inner: int) -> int:
        """Return a thread by its number here; `inner`: by that in the process's namespace. 0: it is gone."""
        if self.inner_pid == self.pid:
            return inner
        for tid in self.threads():
            with contextlib.suppress(OSError, KeyError):  # it ends just now
                if inner_pid(read_status(f"{self.pid}/task/{tid}")) == inner:
                    return tid
        return 0

    def thread_name(self, tid: int) -> str:
        """Return the name of a thread, as the kernel has it; "": it has ended."""
        try:
            return (self.folder / "task" / str(tid) / "comm").read_text(errors="replace").rstrip("\n")
        except OSError:
            return ""

    def let_main_thread_pass(self) -> None:
        """Wait until the main thread has executed many instructions, or sleeps in a system call.

        It may have read just before what is about to change. And as long as it has not gone on after a stop,
        the kernel gives the process's signals to other threads: Python's handler would run only when
        something else wakes the main thread.
        """
        begin, until = self._processor_ns(), time.monotonic() + _PASS_S
        while self.state(self.pid) == "R" and time.monotonic() < until:
            if begin and self._processor_ns() - begin > _PASSED_NS:
                return
            time.sleep(_PAUSE_S)

    def _processor_ns(self) -> int:
        """Return how long its main thread has been on a processor; 0: the kernel does not say."""
        try:
            return int((self.folder / "task" / str(self.pid) / "schedstat").read_text().split()[0])
        except (OSError, ValueError, IndexError):
            return 0

    def tracer(self) -> int:
        """Return the process that traces its main thread: a debugger, or another attacher; 0: none."""
        try:
            return int(self._read_status().get("TracerPid", "0"))
        except AttachError:
            return 0

    def has_ended(self) -> bool:
        """Return whether its main thread has ended."""
        return self.state(self.pid) in "ZX"


def _yama_scope() -> int:
    try:
        return int(Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except (OSError, ValueError):
        return 0
