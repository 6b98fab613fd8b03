"""A file whose pages never come: its file system answers no read. Whoever maps it waits for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from funcgraph.mount import libfuse

__all__ = ["hanging_file"]

#: argv: the folder to mount, the name of the file. Prints a line at the first read, which then never ends.
_SERVER = """
import stat, sys, time
import mfusepy

class Hang(mfusepy.Operations):
    use_ns = True

    def getattr(self, path, fh=None):
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        return {"st_mode": stat.S_IFREG | 0o755, "st_nlink": 1, "st_size": 1 << 20}

    def readdir(self, path, fh):
        return [".", "..", sys.argv[2]]

    def open(self, path, flags):
        return 0

    def read(self, path, size, offset, fh):
        print("read", flush=True)
        time.sleep(1 << 20)

mfusepy.FUSE(Hang(), sys.argv[1], foreground=True, nothreads=True)
"""


@contextmanager
def hanging_file(folder: Path, name: str) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """Make such a file; yield its path and its server, which prints a line at each read. Skips the test where
    there is no FUSE."""
    try:
        libfuse.load()
    except libfuse.MissingError as error:
        pytest.skip(str(error))
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("there is no /dev/fuse")
    folder.mkdir()
    device = folder.stat().st_dev
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, os.fspath(folder), name], stdout=subprocess.PIPE, text=True
    )
    try:
        while folder.stat().st_dev == device:
            if server.poll() is not None:
                pytest.skip("nothing may be mounted here")
            time.sleep(0.01)
        yield folder / name, server
    finally:
        server.kill()  # every read ends with an error then
        server.communicate()
        subprocess.run(["umount", "-l", os.fspath(folder)], check=False, capture_output=True)
