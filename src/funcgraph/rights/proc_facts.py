"""What /proc says of a process: its start, its user, its ids, and whether it sees the files that we see."""

from __future__ import annotations

import os
import re

from funcgraph import _system

__all__ = [
    "MOST_STRINGS",
    "credentials",
    "effective_user",
    "has_ended",
    "inner_pid",
    "namespace",
    "overflow_id",
    "read_environ",
    "read_status",
    "same_files",
    "sees_our_files",
    "start_time",
    "stat_fields",
]

#: What is read of a process's arguments or environment. The kernel gives both 6 MiB when a program begins.
#: But a process may say later that they are elsewhere in its memory, of any size (PR_SET_MM_MAP of prctl(2)).
MOST_STRINGS = 1 << 23
_VARIABLE = re.compile(rb"(?<![^\0])([^\0=]++)=([^\0]*+)")
_IDS = re.compile(rb"\nUid:\t([0-9\t]+)\nGid:\t([0-9\t]+)\n")  # a newline in the name before is escaped
_PF_EXITING = 0x4  # of a task's flags (include/linux/sched.h of the kernel)


def stat_fields(process: int | str) -> list[bytes]:
    """Return the fields of a process's `stat` in /proc that follow its name; []: it is gone.

    Args:
        process: its id, or PID/task/TID for one of its threads.

    Returns:
        The state (field 3 of proc(5)), the parent and the rest. The name, in parentheses, may hold anything.
    """
    try:
        with open(f"/proc/{process}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def has_ended(pid: int) -> bool:
    """Return whether a process has ended, is a zombie, or exits.

    One that exits runs no code of its own any longer, and has no executable: who looks at that finds nothing
    while its state is still that of a process that runs.
    """
    fields = stat_fields(pid)
    return _is_over(fields) or bool(int(fields[6]) & _PF_EXITING)


def start_time(pid: int) -> str | None:
    """Return the start time of a process in ticks, which no later process of that id has; None: it ended.

    A zombie has ended.
    """
    fields = stat_fields(pid)
    return None if _is_over(fields) else fields[19].decode()


def _is_over(fields: list[bytes]) -> bool:
    """Return whether these are the fields of a process that is gone, or of a zombie."""
    return fields[:1] in ([], [b"Z"], [b"X"])


def read_status(pid: int | str) -> dict[str, str]:
    """Return the lines of a process's `status`, by name.

    Raises:
        OSError: there is no such process.
    """
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def read_environ(pid: int) -> dict[str, str]:
    """Return the environment with which a process began, as the process has it now; {}: it may not be read.

    The kernel reads no memory there that a file system serves, which might not answer (since Linux 4.17). It
    waits for the lock of that memory, as it does for ps(1).
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            strings = file.read(MOST_STRINGS)
    except OSError:
        return {}
    return {os.fsdecode(name): os.fsdecode(value) for name, value in _VARIABLE.findall(strings)}


def credentials(pid: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the real, effective, saved and file-system ids of a process: of its user, and of its group.

    It is asked before each step of an attach, so it looks at two lines of `status` only.

    Raises:
        OSError: there is no such process.
        LookupError: it ends just now.
    """
    with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
        found = _IDS.search(file.read())
    if found is None:
        raise LookupError(pid)
    uids, gids = (tuple(map(int, numbers.split())) for numbers in found.groups())
    return uids, gids


def effective_user(status: dict[str, str]) -> tuple[int, int]:
    """Return the effective user and group of a process, from its `status`."""
    return int(status["Uid"].split()[1]), int(status["Gid"].split()[1])


def inner_pid(status: dict[str, str]) -> int:
    """Return the id of a process in its own namespace of process ids, from its `status`."""
    return int(status.get("NSpid", status["Pid"]).split()[-1])


def namespace(pid: int | str, kind: str) -> str:
    """Return the namespace of a process, as "mnt:[4026531840]"; "": it has ended, or is another user's."""
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return ""


def overflow_id(kind: str) -> int:
    """Return the number that stands for each user ("uid") or group ("gid") which our user namespace lacks."""
    with open(f"/proc/sys/kernel/overflow{kind}", encoding="ascii") as file:
        return int(file.read())


def same_files(first: int | str, second: int | str) -> bool:
    """Return whether two processes have the same root directory in the same mount namespace.

    Raises:
        OSError: it is not known: one has ended, or is another user's.
    """
    mounts = [namespace(pid, "mnt") for pid in (first, second)]
    if all(mounts) and mounts[0] != mounts[1]:
        return False  # whatever its own file systems say of its root directory
    roots = [_system.device_inode(f"/proc/{pid}/root") for pid in (first, second)]
    return roots[0] == roots[1]


def sees_our_files(pid: int) -> bool:
    """Return whether a process sees the files that we see; True also if that is not known."""
    try:
        return same_files("self", pid)
    except OSError:
        return True  # whoever does not find a file there says so
