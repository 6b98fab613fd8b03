"""A process, from outside: what /proc says of it, and its memory."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from funcgraph import _system
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.errors import AttachError
from funcgraph.rights.identity import IdentityError, ProcessIdentity
from funcgraph.rights.proc_facts import MOST_STRINGS, inner_pid, namespace, read_status, stat_fields

__all__ = ["RESTORE_S", "Mapping", "Process"]

#: How long to wait for a thread to leave the stub, or for the process to be stopped.
RESTORE_S = 2.0

#: The main thread is past a few instructions after this, on the processor.
_PASSED_NS = 1_000_000
#: How long to wait for that.
_PASS_S = 2.0
_PAUSE_S = 0.001
#: What a process may make as large as it likes, and what no process needs more of.
_MAX_READ = 1 << 25
_MAX_MAPS = 1 << 26
_PART = 1 << 16
#: Where `stat` has the ends of the arguments and of the environment: proc(5), arg_start and env_start.
_ARGUMENTS, _ENVIRONMENT = 45, 47
_MAP_LINE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S{4}) ([0-9a-f]+) \S+ \d+ *(.*)")


class Mapping(NamedTuple):
    """One mapping of a process: [low, high), its rights as "r-xp", and the file mapped from `offset` on."""

    low: int
    high: int
    rights: str
    offset: int
    path: str


class Process:
    """Another process, opened to read and change its memory.

    It is read by its number: a later program, or process, has other memory there. Whoever changes something
    compares first who it is (is_same()), and writes into the memory that was opened at the first look.

    All that is read of it is bounded: by a size, and by the deadline.

    Args:
        pid: the process, by its number here.
        deadline: how long its memory may be read.

    Raises:
        AttachError: there is no such process, or it may not be attached to.
    """

    def __init__(self, pid: int, deadline: Deadline) -> None:
        self.pid = pid
        self._deadline = deadline
        self._extended_until = 0.0
        self.folder = Path(f"/proc/{pid}")
        try:
            self.identity = ProcessIdentity.of(pid)
        except ProcessLookupError:
            self._read_status()
            raise AttachError(pid, "it has ended, and its parent has not waited for it yet") from None
        try:
            self.status = self._read_status()
            self._memory = self._open_memory()
        except BaseException:
            self.identity.close()
            raise

    def _open_memory(self) -> int:
        try:
            memory = os.open(self.folder / "mem", os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise AttachError(self.pid, self._refused(error)) from None
        if self.is_same():
            return memory
        os.close(memory)
        raise AttachError(self.pid, "it has ended, or executed another program, meanwhile")

    def close(self) -> None:
        """Close its memory."""
        os.close(self._memory)
        self.identity.close()

    def is_same(self) -> bool:
        """Return whether it is what it was at the first look: the same process and program."""
        try:
            self.identity.check()
        except IdentityError:
            return False
        return True

    def check(self) -> None:
        """Raise AttachError if it is no longer what it was at the first look."""
        try:
            self.identity.check()
        except IdentityError as error:
            what = str(error).partition(f"process {self.pid} ")[2]
            raise AttachError(self.pid, f"it {what} meanwhile") from None

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
        return self.identity.inner_pid

    def is_gone(self, inner_pid: int) -> bool:
        """Return whether the process of that number in its namespace has ended, if we are in the same one."""
        is_ours = self.identity.namespaces["pid"] == namespace("self", "pid")
        return is_ours and not Path(f"/proc/{inner_pid}").exists()

    @property
    def user(self) -> tuple[int, int]:
        """The user and group as which it opens files."""
        return self.identity.uids[3], self.identity.gids[3]

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

    def extend(self, seconds: float) -> None:
        """Let its memory be read for so long from now on, to take back what was done in it."""
        self._extended_until = time.monotonic() + seconds

    @property
    def until(self) -> float:
        """The moment until which its memory may be read."""
        return max(self._deadline.at, self._extended_until)

    def check_time(self) -> None:
        """Raise AttachError if its memory may no longer be read."""
        if time.monotonic() > self.until:
            raise AttachError(self.pid, "the time was over before its libraries had been looked through")

    def environment(self) -> set[str]:
        """Return the names of the variables that it began with and that are not empty."""
        words = os.fsdecode(self._strings(_ENVIRONMENT)).split("\0")
        return {name for name, _, value in (word.partition("=") for word in words) if value}

    def program(self) -> str:
        """Return the first word of its command line; "": it has none, as a kernel thread."""
        return self._strings(_ARGUMENTS).partition(b"\0")[0].decode(errors="replace")

    def _strings(self, field: int) -> bytes:
        """Return strings of its memory, between the addresses in two fields of its `stat`.

        /proc/PID/environ would read the same memory, but without an end: its length is the process's choice.
        """
        ends = stat_fields(self.pid)[field : field + 2]
        if len(ends) < 2:
            return b""
        low, high = map(int, ends)
        try:
            return self.read(low, min(high - low, MOST_STRINGS)) if low < high else b""
        except AttachError:
            return b""

    def mappings(self) -> list[Mapping]:
        """Return its mappings, in the order of their addresses."""
        text = self._maps().decode(errors="surrogateescape")
        found = (_MAP_LINE.match(line) for line in text.split("\n"))
        return [
            Mapping(int(m[1], 16), int(m[2], 16), m[3], int(m[4], 16), m[5]) for m in found if m is not None
        ]

    def _maps(self) -> bytes:
        parts, size = [], 0
        try:
            with open(self.folder / "maps", "rb", buffering=0) as file:
                while part := file.read(_PART):
                    self.check_time()
                    parts.append(part)
                    size += len(part)
                    if size > _MAX_MAPS:
                        raise AttachError(self.pid, f"its list of mappings is longer than {_MAX_MAPS} bytes")
        except OSError as error:
            raise AttachError(self.pid, self._refused(error)) from None
        return b"".join(parts)

    def read(self, address: int, size: int) -> bytes:
        """Return `size` bytes of its memory.

        Raises:
            AttachError: it has ended, there is no such memory, this is more than any process needs, or the
                deadline has passed.
        """
        self.check_time()
        try:
            data = _system.read_memory(self.pid, address, size) if size <= _MAX_READ else b""
        except (OSError, OverflowError):
            data = b""
        if len(data) != size:
            self.check()  # another program has other memory
            raise AttachError(self.pid, f"its memory at {address:#x} cannot be read ({size} bytes)")
        return data

    @property
    def handle(self) -> tuple[int, int]:
        """The process, as funcgraph._inject takes it."""
        return self.pid, self._memory

    def write(self, address: int, data: bytes) -> None:
        """Change its memory.

        Raises:
            AttachError: it has ended, or there is no such memory.
        """
        try:
            done = os.pwrite(self._memory, data, address)
        except (OSError, OverflowError):
            done = 0
        if done != len(data):
            raise AttachError(self.pid, f"its memory at {address:#x} cannot be written")

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

    def filters(self, tid: int) -> str:
        """Return how many seccomp filters a thread has; "": that is not known, or there are none."""
        try:
            status = read_status(f"{self.pid}/task/{tid}")
        except OSError:
            return ""
        return status.get("Seccomp_filters", status.get("Seccomp", ""))

    def outer_thread(self, inner: int) -> int:
        """Return a thread by its number here; `inner`: by that in its namespace. 0: it has no such thread."""
        if self.inner_pid == self.pid:
            return inner if (self.folder / "task" / str(inner)).exists() else 0
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
