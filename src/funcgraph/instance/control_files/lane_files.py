"""The rows of the folder `per_cpu`: what the buffer has of each lane. A lane is a CPU there (lanes.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from errno import EINVAL, ERANGE
from typing import NamedTuple

from funcgraph.instance import lanes
from funcgraph.instance.control_files import snapshot_file
from funcgraph.instance.control_files.access import get, put
from funcgraph.instance.control_files.control_file import BoundFile, ControlFile, File, Row
from funcgraph.instance.control_files.texts import PARSERS
from funcgraph.instance.pipe import Pipe
from funcgraph.instance.state import State
from funcgraph.settings.table import BY_FILE

__all__ = ["LANE_FILES"]

_FOLDER = "per_cpu/cpu"
_SIZE = "buffer_size_kb"


class _Lane(NamedTuple):
    """A lane of an instance."""

    state: State
    number: int

    def open_pipe(self, opened: Callable[[State, int], Pipe]) -> Pipe:
        """Open a pipe.

        Raises:
            OSError: EBUSY: another reader takes of this lane, or of all.
        """
        with self.state.lock:
            if {self.number, None} & set(self.state.pipes.values()):
                self.state.check_no_pipe()
            return opened(self.state, self.number)


def _write_size(lane: _Lane, text: str, append: bool) -> None:
    """Change the size of the buffer, which is one for all lanes."""
    setting = BY_FILE[_SIZE]
    put(lane.state, _SIZE, PARSERS[setting.kind](setting, text, ()))


def _write_trace(lane: _Lane, text: str, append: bool) -> None:
    """Empty the buffer, if it has nothing of other lanes."""
    if append:
        return
    if lanes.used(lane.state) - {lane.number}:
        name = f"{_FOLDER}{lane.number}/trace"
        raise OSError(EINVAL, f"invalid write to {name}: the buffer is one for all lanes: empty `trace`")
    lane.state.clear()


def _read_pipe(lane: _Lane) -> str:
    return lane.open_pipe(lanes.LanePipe).read().decode("utf-8", "replace")


def _row(
    file: str,
    read: Callable[[_Lane], str] | None = None,
    pipe: Callable[[_Lane], Pipe] | None = None,
    notes: str = "",
) -> ControlFile[_Lane]:
    """Return the row of a file that is read-only."""
    return ControlFile(f"{_FOLDER}N/{file}", read, pipe=pipe, notes=notes)


_ROWS = (
    ControlFile(
        f"{_FOLDER}N/{_SIZE}",
        lambda lane: f"{get(lane.state, _SIZE)}\n",
        _write_size,
        errors=(ERANGE,),
        notes="that of the buffer",
    ),
    _row(
        "snapshot",
        lambda lane: snapshot_file.read(*lane),
        notes="the lines of the lane. It is read-only: write to that of all lanes",
    ),
    _row(
        "stats",
        lambda lane: lanes.stats_text(*lane),
        notes="the kernel's figures. `overrun` and `dropped events` are of the buffer: lane 0 counts them",
    ),
    ControlFile(
        f"{_FOLDER}N/trace",
        lambda lane: lanes.text(*lane),
        _write_trace,
        writes="empty",
        notes="the lines of the lane. A write empties it if there is no other lane",
    ),
    _row(
        "trace_pipe",
        _read_pipe,
        lambda lane: lane.open_pipe(lanes.LanePipe),
        notes="the records of the lane, which are then gone",
    ),
    _row(
        "trace_pipe_raw",
        pipe=lambda lane: lane.open_pipe(lanes.LanePages),
        notes="the records of the lane, which are then gone",
    ),
)


class _LaneFiles:
    """The files of the lanes: a FileGroup."""

    folder = "per_cpu/"

    def __init__(self) -> None:
        self._rows = {row.name.rpartition("/")[2]: row for row in _ROWS}

    def rows(self) -> Iterable[Row]:
        return _ROWS

    def names(self, state: State, folder: str | None) -> Iterator[str]:
        """Yield the names. Where they are not needed, the lanes are not counted."""
        is_counted = folder is None or folder.startswith("per_cpu")
        for lane in range(lanes.count(state) if is_counted else 1):
            yield from (f"{_FOLDER}{lane}/{file}" for file in self._rows)

    def find(self, state: State, name: str) -> File | None:
        lane, _, file = name.removeprefix(_FOLDER).partition("/")
        row = self._rows.get(file) if name.startswith(_FOLDER) else None
        if row is None or not (lane.isascii() and lane.isdecimal() and len(lane) < 9):
            return None
        number = int(lane)
        if str(number) != lane or not (number < state.nr_lanes or number < lanes.count(state)):
            return None
        return BoundFile(row, _Lane(state, number), name)


LANE_FILES = _LaneFiles()
