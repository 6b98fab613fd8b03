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

import os

from funcgraph import _tracedata

__all__ = ["change", "drop_unbegun", "following", "mend", "place", "traces"]

_HEADER_BYTES = 16  # struct fg_spool_header, chunk.h


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
    # Up to the first name that is free: after a change that was cut off, that one lies in the middle.
    last = next((i for i, name in enumerate(names) if not os.path.lexists(name)), keep - 1)
    for i in range(last, 0, -1):
        os.replace(names[i - 1], names[i])
    os.replace(part, output)


def change(part: str, output: str, keep: int) -> None:
    """Do steps 2 to 4, or those of them that a call before has left.

    Raises:
        OSError: a file cannot be renamed. Another call goes on.
    """
    if os.path.exists(part):
        place(part, output, keep)
    os.replace(following(part), part)


def drop_unbegun(part: str) -> bool:
    """Delete a spool whose recorder was killed before it wrote the header; return whether it was one.

    Raises:
        OSError: a file cannot be read or deleted.
    """
    if not os.path.lexists(part) or os.stat(part).st_size >= _HEADER_BYTES:
        return False
    os.unlink(part)
    return True


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
        os.unlink(after)  # step 1: the recorder would have gone on with it


def _has_records(part: str) -> bool:
    try:
        recorder = _tracedata.Recorder(part, resume=True)
    except ValueError:
        return False  # not even its header was written
    try:
        return recorder.totals()["records"] > 0
    finally:
        recorder.close()
