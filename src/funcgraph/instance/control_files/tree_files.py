"""The files of an instance as a tracefs needs them: folders, modes, pipes, which are open."""

from __future__ import annotations

from funcgraph.instance.control_files import file_table
from funcgraph.instance.control_files.control_file import WriteKind
from funcgraph.instance.control_files.files import Files
from funcgraph.instance.pipe import Pipe

__all__ = ["TreeFiles"]


class TreeFiles(Files):
    """The files of an instance, with what Instance.files does not tell."""

    def folder(self, path: str) -> list[str]:
        """Return the names in a folder; "": at the top. []: there is no such folder."""
        prefix = f"{path}/" if path else ""
        names = file_table.names(self._state, path)
        return list(
            dict.fromkeys(name[len(prefix) :].partition("/")[0] for name in names if name.startswith(prefix))
        )

    def hold(self, holder: object) -> None:
        """Note that a file is open: the instance is in use until release()."""
        self._state.open_files.add(id(holder))

    def release(self, holder: object) -> None:
        """Undo hold(). May be called twice."""
        self._state.open_files.discard(id(holder))

    @property
    def are_held(self) -> bool:
        """Whether a file is open, or a pipe."""
        return bool(self._state.open_files or self._state.pipes)

    def is_of_process(self, name: str) -> bool:
        """Return whether a file is the same in each instance: the kernel has it in its root alone."""
        file = file_table.find(self._state, name)
        return file is not None and file.row.is_of_process

    def mode(self, name: str) -> int:
        """Return a file's permission bits."""
        return self._served(name, lambda file: file.row.mode)

    def writes(self, name: str) -> WriteKind:
        """Return what a write() to a file does."""
        return self._served(name, lambda file: file.row.writes)

    def pipe(self, name: str) -> Pipe | None:
        """Open a file whose readers take what they read; None: it is none.

        Raises:
            OSError: EBUSY: another reader has it open, as in the kernel; and as read().
        """
        return self._served(name, lambda file: file.open_pipe())
