"""Folders of our own user for what can be made again: in $XDG_CACHE_HOME/funcgraph or ~/.cache/funcgraph."""

from __future__ import annotations

import os
from contextlib import suppress

from funcgraph.rights.folder import OwnFolder

__all__ = ["cache_path", "open_cache"]


def cache_path(name: str) -> str:
    """Return the path of a cache's folder, which need not exist."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base.startswith("/"):  # the specification has relative ones ignored
        base = os.path.expanduser("~/.cache")
    return f"{base}/funcgraph/{name}"


def open_cache(name: str) -> OwnFolder:
    """Make a cache's folder if it is not there; return it.

    Raises:
        OSError: it cannot be made; another user owns it, or others may use it.
    """
    path = cache_path(name)
    with suppress(FileExistsError):
        os.makedirs(os.path.dirname(path), 0o700)
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    return OwnFolder.at(path)
