"""The files of tests' function graphs: one for each test, named after it."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path

import pytest

from funcgraph.output_file import whole_file

_MOST = 100  # characters of a test's name in a file's name
_DIGEST = 6  # characters of what tells tests apart whose names begin alike


class GraphFiles:
    """The folder with the files.

    Args:
        config: of the run. Without its cache, and without the option, the folder is a temporary one.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._folder: Path | None = None
        self._stale: set[str] = set()

    def write(self, nodeid: str, trace: bytes) -> str:
        """Write the graph of a test; return the file's path, as short as it can be where pytest was started.

        Raises:
            OSError: it cannot be written.
        """
        path = os.path.join(self._open(), self._name(nodeid))
        with whole_file(path) as file:
            file.write(trace)
        relative = os.path.relpath(path, self._config.invocation_params.dir)
        return path if relative.startswith(os.pardir) else relative

    def remove(self, nodeid: str) -> None:
        """Remove the file that an earlier run wrote for a test."""
        if self._folder is None:
            self._open()
        name = self._name(nodeid) if self._stale else ""
        if name in self._stale:
            self._stale.discard(name)
            Path(self._open(), name).unlink(missing_ok=True)

    def discard(self, path: str) -> None:
        """Remove a file that was written: no report names it."""
        Path(self._config.invocation_params.dir, path).unlink(missing_ok=True)

    def _open(self) -> Path:
        if self._folder is None:
            self._folder = self._make()
            self._stale = {name for name in os.listdir(self._folder) if name.endswith(".fg")}
        return self._folder

    def _make(self) -> Path:
        given = self._config.getoption("--funcgraph-dir")
        if given:
            folder = Path(self._config.invocation_params.dir, given)
            folder.mkdir(parents=True, exist_ok=True)
            return folder
        try:
            if self._config.cache is not None:
                return self._config.cache.mkdir("funcgraph")
        except (AttributeError, OSError):  # -p no:cacheprovider; a folder that is not ours to write
            pass
        return Path(tempfile.mkdtemp(prefix="funcgraph-"))

    @staticmethod
    def _name(nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        words = re.sub(r"[^\w.=-]+", "_", f"{Path(path).stem}.{test.replace('::', '.')}", flags=re.ASCII)
        digest = hashlib.blake2b(nodeid.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{words[:_MOST].strip('_.')}-{digest[:_DIGEST]}.fg"
