"""Whose recording a spool is.

A spool names its session in its description, from its first chunks on. The name FILE.part alone tells
nothing: once a file was deleted or moved, another recording may have taken its name.
"""

from __future__ import annotations

import json
import os

from funcgraph.recorder import rotation
from funcgraph.recorder.directory import Session
from funcgraph.tracedata.trace_file import open_reader

__all__ = ["SESSION_KEY", "owner", "spool_of"]

SESSION_KEY = "session"  # in the description: the name of the session's directory


def owner(path: str) -> str | None:
    """Return the name of the session that wrote a spool or a trace; None: it names none, or is no trace.

    Raises:
        OSError: it cannot be read.
        NotImplementedError: nothing here can decompress it.
    """
    try:
        name = json.loads(open_reader(path).meta or b"{}").get(SESSION_KEY)
    except ValueError:
        return None
    return name if isinstance(name, str) else None


def spool_of(session: Session, part: str, output: str) -> str:
    """Return the path of a session's spool, whether it exists or is to be begun.

    It is `part`, unless that name is taken by a file that is not known to be the session's.

    Args:
        part, output: where the session's recorder had its spool, and where its trace was to be.

    Raises:
        OSError, NotImplementedError: as of owner().
    """
    aside = f"{output}.{session.name}.part"
    taken = [path for path in (part, rotation.following(part)) if os.path.lexists(path)]
    if os.path.lexists(aside) or not all(_may_take(path, session) for path in taken):
        return aside
    return part


def _may_take(path: str, session: Session) -> bool:
    return rotation.is_unbegun(path) or owner(path) == session.name
