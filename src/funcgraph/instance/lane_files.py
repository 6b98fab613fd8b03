"""The kernel's folder `per_cpu`: what the buffer has of each lane. A lane is a CPU there (lanes.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from errno import EINVAL
from typing import NamedTuple

from funcgraph.instance import lanes, snapshot_file
from funcgraph.instance.access import get, put
from funcgraph.instance.numbers import unsigned
from funcgraph.instance.pipe import Pipe
from funcgraph.instance.state import State
from funcgraph.settings import check
from funcgraph.settings.table import BY_FILE

__all__ = ["access", "exists", "is_of_process", "names", "pipe", "read", "write"]

_FOLDER = "per_cpu/cpu"


class _File(NamedTuple):
    """A file of a lane.

    Attributes:
        access: "r" or "rw".
        read: returns its text; None: it is a pipe.
        pipe: opens it, if it is one.
    """

    access: str
    read: Callable[[State, int], str] | None = None
    pipe: Callable[[State, int], Pipe] | None = None


def _size(state: State, lane: int) -> str:
    return f"{get(state, 'buffer_size_kb')}\n"


_FILES: dict[str, _File] = {
    "buffer_size_kb": _File("rw", _size),
    "snapshot": _File("r", snapshot_file.read),
    "stats": _File("r", lanes.stats_text),
    "trace": _File("rw", lanes.text),
    "trace_pipe": _File("r", pipe=lanes.LanePipe),
    "trace_pipe_raw": _File("r", pipe=lanes.LanePages),
}


def names(state: State, folder: str | None) -> Iterator[str]:
    """Yield the names of the files that there are now.

    Args:
        folder: only those below it are wanted, None: all. Without need the lanes are not counted.
    """
    is_counted = folder is None or folder.startswith("per_cpu")
    for lane in range(lanes.count(state) if is_counted else 1):
        yield from (f"{_FOLDER}{lane}/{file}" for file in _FILES)


def _parts(name: str) -> tuple[int, str]:
    """Return lane and file of a name; -1: it is none of this folder."""
    lane, _, file = name.removeprefix(_FOLDER).partition("/")
    right = name.startswith(_FOLDER) and lane.isascii() and lane.isdecimal() and file in _FILES
    return (int(lane), file) if right and len(lane) < 9 and str(int(lane)) == lane else (-1, "")


def exists(state: State, name: str) -> bool:
    """Return whether there is a file of this name."""
    lane, _ = _parts(name)
    return lane >= 0 and (lane < state.nr_lanes or lane < lanes.count(state))


def access(name: str) -> str:
    """Return how a file can be used: "r" or "rw"."""
    return _FILES[_parts(name)[1]].access


def is_of_process(name: str) -> bool:
    """Return whether a file is the same in each instance: none is."""
    return False


def pipe(state: State, name: str) -> Pipe | None:
    """Open a pipe; None: the file is none.

    Raises:
        OSError: EBUSY: another reader takes of this lane, or of all.
    """
    lane, file = _parts(name)
    opened = _FILES[file].pipe
    if opened is None:
        return None
    with state.lock:
        if {lane, None} & set(state.pipes.values()):
            state.check_no_pipe()
        return opened(state, lane)


def read(state: State, name: str) -> str:
    """Return what a file holds.

    Raises:
        OSError: EINVAL: it is bytes.
    """
    lane, file = _parts(name)
    reader = _FILES[file].read
    if reader:
        return reader(state, lane)
    if file == "trace_pipe_raw":
        raise OSError(EINVAL, f"invalid read of {name}: it holds no text")
    taking = pipe(state, name)
    assert taking is not None
    return taking.read().decode("utf-8", "replace")


def write(state: State, name: str, text: str, append: bool) -> None:
    """Write to a file. The buffer is one for all lanes: its size is changed for all.

    Raises:
        OSError: EINVAL: `trace` is to be emptied while there are other lanes; and as the instance's file.
    """
    lane, file = _parts(name)
    if file == "buffer_size_kb":
        setting = BY_FILE[file]
        number = unsigned(file, text, check.range_text(setting))
        put(state, file, max(number, setting.least) if number else number)
    elif not append:
        if lanes.used(state) - {lane}:
            raise OSError(EINVAL, f"invalid write to {name}: the buffer is one for all lanes: empty `trace`")
        state.clear()
