"""The use of a terminal: whether we may write there now, writing, and whether somebody has used it since."""

from __future__ import annotations

import os
import sys
import termios

from funcgraph.rights.proc_facts import stat_fields

__all__ = ["encodable_text", "terminal_columns", "terminal_is_free", "terminal_use", "write_text"]

#: The controlling terminal, counted from the state (proc_pid_stat(5), tty_nr).
_TTY = 4


def terminal_columns(fd: int) -> int:
    """Return a terminal's width; 0: it is not known."""
    try:
        return os.get_terminal_size(fd).columns
    except OSError:
        return 0


def encodable_text(text: str) -> str:
    """Return a text in which what standard error's encoding lacks is escaped: it may be longer."""
    return _encoded(text).decode(_encoding())


def write_text(fd: int, text: str) -> bool:
    """Write on a terminal; return whether that is still there. What its encoding lacks is escaped."""
    try:
        os.write(fd, _encoded(text))
    except OSError:
        return False
    return True


def _encoded(text: str) -> bytes:
    return text.encode(_encoding(), "backslashreplace")


def _encoding() -> str:
    return (sys.stderr and sys.stderr.encoding) or "utf-8"


def terminal_is_free(fd: int) -> bool:
    """Return whether we may write lines on a terminal of our own accord.

    Not from the background, and not while a program uses it in a mode without line editing or echo: an
    editor, a prompt, a password.
    """
    try:
        if os.tcgetpgrp(fd) != os.getpgrp():
            return False
        local_modes = termios.tcgetattr(fd)[3]
    except (OSError, termios.error):
        return True  # a terminal, but not our controlling terminal
    needed = termios.ICANON | termios.ECHO
    return bool(local_modes & needed == needed)


def terminal_use(fd: int) -> object:
    """Return a value that stays equal as long as nobody has used the terminal that `fd` is open for.

    It counts the bytes that were written and read by the processes that have it.

    Processes of the terminal are counted by all that they read and write, as the kernel does not say to
    where. So the value may differ for another reason. This process itself does not count.

    Returns:
        The counts by process. Of processes of other users they are not known, and never equal.
    """
    try:
        terminal = os.fstat(fd).st_rdev
    except OSError:
        return object()
    counts = {}
    for name in os.listdir("/proc"):
        if not name.isdecimal() or int(name) == os.getpid() or not _has_terminal(name, terminal):
            continue
        try:
            with open(f"/proc/{name}/io", "rb") as file:
                counts[name] = file.read().split(b"syscr")[0]  # rchar, wchar
        except FileNotFoundError:
            continue  # it has ended
        except OSError:
            return object()
    return counts


def _has_terminal(process: str, terminal: int) -> bool:
    fields = stat_fields(process)
    # The kernel's form of a device number has the low bits of the minor before the major: as st_rdev does.
    return bool(fields) and int(fields[_TTY]) & 0xFFFFFFFF == terminal
