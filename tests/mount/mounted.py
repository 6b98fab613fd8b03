"""Mounting in tests: a memory_tree by a process of its own, or the tracefs of a program by the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


@contextmanager
def mount_process(pid: int, folder: Path) -> Iterator[None]:
    """Mount the tracefs of a process at a new folder, with the command."""
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "funcgraph", "mount", folder, "-P", str(pid)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)
