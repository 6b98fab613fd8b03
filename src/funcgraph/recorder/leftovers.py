"""What dead processes left: removes what has no records, and names what can be recovered.

Left can be: the directory of a session whose recorder was killed; an unfinished trace beside a session's
output (FILE.PID.N.tmp, on file systems without O_TMPFILE); and the folders in which versions up to 0.1 read
instances (funcgraph-instance-PID-RANDOM).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

from funcgraph import _tracedata, output_file
from funcgraph.recorder import rotation
from funcgraph.recorder.directory import PREFIX, Session, all_sessions
from funcgraph.recorder.page import PAGE
from funcgraph.recorder.process import ProcessWatch
from funcgraph.recorder.progress import plural
from funcgraph.recorder.spool_owner import owner, spool_of
from funcgraph.rights.folder import OwnFolder
from funcgraph.session.memory_file import memory_file
from funcgraph.session.output import DEFAULT_OUTPUT
from funcgraph.session.places import folders
from funcgraph.tracedata.trace_file import open_reader

__all__ = ["clean", "remove_temporaries"]

_FOLDER = re.compile(rf"{PREFIX}(instance-)?(\d+)-\w+(\.spare)?")
# What folders of ended processes have: rings, notes, a session's page; a trace of versions up to 0.1.
_KNOWN = re.compile(rf"(\d+(\.\d+)?\.(ring|note)|[0-9a-f]+-\d+\.plan)(\.new)?|{PAGE}|lock|config|trace\.fg")
_COPY_BYTES = 1 << 20


class _InUseError(Exception):
    """Somebody may need it. The text says who, or how to get at it."""


def clean() -> Iterator[str]:
    """Remove what dead processes of this user left and nobody can want; yield a line for each thing.

    A session with records is never removed: its line says how to recover it. Nothing of a living process is
    touched.
    """
    outputs = {os.path.realpath(DEFAULT_OUTPUT): None, os.path.realpath("trace.dat"): None}
    for session in all_sessions():
        outputs |= dict.fromkeys(_outputs(session))
        yield from _clean_session(session)
        session.close()
    for output in outputs:
        yield from (f"{path}: removed: an unfinished trace" for path in remove_temporaries(output))
    for path in _dead_folders(dict.fromkeys([*folders(), *map(os.path.dirname, outputs)])):
        if _remove_folder(path):
            yield f"{path}: removed: its process has ended"


def remove_temporaries(output: str) -> list[str]:
    """Remove unfinished traces beside `output` whose processes have ended; return their paths."""
    folder, base = os.path.split(output)
    temporary = re.compile(rf"{re.escape(base)}\.(\d+)(\.\d+)?\.tmp")
    removed = []
    for name in _names(folder):
        found = temporary.fullmatch(name)
        path = os.path.join(folder, name)
        if found and _is_ours(path, stat.S_ISREG) and ProcessWatch(int(found[1])).gone():
            try:
                output_file.unlink(path)
            except OSError:
                continue  # no permission, or somebody else removed it
            removed.append(path)
    return removed


# ---- sessions


def _outputs(session: Session) -> list[str]:
    try:
        return session.read_config().get("output", [])
    except (OSError, ValueError):
        return []


def _clean_session(session: Session) -> Iterator[str]:
    pid = _process_of(session.name)
    if not session.takes_processes() and pid is not None and not ProcessWatch(pid).gone():
        return  # its recorder starts just now
    try:
        if not session.lock():
            return  # it is recording
    except FileNotFoundError:
        return  # it was removed just now
    except OSError as error:
        yield _unreadable(session, error)
        return
    try:
        part = _check_nothing_recorded(session)
        if part is not None:
            output_file.unlink(part)
        session.remove()
        yield f"{session.path}: removed: nothing was recorded"
    except _InUseError as reason:
        yield f"{session.path}: kept: {reason}"
    except (OSError, ValueError, NotImplementedError) as error:
        yield _unreadable(session, error)
    finally:
        session.unlock()


def _unreadable(session: Session, error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else error
    return f"{session.path}: kept: what it holds cannot be read ({reason})"


def _check_nothing_recorded(session: Session) -> str | None:
    """Return the path of a dead session's spool, None if it has none.

    Raises:
        _InUseError: it has records, or a process of it still runs.
        OSError, ValueError: it cannot be read, as another version wrote it, or it is damaged.
    """
    names = session.files.ring_names()
    living = _living(names)
    hint = f"'funcgraph recover {shlex.quote(session.path)}' makes a trace of it"
    if living:
        raise _InUseError(f"{plural(len(living), 'process')} of it still running; {hint}")
    part = _spool(session)
    if part is not None and os.path.lexists(rotation.following(part)):
        raise _InUseError(f"it was killed while it began another file; {hint}")
    has_part = part is not None and os.path.exists(part)
    if part is not None and has_part and (records := _spool_records(part)):
        raise _InUseError(f"{plural(records, 'event')} in {part}; {hint}")
    for name in names:
        if _ring_records(session.files.open_ring(name)):
            raise _InUseError(f"events in its ring buffers; {hint}")
    return part if has_part else None


def _spool(session: Session) -> str | None:
    """Return where the spool of a session is, or would be. None: its recorder was killed before it said so.

    Raises:
        ValueError: what lies there names no recording.
    """
    try:
        values = session.read_config()
        part, output = values["part"][-1], values["output"][-1]
    except (FileNotFoundError, KeyError):
        return None
    spool = spool_of(session, part, output)
    if spool != part and os.path.exists(part) and owner(part) is None:
        _spool_records(part)
        raise ValueError(f"{part} names no recording")
    return spool


def _spool_records(part: str) -> int:
    """Return how many records a spool has. Looking changes nothing: it may be somebody's."""
    records: int = json.loads(open_reader(part).meta or b"{}").get("events", 0)
    return records


