"""The tracefs of this process: the files of its instances, in the kernel's folders.

The root is the instance `top`, which is made when it is first needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EACCES, EBUSY, EEXIST, EISDIR, ENOENT, ENOTDIR, EPERM
from typing import TypeVar

from funcgraph import _engine
from funcgraph.instance.control_files.file_table import TREE_NAMES
from funcgraph.instance.control_files.tree_files import TreeFiles
from funcgraph.instance.instance import Instance, instances
from funcgraph.instance.living import STATES
from funcgraph.settings.table import TOP
from funcgraph.tracefs.interface import Entry
from funcgraph.tracefs.interface import OpenFile as OpenFileProtocol
from funcgraph.tracefs.open_file import PipeFile, TextFile

__all__ = ["Tree"]

_T = TypeVar("_T")
_Names = list[str]  # a method of Tree is named list

_INSTANCES = "instances"
_FOLDER = Entry(True, 0o750)
#: Name in the table of files -> name in the tree. The kernel has a trace_stat for each CPU; here it is one.
_SHOWN = {name: path for path, name in TREE_NAMES.items()}


class Tree:
    """The tracefs of this process. Documentation/trace/ftrace.rst has the files.

        tree = Tree()
        file = tree.open("current_tracer", os.O_WRONLY | os.O_TRUNC)
        file.write(0, b"function_graph\\n")
        file.close()

    Modes are for whoever shows the tree. Nothing is refused for them, as the kernel refuses root nothing: a
    read-only file can be opened for writing, and refuses each write with EINVAL.
    """

    def stat(self, path: str) -> Entry:
        """Return what the path is.

        Raises:
            OSError: ENOENT: nothing. ENOTDIR: part of it is a file.
        """
        return _untraced(self._stat, path)

    def list(self, path: str) -> list[str]:
        """Return the names in a folder.

        Raises:
            OSError: ENOENT: there is no such path. ENOTDIR: it is a file.
        """
        return _untraced(self._list, path)

    def mkdir(self, path: str) -> None:
        """Make an instance: instances/NAME.

        Raises:
            OSError: EEXIST: the path exists, or the program has an instance of that name. EINVAL,
                ENAMETOOLONG: it is no name. ENOENT: the folder around it does not exist. EPERM: that is not
                `instances`.
        """
        parent, name = _split(path)
        if self._exists(path):
            raise _error(EEXIST, "it exists", path)
        self._check_parent(parent, path)
        if parent != _INSTANCES:
            raise _error(EPERM, f"folders can be made in {_INSTANCES} alone", path)
        Instance(name)

    def rmdir(self, path: str) -> None:
        """Remove an instance: instances/NAME.

        Raises:
            OSError: EBUSY: one of its files is open. ENOENT: there is no such path. ENOTDIR: it is a file.
                EPERM: it is another folder.
        """
        if not self.stat(path).is_folder:
            raise _error(ENOTDIR, "it is a file", path)
        parent, name = _split(path)
        if parent != _INSTANCES:
            raise _error(EPERM, "it is no instance", path)
        if _files_of(path)[0].are_held:
            raise _error(EBUSY, "one of its files is open", path)
        instances()[name].close()

    def open(self, path: str, flags: int) -> OpenFileProtocol:
        """Open a file.

        Args:
            path: the file's.
            flags: of os.open(): O_RDONLY, O_WRONLY or O_RDWR, with O_APPEND, O_TRUNC and O_CREAT. Others are
                ignored.

        Raises:
            OSError: ENOENT, or EACCES with O_CREAT: there is no such file. EISDIR: it is a folder. EBUSY:
                another reader has that pipe; O_TRUNC of a list of events, of which one is in use.
        """
        try:
            entry = self.stat(path)
        except FileNotFoundError:
            if flags & os.O_CREAT:
                raise _error(EACCES, "files cannot be made", path) from None
            raise
        if entry.is_folder:
            raise _error(EISDIR, "it is a folder", path)
        files, name = _files_of(path)
        pipe = files.pipe(name)
        return PipeFile(files, name, flags, pipe) if pipe else TextFile(files, name, flags)

    def _stat(self, path: str) -> Entry:
        if path in ("", _INSTANCES):
            return _FOLDER
        files, name = _files_of(path)
        if _is_shown(files, name, path):
            return Entry(False, files.mode(name))
        if not name or files.folder(name):
            return _FOLDER
        while name:
            name = name.rpartition("/")[0]
            if name and _is_shown(files, name, path):
                raise _error(ENOTDIR, f"{name!r} is a file", path)
        raise _error(ENOENT, "there is no such file or folder", path)

    def _list(self, path: str) -> _Names:
        if not self._stat(path).is_folder:
            raise _error(ENOTDIR, "it is a file", path)
        if path == _INSTANCES:
            return [name for name in STATES if name != TOP]
        files, name = _files_of(path)
        prefix = f"{name}/" if name else ""
        names = [_SHOWN.get(prefix + one, prefix + one) for one in files.folder(name)]
        if path.partition("/")[0] == _INSTANCES:
            names = [one for one in names if not files.is_of_process(one)]
        elif not path:
            names.append(_INSTANCES)
        return [one[len(prefix) :] for one in names]

    def _exists(self, path: str) -> bool:
        try:
            self.stat(path)
        except FileNotFoundError:
            return False
        return True

    def _check_parent(self, parent: str, path: str) -> None:
        if not self.stat(parent).is_folder:
            raise _error(ENOTDIR, f"{parent!r} is a file", path)


def _untraced(function: Callable[[str], _T], path: str) -> _T:
    """Return function(path), whose calls no tracer sees."""
    return _engine.untraced(function, path)


def _error(number: int, reason: str, path: str) -> OSError:
    return OSError(number, reason, path)


def _split(path: str) -> tuple[str, str]:
    """Return the folder around a path, and its name there."""
    parent, _, name = path.rpartition("/")
    return parent, name


def _files_of(path: str) -> tuple[TreeFiles, str]:
    """Return the files of the instance that a path is in, and the path below its folder.

    Raises:
        OSError: ENOENT: there is no such instance.
    """
    if not path.startswith(f"{_INSTANCES}/"):
        return _top(), TREE_NAMES.get(path, path)
    name, _, rest = path.removeprefix(f"{_INSTANCES}/").partition("/")
    state = STATES.get(name) if name != TOP else None
    if state is None:
        raise _error(ENOENT, "there is no such instance", path)
    return TreeFiles(state), TREE_NAMES.get(rest, rest)


def _top() -> TreeFiles:
    """Return the files of the root's instance."""
    while TOP not in STATES:
        try:
            Instance(TOP)
        except FileExistsError:
            pass  # another thread makes it
    return TreeFiles(STATES[TOP])


def _is_shown(files: TreeFiles, name: str, path: str) -> bool:
    """Return whether a file is in the tree there: an instance's folder has none of the whole process."""
    if name in _SHOWN and not path.endswith(_SHOWN[name]):
        return False
    return name in files and not (path.startswith(f"{_INSTANCES}/") and files.is_of_process(name))
