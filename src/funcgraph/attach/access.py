"""The folders of a process, with the rights of its own user: ours if it is like us, else a helper's."""

from __future__ import annotations

import os
from typing import Protocol, Self

from funcgraph.rights.folder import Folder, OwnFolder, first_folder
from funcgraph.rights.helper import Helper
from funcgraph.rights.identity import ProcessIdentity

__all__ = ["REQUEST_S", "Access", "access_to"]

#: How long one request may take. The process's user can stop the helper.
REQUEST_S = 5.0


class Access(Protocol):
    """What is done in folders of a process. Paths are as it sees them. Every method raises OSError."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

    def make_folder(self, places: list[str], prefix: str) -> Folder:
        """Make a directory in the first place that can be used."""

    def open_folder(self, path: str) -> Folder:
        """Open a directory that the process's user owns and uses alone."""

    def names_in(self, place: str) -> list[str]:
        """Return what is in a directory, whoever owns it."""


class _OwnAccess:
    """The folders of a process that is like us."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def make_folder(self, places: list[str], prefix: str) -> Folder:
        return first_folder(places, lambda place: OwnFolder.create(place, prefix))

    def open_folder(self, path: str) -> Folder:
        return OwnFolder.at(path)

    def names_in(self, place: str) -> list[str]:
        return os.listdir(place)


def access_to(identity: ProcessIdentity) -> Access:
    """Return the access to a process's folders, to be used in a `with` statement.

    Raises:
        OSError: its rights cannot be had.
    """
    if identity.is_like_us:
        return _OwnAccess()
    return Helper.start(identity, REQUEST_S)
