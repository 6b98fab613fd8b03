"""A memory_tree that a process mounts, for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mount.mounted import end, lacks, start


@pytest.fixture(scope="session")
def fuse() -> None:
    """Skip where nothing can be mounted."""
    if reason := lacks():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def mounted(fuse: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder where a memory_tree is mounted."""
    folder = tmp_path_factory.mktemp("tracing")
    process = start(folder)
    try:
        yield folder
    finally:
        end(process, folder)
