"""The tree of this process as clients change it, and what they made: detaching takes that back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from funcgraph.events.files import FILES
from funcgraph.instance.instance import Instance, instances
from funcgraph.settings.table import TOP
from funcgraph.tracefs.interface import Entry, OpenFile, Tree, Wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from funcgraph.events.registry import AnyDefinition

__all__ = ["OwnedTree", "is_empty", "take_back"]

# What was made through all trees of this process, as far as it is left: a process may be steered for years.
_instances: dict[str, Instance] = {}
_made: list[AnyDefinition] = []


class OwnedTree:
    """A tree that notes which instances and dynamic events are made through it. It is a Tree itself.

    What the program makes itself is never noted. A change of an instance of the program is that instance's.

    Args:
        tree: a tree of this process.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def stat(self, path: str) -> Entry:
        with _noting(TOP):
            return self._tree.stat(path)

    def list(self, path: str) -> list[str]:
        with _noting(TOP):
            return self._tree.list(path)

    def mkdir(self, path: str) -> None:
        with _noting(TOP, path.rpartition("/")[2]):
            self._tree.mkdir(path)

    def rmdir(self, path: str) -> None:
        with _noting(TOP):
            self._tree.rmdir(path)

    def open(self, path: str, flags: int) -> OpenFile:
        # O_TRUNC deletes all definitions, and makes none.
        with _noting(TOP):
            file = self._tree.open(path, flags)
        defines = path.rpartition("/")[2] in FILES and flags & os.O_ACCMODE != os.O_RDONLY
        return _DefiningFile(file) if defines else file


def is_empty() -> bool:
    """Return whether nothing that was made through a tree is left."""
    return not _living() and not _defined()


def take_back() -> None:
    """Close the instances, and delete the events, that were made through trees and are left.

    An event that an instance of the program uses by now stays.
    """
    for instance in _living():
        instance.close()
    _instances.clear()
    for definition in reversed(_defined()):
        _delete(definition)
    _made.clear()


def _living() -> list[Instance]:
    there = instances()
    return [one for name, one in _instances.items() if there.get(name) is one]


def _defined() -> list[AnyDefinition]:
    if not _made:
        return []
    there = list(_definitions())
    return [one for one in _made if one in there]


@contextmanager
def _noting(*names: str) -> Iterator[None]:
    """Note the instances of these names that are made meanwhile."""
    before = instances()
    try:
        yield
    finally:
        after = instances()
        for name in [name for name, one in _instances.items() if after.get(name) is not one]:
            del _instances[name]
        _instances.update({name: after[name] for name in names if name in after and name not in before})


class _DefiningFile:
    """An open file whose writes define events: an OpenFile."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @property
    def ready(self) -> bool:
        return self._file.ready

    def wait(self) -> Wait | None:
        return self._file.wait()

    def read(self, offset: int, size: int) -> bytes:
        return self._file.read(offset, size)

    def write(self, offset: int, data: bytes) -> int:
        before = list(_definitions())
        try:
            return self._file.write(offset, data)
        finally:
            after = list(_definitions())
            _made[:] = [one for one in after if one in _made or one not in before]

    def close(self) -> None:
        self._file.close()


def _delete(definition: AnyDefinition) -> None:
    """Delete an event, unless somebody uses it by now."""
    from funcgraph.definitions.synthetic_definition import SyntheticDefinition
    from funcgraph.events import live

    if isinstance(definition, SyntheticDefinition):
        with suppress(OSError):
            live.dynamic_events.write("synthetic_events", f"!{definition.event}")
    else:
        live.remove([definition])


def _definitions() -> Iterator[AnyDefinition]:
    from funcgraph.events import live  # with all of events: few clients define some

    return iter(live.dynamic_events)
