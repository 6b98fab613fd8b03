"""A library that counts its own calls, and programs that call it."""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import Funcgraph
from planned import build

#: A library that counts its own calls.
COUNTER = """
    static _Atomic long calls[2]; /* threads call without the GIL */

    __attribute__((noinline)) long step(long n) { calls[0]++; return n % 2 ? n * 3 + 1 : n / 2; }
    long walk(long n)
    {
        long steps = 0;

        calls[1]++;
        for (; n != 1; n = step(n))
            steps++;
        return steps;
    }
    long calls_of_step(void) { return calls[0]; }
    long apply(long (*function)(long), long n) { return function(n) + 1; }
"""
PROLOGUE = """
    import ctypes
    import sys
    import funcgraph
    from funcgraph import Instance, _engine

    def load():
        library = ctypes.CDLL(sys.argv[1])
        for name in ("step", "walk", "calls_of_step", "apply"):
            getattr(library, name).restype = ctypes.c_long
        return library

    def lines(instance, *names):
        return [line.split("|", 1)[1].rstrip() for line in instance.trace().splitlines()
                if any(name in line for name in names)]
"""


def program(fg: Funcgraph, tmp_path: Path, text: str) -> str:
    """Run a program with the library; return what it prints."""
    return run_with_library(fg, tmp_path, ("libcounter.so", COUNTER), PROLOGUE + text)


def run_with_library(
    fg: Funcgraph, tmp_path: Path, library: tuple[str, str], text: str, *arguments: str
) -> str:
    """Run a program, which must exit with 0; return what it prints.

    Args:
        library: the name of a file and its C code. The program's first argument is its path.
        text: of the program.
        arguments: the program's other ones.
    """
    name, source = library
    path = build(tmp_path, source, "-Wl,--build-id", language="c", name=name)
    done = fg.plain(sys.executable, fg.script(text), path, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout
