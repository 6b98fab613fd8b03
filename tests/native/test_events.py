"""Dynamic events on native functions: what they fetch is what a C library was called with and returned.

Broken by hand: stack arguments were read one word too low (the seventh argument was wrong); a text
without a NUL before an unmapped page was one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from conftest import Funcgraph
from planned import build, needs_decoder

pytestmark = needs_decoder

LIBRARY = r"""
    typedef unsigned long u64;
    struct pair { long a, b; };

    static u64 calls;
    u64 calls_so_far(void) { return calls; }

    u64 nine(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f, u64 g, u64 h, u64 i)
    {
        calls++;
        return a + b + c + d + e + f + g + h + i;
    }
    u64 mixed(u64 a, double x, u64 b, double y) { calls++; return a + b + (u64)(x + y); }
    double real(double x, double y) { calls++; return x * y; }
    u64 take(const void *p, u64 n) { calls++; return n ? *(const unsigned char *)p : n; }
    void fill(char *to, u64 n)
    {
        calls++;
        for (u64 i = 0; i < n; i++)
            to[i] = "abcdefgh"[i % 8];
        to[n] = 0;
    }
    int fail(int n) { calls++; return -n; }
"""

PROLOGUE = r"""
    import ctypes
    import mmap
    import sys
    import funcgraph
    from funcgraph import Instance, _engine

    library = ctypes.CDLL(sys.argv[1])
    u64 = ctypes.c_uint64
    for name in ("nine", "mixed", "take", "calls_so_far"):
        getattr(library, name).restype = u64
    library.nine.argtypes = [u64] * 9
    library.take.argtypes = [ctypes.c_void_p, u64]
    library.mixed.argtypes = [u64, ctypes.c_double, u64, ctypes.c_double]
    library.real.argtypes = [ctypes.c_double] * 2
    library.real.restype = ctypes.c_double
    library.fill.argtypes = [ctypes.c_void_p, u64]
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

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


def program(fg: Funcgraph, tmp_path: Path, text: str) -> list[str]:
    """Run a program with the library; return the lines that it prints."""
    library = build(tmp_path, LIBRARY, "-Wl,--build-id", language="c", name="libsample.so")
    script = fg.script(PROLOGUE + text)
    fg.env["XDG_CACHE_HOME"] = str(tmp_path / "cache")
    done = fg.plain(sys.executable, script, library)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_an_event_has_the_size_that_malloc_was_asked_for(fg: Funcgraph, tmp_path: Path) -> None:
    printed = program(
        fg,
        tmp_path,
        """
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    define("f:mem/big libc:malloc size=$arg1:u64")
    with Instance("x") as instance:
        instance.events["mem/big"].filter = "size > 7000000"
        instance.events["mem/big"].enable = True
        for size in (9_000_000, 10, 7_000_000, 7_000_001):
            libc.free(libc.malloc(size))
        instance.events["mem/big"].enable = False
        print("\\n".join(hits(instance)))
    print([state[1:3] for state in _engine.native_functions()])
    """,
    )
    assert printed == ["(malloc [libc]) size=9000000", "(malloc [libc]) size=7000001", "[('malloc', False)]"]
