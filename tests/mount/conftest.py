"""A memory_tree that a process mounts, for all tests of a file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TIMEOUT_S = 60.0


def lacks() -> str:
    """Return why nothing can be mounted here, or an empty string."""
    from funcgraph.mount import libfuse, mountpoint

    try:
        libfuse.load()
        mountpoint._check_device()
    except (libfuse.MissingError, mountpoint.MountError) as error:
        return str(error)
    return ""


def start(folder: Path) -> subprocess.Popen[str]:
    """Mount a memory_tree. Returns its process when the mount works."""
    words = [sys.executable, str(HERE / "serve_memory.py"), str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(HERE)}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    assert process.stdout.readline() == "mounted\n"
    return process


def end(process: subprocess.Popen[str], folder: Path) -> None:
    """Unmount what start() has mounted. It must end by itself, and leave an ordinary folder."""
    process.terminate()
    assert process.wait(TIMEOUT_S) == 0
    assert not os.path.ismount(folder)
    process.stdout.close()  # type: ignore[union-attr]


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


@contextmanager
def mount_process(pid: int, folder: Path) -> Iterator[None]:
    """Mount the tracefs of a process at a new folder, with the command."""
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "funcgraph", "mount", folder, "-P", str(pid)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
