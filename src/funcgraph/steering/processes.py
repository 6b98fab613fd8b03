"""Which processes a command is for: process ids, name patterns, or all that can be steered already."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence

from funcgraph.rights.proc_facts import effective_user, has_ended, read_status, stat_fields

__all__ = [
    "NoProcessError",
    "ancestors",
    "command_line",
    "ended_text",
    "find",
    "has_ended",
    "is_python",
    "named",
    "owner",
    "python_processes",
]

_PROC = "/proc"
#: A process can make its command line as long as it likes (PR_SET_MM); the kernel gives it 6 MiB.
_MOST_BYTES = 1 << 23
_PYTHON = re.compile(r"python|pypy", re.IGNORECASE)


class NoProcessError(ValueError):
    """What was given names no process, or there is none to steer."""


def find(words: Sequence[str], running: Callable[[], Iterable[int]]) -> list[int]:
    """Return the processes that the values of `-P` name, each once, in the order of the words.

    Args:
        words: each a process id, process ids with commas between them, or else a regular expression that
            some part of a Python process's command line matches, as `pgrep -f` has it. Empty: all processes
            that have a control socket.
        running: the processes that have a control socket.

    Raises:
        NoProcessError: a word names no process, or is no expression; or `words` is empty and there is no
            process with a socket.
    """
    if not words:
        pids = sorted(running())
        if not pids:
            raise NoProcessError(
                "no process can be steered: give one with -P PID, or start one with FUNCGRAPH=control"
            )
        return pids
    found: list[int] = []
    for word in words:
        found += _ids(word) or _matching(word, running)
    return list(dict.fromkeys(found))


def named(words: Iterable[str]) -> set[int]:
    """Return the processes that the values of `-P` name by their ids. The others were found: they may end
    before they are asked for anything, and nobody asked for these very processes."""
    return {pid for word in words for pid in _ids(word)}


def ended_text(count: int) -> str:
    """Return what is said of processes that were found, and had ended when they were asked for something."""
    return (
        "1 process that was found has ended meanwhile"
        if count == 1
        else (f"{count} processes that were found have ended meanwhile")
    )


def _ids(word: str) -> list[int]:
    """Return the process ids of a list of them; of anything else none."""
    parts = word.split(",")
    return [int(part) for part in parts] if all(part.isascii() and part.isdecimal() for part in parts) else []


def _matching(pattern: str, running: Callable[[], Iterable[int]]) -> list[int]:
    """Return the Python processes whose command line matches; neither this one nor those that started it."""
    if not pattern.strip():  # as of "$PID" when that is not set: it would mean every Python on the machine
        raise NoProcessError(f"-P '{pattern}': empty; must be a process id or a part of a command line")
    try:
        matcher = re.compile(pattern)
    except re.error as error:
        raise NoProcessError(f"-P {pattern}: neither a process id nor an expression: {error}") from None
    left_out = ancestors(os.getpid())
    with_socket = set(running())
    pids = [
        pid
        for pid in _pids()
        if pid not in left_out
        and matcher.search(command_line(pid))
        and (pid in with_socket or is_python(pid))
    ]
    if not pids:
        raise NoProcessError(f"-P {pattern}: no Python process has that in its command line")
    return pids


def python_processes() -> list[int]:
    """Return the Python processes that this user may look into, without this one and its ancestors."""
    left_out = ancestors(os.getpid())
    return [pid for pid in _pids() if pid not in left_out and is_python(pid)]


def _pids() -> list[int]:
    return sorted(int(name) for name in os.listdir(_PROC) if name.isdecimal())


def _text(pid: int, file: str) -> str:
    """Return a file of a process in /proc, cut if it is huge; "": it is gone, or another user's."""
    try:
        with open(f"{_PROC}/{pid}/{file}", "rb") as opened:
            return opened.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def command_line(pid: int) -> str:
    """Return a process's command line, with a blank between two words; "": it has none."""
    return _text(pid, "cmdline").rstrip("\0").replace("\0", " ")


def is_python(pid: int) -> bool:
    """Return whether a process runs a Python interpreter, by its program or a library that it maps."""
    try:
        if _PYTHON.search(os.path.basename(os.readlink(f"{_PROC}/{pid}/exe"))):
            return True
    except OSError:
        return False
    return "/libpython" in _text(pid, "maps")


def ancestors(pid: int) -> set[int]:
    """Return a process, its parent, that one's parent, and so on."""
    found = {pid}
    while True:
        fields = stat_fields(pid)
        pid = int(fields[1]) if fields else 0
        if pid in (0, *found):
            return found
        found.add(pid)


def owner(pid: int) -> int | None:
    """Return the effective user of a process; None: it has ended."""
    try:
        return effective_user(read_status(pid))[0]
    except (OSError, KeyError):
        return None
