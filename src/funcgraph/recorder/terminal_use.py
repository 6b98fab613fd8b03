"""Whether somebody has used a terminal: bytes that were written and read by the processes that have it."""

from __future__ import annotations

import os

from funcgraph.rights.proc_facts import stat_fields

__all__ = ["terminal_use"]

#: The controlling terminal, counted from the state (proc_pid_stat(5), tty_nr).
_TTY = 4


def terminal_use(fd: int) -> object:
    """Return a value that stays equal as long as nobody has used the terminal that `fd` is open for.

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