def _ring_records(fd: int) -> int:
    """Return how many records a dead process's ring has. A copy is read: reading a ring changes it.

    Args:
        fd: of the ring. It is closed.
    """
    with open(fd, "rb") as ring, memory_file() as copy, memory_file() as spool:
        _copy(ring, copy)
        recorder = _tracedata.Recorder(spool, compress=False)
        try:
            recorder.finish(recorder.add_ring(copy, private=True))
            return recorder.totals()["records"]
        finally:
            recorder.close()


def _copy(file: BinaryIO, into: int) -> None:
    """Copy a file; its stretches of zeros take no memory."""
    at = 0
    while piece := file.read(_COPY_BYTES):
        if piece.strip(b"\0"):
            os.pwrite(into, piece, at)
        at += len(piece)
    os.truncate(into, at)


# ---- folders that are no sessions


def _dead_folders(bases: Iterable[str]) -> list[str]:
    """Return the folders of ended processes that no session needs."""
    return [path for base in bases for name in _names(base) if _is_dead(path := f"{base}/{name}", name)]


def _remove_folder(path: str) -> bool:
    """Remove the folder of an ended process; return whether it is gone. What no session has stays."""
    try:
        folder = OwnFolder.at(path)
    except OSError:
        return False
    names = [name for name in folder.names() if _KNOWN.fullmatch(name)]
    with suppress(OSError):
        folder.remove(names)
    folder.close()
    return not os.path.lexists(path)


def _is_dead(path: str, name: str) -> bool:
    pid = _process_of(name)
    if pid is None or not _is_ours(path, stat.S_ISDIR) or not ProcessWatch(pid).gone():
        return False
    if name.endswith(".spare"):
        owner = name.removesuffix(".spare")
        return not any(os.path.exists(f"{base}/{owner}") for base in folders()) and not _living(_names(path))
    # Killed before it had its lock, or after it deleted that: `all_sessions` finds those that have one.
    return name.startswith(f"{PREFIX}instance-") or set(os.listdir(path)) <= {PAGE}


def _living(names: Iterable[str]) -> set[int]:
    """Return the processes that still run, of those with files of these names: PID.N.ring and others."""
    pids = {os.path.basename(name).partition(".")[0] for name in names}
    return {int(pid) for pid in pids if pid.isdecimal() and not ProcessWatch(int(pid)).gone()}


def _process_of(name: str) -> int | None:
    found = _FOLDER.fullmatch(name)
    return int(found[2]) if found else None


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _is_ours(path: str, is_kind: Callable[[int], bool]) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return status.st_uid == os.getuid() and is_kind(status.st_mode)
