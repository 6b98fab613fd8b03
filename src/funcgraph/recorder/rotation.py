"""Files of one recording that follow one another under one name, and what a killed recorder leaves.

FILE is the newest complete trace, FILE.1 the one before, as logrotate names them: who knows a log's files
knows these, and the name FILE always has the newest. `record --rotate` writes FILE.part meanwhile. A change
of files:

    1. FILE.part.next is begun; FILE.part gets its footer. Nothing is drained until 4 is done.
    2. FILE.1 becomes FILE.2, FILE becomes FILE.1; the oldest one is replaced.
    3. FILE.part becomes FILE.
    4. FILE.part.next becomes FILE.part.

Each step is one rename, so a recorder that is killed in between leaves all events, each in one file. mend()
says from the names which steps are still to do.
"""

from __future__ import annotations

import fcntl
import json
import os

from funcgraph import _tracedata, output_file
from funcgraph.tracedata.trace_file import open_reader

__all__ = ["change", "following", "is_unbegun", "mend", "place", "replaced", "traces"]

_HEADER = b"FGTRACE\1".ljust(16, b"\0")  # struct fg_spool_header, chunk.h


def following(part: str) -> str:
    """Return the name of the spool after the one at `part`, until that has its own name."""
    return f"{part}.next"


def traces(output: str, keep: int) -> list[str]:
    """Return the names of the kept traces, the newest first."""
    return [output, *(f"{output}.{number}" for number in range(1, keep))]


def place(part: str, output: str, keep: int) -> None:
    """Give the complete trace at `part` its name, and the older ones theirs; `keep` remain in all.

    Raises:
        OSError: a file cannot be renamed. Another call goes on.
    """
    names = traces(output, keep)
    for i in range(_last(names), 0, -1):
        output_file.replace(names[i - 1], names[i])
    output_file.replace(part, output)


def replaced(output: str, keep: int) -> str | None:
    """Return the file that place() would replace; None: it would replace none."""
    names = traces(output, keep)
    last = names[_last(names)]
    return last if os.path.lexists(last) else None


def _last(names: list[str]) -> int:
    """Return the place of the first name that is free: after a change that was cut off, that one lies in the
    middle; or of the last name."""
    return next((i for i, name in enumerate(names) if not os.path.lexists(name)), len(names) - 1)


def change(part: str, output: str, keep: int) -> None:
    """Do steps 2 to 4, or those of them that a call before has left.

    Raises:
        OSError: a file cannot be renamed. Another call goes on.
    """
    if os.path.exists(part):
        place(part, output, keep)
    output_file.replace(following(part), part)


def is_unbegun(part: str) -> bool:
    """Return whether this is the spool of a recorder that was killed before it described it: it has nothing.

    Raises:
        OSError: the file cannot be read.
        NotImplementedError: nothing here can decompress it.
    """
    with open(output_file.open_there(part, os.O_RDONLY), "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False  # its recorder lives
        begin = file.read(len(_HEADER))
        if len(begin) < len(_HEADER):
            return _HEADER.startswith(begin)
    try:
        meta = json.loads(open_reader(part).meta or b"{}")
    except ValueError:
        return False
    return not meta.get("processes") and not meta.get("tracer")


def mend(part: str, output: str, keep: int) -> None:
    """Finish or undo the change of files that a killed recorder was in the middle of, if it was.

    Raises:
        OSError: a file cannot be read or renamed.
    """
    after = following(part)
    if not os.path.exists(after):
        return
    if not os.path.exists(part) or _has_records(after):
        change(part, output, keep)
    else:
        output_file.unlink(after)  # step 1: the recorder would have gone on with it


def _has_records(part: str) -> bool:
    try:
        recorder = _tracedata.Recorder(part, resume=True)
    except ValueError:
        return False  # not even its header was written
    try:
        return recorder.totals()["records"] > 0
    finally:
        recorder.close()
