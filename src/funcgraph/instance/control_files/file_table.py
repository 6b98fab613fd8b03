"""The table of control files: all rows, and the file of a name in an instance.

A group of rows is loaded when a file is looked for that none of the groups before it has, so that a traced
process imports only what its clients use.
"""

from __future__ import annotations

from collections.abc import Iterator

from funcgraph.instance.control_files.buffer_files import BUFFER_FILES
from funcgraph.instance.control_files.control_file import File, FileGroup, Row
from funcgraph.instance.control_files.option_files import OPTION_FILES
from funcgraph.instance.control_files.value_files import VALUE_FILES
from funcgraph.instance.state import State

__all__ = ["TREE_NAMES", "find", "groups", "names", "own_names", "rows"]

#: The groups that each process with an instance has.
_LOADED: tuple[FileGroup, ...] = (VALUE_FILES, BUFFER_FILES, OPTION_FILES)
#: Name in the tree of tracefs -> the file's name, where these differ.
TREE_NAMES = {row.tree_name: row.name for row in BUFFER_FILES.rows() if row.tree_name}


def groups() -> Iterator[FileGroup]:
    """Yield the groups of rows."""
    yield from _LOADED
    from funcgraph.instance.control_files.process_files import PROCESS_FILES

    yield PROCESS_FILES
    from funcgraph.instance.control_files.lane_files import LANE_FILES

    yield LANE_FILES
    from funcgraph.instance.control_files.event_files import EVENT_FILES

    yield EVENT_FILES


def rows() -> Iterator[Row]:
    """Yield all rows: the documents' table."""
    for group in groups():
        yield from group.rows()


def names(state: State, folder: str | None = None) -> Iterator[str]:
    """Yield the names of the files that an instance has now; `folder`: at least those below it."""
    for group in groups():
        yield from group.names(state, folder)


def own_names(state: State) -> list[str]:
    """Return the names of the files of the groups that each process with an instance has."""
    return [name for group in _LOADED for name in group.names(state, None)]


def find(state: State, name: str) -> File | None:
    """Return the file of a name in an instance; None: there is none."""
    for group in groups():
        file = group.find(state, name)
        if file is not None or (group.folder and name.startswith(group.folder)):
            return file
    return None
