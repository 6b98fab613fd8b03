"""Changes of files that are taken back together if one of them fails."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from funcgraph.steering.folder import InstanceFolder

__all__ = ["Changes"]


class Changes:
    """A block of changes: all of them, or after an exception none.

    with Changes() as changes:
        changes.write(folder, "set_ftrace_filter", "shop.*")
        changes.write(folder, "current_tracer", "function_graph")
    """

    def __init__(self) -> None:
        self._undo: list[Callable[[], object]] = []

    def __enter__(self) -> Changes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.take_back()

    def take_back(self) -> None:
        """Undo all changes, the newest first. One that cannot be undone is left: the process may be gone."""
        while self._undo:
            undo = self._undo.pop()
            try:
                undo()
            except OSError:
                pass

    def write(self, folder: InstanceFolder, file: str, text: str) -> None:
        """Write to a file whose present value can be written again."""
        before = folder.value(file)
        folder.write(file, text)
        self._undo.append(lambda: folder.write(file, before))

    def append(self, folder: InstanceFolder, file: str, text: str, undo: str) -> None:
        """Append to a file; appending `undo` takes that back."""
        folder.write(file, text, append=True)
        self.undo_with(folder, file, undo)

    def undo_with(self, folder: InstanceFolder, file: str, text: str) -> None:
        """Have `text` appended to a file if the changes are taken back."""
        self._undo.append(lambda: folder.write(file, text, append=True))

    def make(self, folder: InstanceFolder) -> None:
        """Make the instance unless it is there."""
        if not folder.exists():
            folder.make()
            self._undo.append(folder.remove)
