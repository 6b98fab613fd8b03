"""A control file: a row of the table of the kernel's files, and that row with what it is about.

The rows stand in value_files.py, buffer_files.py, option_files.py, process_files.py, lane_files.py and
event_files.py; file_table.py is the table of them all. A new file is one row. Instance.files, the tree of
tracefs with its modes, the control socket, mounts and the table in docs/reference/tracefs.md follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from errno import EINVAL
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

from funcgraph.instance.pipe import Pipe
from funcgraph.instance.state import State

__all__ = ["BoundFile", "ControlFile", "File", "FileGroup", "NamedFiles", "Row", "WriteKind"]

_Subject = TypeVar("_Subject")

#: What one write() does, and O_TRUNC and O_APPEND before it; tracefs/writes.py carries it out.
#: "command": one command; O_TRUNC and O_APPEND do nothing.
#: "list": adds to a list, which O_TRUNC has the first write replace.
#: "words": the same, with words that may go on in the next write.
#: "lines": a definition in each line; O_TRUNC deletes all at open().
#: "empty": empties the file, whatever the text, but with O_APPEND; O_TRUNC does so at open().
#: "text": a text of any length, a page at a time.
#: "bytes": one record of bytes.
#: "close": takes any text; its effect comes at close().
WriteKind = Literal["command", "list", "words", "lines", "empty", "text", "bytes", "close"]

_MODES = {"r": 0o440, "w": 0o220, "rw": 0o640}


class Row(Protocol):
    """What every row says of its file, whatever the file is about."""

    @property
    def name(self) -> str: ...
    @property
    def notes(self) -> str: ...
    @property
    def writes(self) -> WriteKind: ...
    @property
    def is_of_process(self) -> bool: ...
    @property
    def errors(self) -> tuple[int, ...]: ...
    @property
    def tree_name(self) -> str: ...
    @property
    def access(self) -> str: ...
    @property
    def mode(self) -> int: ...
    @property
    def is_pipe(self) -> bool: ...


# A NamedTuple: a dataclass would have each traced process import dataclasses and inspect.
class ControlFile(NamedTuple, Generic[_Subject]):
    """A control file: a row of the table.

    Attributes:
        name: the kernel's name. Parts in capitals stand for any: "options/NAME", "per_cpu/cpuN/stats".
        read: returns its text; None: it is write-only, or a pipe of bytes.
        write: does what a text asks for; the last argument is whether a list keeps what it has. None: it is
            read-only.
        pipe: opens it, if readers take what they read. Only a pipe makes poll() wait.
        writes: what a write() does.
        is_of_process: it is the same in each instance: the kernel's root has it alone.
        errors: the numbers of a write's errors, besides EINVAL, and EBUSY, ENODEV and ENOMEM of the instance,
            which every write may have.
        tree_name: its name in the tree of tracefs, if that is another.
        notes: what differs from the kernel's file, in Markdown, for the documents.
    """

    name: str
    read: Callable[[_Subject], str] | None = None
    write: Callable[[_Subject, str, bool], None] | None = None
    pipe: Callable[[_Subject], Pipe] | None = None
    writes: WriteKind = "command"
    is_of_process: bool = False
    errors: tuple[int, ...] = ()
    tree_name: str = ""
    notes: str = ""

    @property
    def access(self) -> str:
        """How the file can be used: "r", "w" or "rw"."""
        return ("r" if self.read or self.pipe else "") + ("w" if self.write else "")

    @property
    def mode(self) -> int:
        """Its permission bits, for whoever shows the tree."""
        return _MODES[self.access]

    @property
    def is_pipe(self) -> bool:
        """Whether readers take what they read, and poll() may wait."""
        return self.pipe is not None


class File(Protocol):
    """A file of an instance: a BoundFile, whatever it is about."""

    @property
    def row(self) -> Row: ...

    def read(self) -> str:
        """Return what it holds. Raises OSError: EINVAL: it is write-only, or holds no text."""

    def write(self, text: str, append: bool) -> None:
        """Write to it. Raises OSError: EINVAL: it is read-only. Others: with the kernel's number."""

    def open_pipe(self) -> Pipe | None:
        """Open it, if it is a pipe. Raises OSError: EBUSY: another reader has it."""


class BoundFile(Generic[_Subject]):
    """A row with what it is about.

    Args:
        row: the row.
        subject: what its functions get.
        name: the file's name.
    """

    __slots__ = ("_name", "_subject", "row")

    def __init__(self, row: ControlFile[_Subject], subject: _Subject, name: str) -> None:
        self.row = row
        self._subject = subject
        self._name = name

    def read(self) -> str:
        """Return what it holds."""
        if self.row.read is None:
            reason = "it holds no text" if self.row.pipe else "it is write-only"
            raise OSError(EINVAL, f"invalid read of {self._name}: {reason}")
        return self.row.read(self._subject)

    def write(self, text: str, append: bool) -> None:
        """Write to it."""
        if self.row.write is None:
            raise OSError(EINVAL, f"invalid write to {self._name}: it is read-only")
        self.row.write(self._subject, text, append)

    def open_pipe(self) -> Pipe | None:
        """Open it, if it is a pipe."""
        return self.row.pipe(self._subject) if self.row.pipe else None


class FileGroup(Protocol):
    """Some rows, and which files of an instance they are."""

    @property
    def folder(self) -> str:
        """The folder that has no files of other groups, with a slash; "": there is none."""

    def rows(self) -> Iterable[Row]:
        """Return the rows."""

    def names(self, state: State, folder: str | None) -> Iterator[str]:
        """Yield the names of the files that there are now.

        Args:
            folder: only those below it are needed, None: all.
        """

    def find(self, state: State, name: str) -> File | None:
        """Return the file of a name; None: there is none."""


class NamedFiles:
    """A FileGroup of files about an instance, or its process, each of which is always there.

    Args:
        rows: the rows.
    """

    folder = ""

    def __init__(self, *rows: ControlFile[State]) -> None:
        self._rows = {row.name: row for row in rows}

    def rows(self) -> Iterable[Row]:
        """Return the rows."""
        return self._rows.values()

    def names(self, state: State, folder: str | None) -> Iterator[str]:
        """Yield the names of the files, whichever the folder."""
        yield from self._rows

    def find(self, state: State, name: str) -> File | None:
        """Return the file of a name; None: there is none."""
        row = self._rows.get(name)
        return None if row is None else BoundFile(row, state, name)
