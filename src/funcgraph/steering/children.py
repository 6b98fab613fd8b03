"""The children of processes, and theirs: what `--children` adds to `-P`."""

from __future__ import annotations

import os
from collections.abc import Iterable

from funcgraph.rights.proc_facts import stat_fields
from funcgraph.steering.processes import is_python

__all__ = ["descendants"]

_PROC = "/proc"


def descendants(pids: Iterable[int]) -> list[int]:
    """Return the Python processes that descend from these, without these, parents before their children.

    Processes of other programs are left out, but not the Python processes that these have started.
    """
    children = _children()
    roots = list(dict.fromkeys(pids))
    found: dict[int, None] = dict.fromkeys(roots)
    for pid in (queue := list(roots)):
        new = [child for child in children.get(pid, ()) if child not in found]
        found |= dict.fromkeys(new)
        queue += new
    return [pid for pid in found if pid not in roots and is_python(pid)]


def _children() -> dict[int, list[int]]:
    """Return the children of each process that has some."""
    children: dict[int, list[int]] = {}
    for name in os.listdir(_PROC):
        parent = _parent(int(name)) if name.isdecimal() else None
        if parent is not None:
            children.setdefault(parent, []).append(int(name))
    return children


def _parent(pid: int) -> int | None:
    """Return the parent of a process; None: it has ended, be it a zombie."""
    fields = stat_fields(pid)
    return None if fields[:1] in ([], [b"Z"], [b"X"]) else int(fields[1])
