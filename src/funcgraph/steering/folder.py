"""A process that can be steered, and one of its instances: a folder of files.

All goes through the files of a tracefs, as trace-cmd does it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from funcgraph.control.answer_limit import MOST_BYTES, AnswerLimit, Share
from funcgraph.settings.table import BY_FILE
from funcgraph.tracefs.interface import OpenFile, Tree

__all__ = ["InstanceFolder", "Process", "Remote", "pattern_lines"]

_INSTANCES = "instances"
_ENABLE = "enable"
#: What stands beside the folders of groups and of events.
_EVENT_FILES = (_ENABLE, "filter", "header_event", "header_page")


class Remote(Tree, Protocol):
    """The tracefs of a process as a client sees it: funcgraph.control.client.Connection."""

    def read_text(self, path: str) -> str:
        """Return what a file holds."""

    def write_text(self, path: str, text: str, append: bool = False) -> None:
        """Write to a file: `echo TEXT > PATH`."""

    def call(self, name: str, /, **arguments: object) -> object:
        """Call a procedure that is no file."""

    def answer_limit(self, what: str, most_bytes: int = MOST_BYTES) -> AnswerLimit:
        """Return how much, and for how long, to take of a longer answer that is kept."""

    def limit(self, share: Share | None) -> None:
        """Let all further answers have the limit of one; None: each one has its own."""

    def close(self) -> None:
        """Leave the process."""


class Process:
    """A process that can be steered.

    Args:
        pid: its id.
        tree: its files.
    """

    def __init__(self, pid: int, tree: Remote) -> None:
        self.pid = pid
        self.tree = tree

    def instance(self, name: str = "") -> InstanceFolder:
        """Return the instance of a name, which may not exist; "": the top one."""
        return InstanceFolder(self, name)

    def instances(self) -> list[str]:
        """Return the names of the instances besides the top one."""
        return sorted(self.tree.list(_INSTANCES))

    def close(self, *, give_back: bool = False) -> None:
        """Leave the process; `give_back`: without the socket that it got, if nobody else needs it."""
        try:
            if give_back:
                self.tree.call("give_back")
        except OSError:
            pass  # it has ended
        self.tree.close()


class InstanceFolder:
    """One instance of one process.

    Args:
        process: the process.
        name: the instance; "": the top one.
    """

    def __init__(self, process: Process, name: str) -> None:
        self.process = process
        self.name = name

    def path(self, file: str) -> str:
        """Return the path of a file in the process's tree."""
        return f"{_INSTANCES}/{self.name}/{file}" if self.name else file

    def exists(self) -> bool:
        """Return whether the process has this instance."""
        return not self.name or self.name in self.process.instances()

    def make(self) -> None:
        """Make the instance. Raises OSError as mkdir does."""
        self.process.tree.mkdir(f"{_INSTANCES}/{self.name}")

    def remove(self) -> None:
        """Remove the instance. Raises OSError: EBUSY: one of its files is open."""
        self.process.tree.rmdir(f"{_INSTANCES}/{self.name}")

    def has(self, file: str) -> bool:
        """Return whether there is a file of that name."""
        try:
            self.process.tree.stat(self.path(file))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder of the instance."""
        return self.process.tree.list(self.path(folder))

    def read(self, file: str) -> str:
        """Return what a file holds."""
        return self.process.tree.read_text(self.path(file))

    def write(self, file: str, text: str, append: bool = False) -> None:
        """Write a line to a file; `append` keeps what a list holds."""
        line = f"{text}\n" if text and not text.endswith("\n") else text
        self.process.tree.write_text(self.path(file), line, append)

    def open(self, file: str, flags: int) -> OpenFile:
        """Open a file."""
        return self.process.tree.open(self.path(file), flags)

    def value(self, file: str) -> str:
        """Return what to write to a file to get its present value again."""
        text = self.read(file)
        if file == "trace_clock":
            chosen, bracket, _ = text.partition("[")[2].partition("]")
            return chosen if bracket else text.strip()
        if file.endswith("/enable"):
            return text[:1]
        setting = BY_FILE.get(file)
        if setting is None or not setting.empty:
            return text.strip()
        return " ".join(pattern_lines(text.splitlines()))

    def event_names(self) -> list[str]:
        """Return all events that can be switched on, as GROUP:EVENT.

        What the root alone has is asked of the root only for itself: asking makes its instance.
        """
        if not self.name:
            return self.read("available_events").split()
        found = []
        for group in self.names("events"):
            names = [] if group in _EVENT_FILES else self.names(f"events/{group}")
            if _ENABLE in names:  # records of the tracers themselves have no such file
                found += [f"{group}:{name}" for name in names if name not in _EVENT_FILES]
        return found


def pattern_lines(lines: Iterable[str]) -> list[str]:
    """Return the lines of a filter's file that are patterns or numbers: no comments, no function commands."""
    return [line for line in lines if line and not line.startswith(("#", "no pid")) and not _is_command(line)]


def _is_command(line: str) -> bool:
    _, colon, rest = line.partition(":")
    return bool(colon) and rest.partition(":")[0] != "mod"
