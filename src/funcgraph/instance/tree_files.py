"""The files of an instance as a tracefs needs them: folders, pipes, which are open."""

from __future__ import annotations

from funcgraph.instance.files import OPTION_FOLDER, PIPE, Files, module_of, modules
from funcgraph.instance.pipe import Pipe
from funcgraph.settings.table import BY_FILE, OPTIONS

__all__ = ["TreeFiles"]


class TreeFiles(Files):
    """The files of an instance, with what Instance.files does not tell."""

    def folder(self, path: str) -> list[str]:
        """Return the names in a folder; "": at the top. []: there is no such folder."""
        prefix = f"{path}/" if path else ""
        own = (*BY_FILE, *(OPTION_FOLDER + option for option in OPTIONS))
        names = [*own, *(name for module in modules() for name in module.names(self._state, path))]
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
        module = module_of(self._state, name)
        return module is not None and bool(module.is_of_process(name))

    def pipe(self, name: str) -> Pipe | None:
        """Open a file whose readers take what they read; None: it is none.

        Raises:
            OSError: EBUSY: another reader has it open, as in the kernel; and as read().
        """
        pipe: Pipe | None = self._served(name, self._pipe)
        return pipe

    def _pipe(self, name: str) -> Pipe | None:
        state = self._state
        with state.lock:
            if name == PIPE:
                state.check_no_pipe()
                return Pipe(state)
            module = module_of(state, name)
            pipe: Pipe | None = module.pipe(state, name) if module else None
            return pipe
