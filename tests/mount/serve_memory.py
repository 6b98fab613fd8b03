"""Run as a program: mounts a memory_tree at the folder that is given, says "mounted", and serves it."""

from __future__ import annotations

import sys

from memory_tree import MemoryTree

from funcgraph.mount.mountpoint import MountError, prepare
from funcgraph.mount.serving import serve

if __name__ == "__main__":
    try:
        prepare(sys.argv[1])
        serve(MemoryTree(), sys.argv[1], "memory", started=lambda: print("mounted", flush=True))
    except MountError as error:
        sys.exit(str(error))
