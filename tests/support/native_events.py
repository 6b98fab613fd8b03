"""Programs with events on a library's functions and places: how they begin, and how they are run."""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import Funcgraph

#: The first argument is the path of the library. A program goes on with its functions' types.
BEGIN = r"""
    import ctypes
    import sys
    import funcgraph
    from funcgraph import Instance, _engine

    library = ctypes.CDLL(sys.argv[1])
    u64 = ctypes.c_uint64

    def define(*lines):
        for line in lines:
            funcgraph.dynamic_events.define(line)
        return [f"{d.group}/{d.event}" for d in funcgraph.dynamic_events]

    def hits(instance):
        return [line.split(": ", 2)[2] for line in instance.trace().splitlines() if line[:1] == " "]

    def values(run, *lines):
        # The text of the fields of each hit while run() runs.
        names = define(*lines)
        with Instance("x") as instance:
            for name in names:
                instance.events[name].enable = True
            run()
            for name in names:
                instance.events[name].enable = False
            return hits(instance)
"""


def printed_lines(fg: Funcgraph, library: Path, text: str, *arguments: str) -> list[str]:
    """Run a program with a library; return the lines that it prints."""
    done = fg.plain(sys.executable, fg.script(text), str(library), *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()
