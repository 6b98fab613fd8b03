"""A program that ends within a hooked native call leaves a trace with all native calls, and with that one."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest
from conftest import Funcgraph
from counter import COUNTER
from planned import build, needs_plans

pytestmark = needs_plans

#: How a native call ends the program.
ENDS = {"kill -9": signal.SIGKILL, "abort": signal.SIGABRT, "segfault": signal.SIGSEGV}
LIBRARY = f"""{COUNTER}
    extern int raise(int);
    extern void abort(void);
    void end(int number)
    {{
        if (number == {signal.SIGKILL:d})
            raise(number);
        if (number == {signal.SIGABRT:d})
            abort();
        *(volatile int *)0 = 1;
    }}
"""
PROGRAM = """
    import ctypes, os, signal, sys
    library = ctypes.CDLL(sys.argv[1])

    def callback(number):
        return library.end(number)

    function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(callback)

    def outer(number):
        library.walk(6)
        return library.apply(function, number)

    if len(sys.argv) > 3:
        os.kill(os.getppid(), signal.SIGKILL)
    outer(int(sys.argv[2]))
"""


@pytest.mark.parametrize("is_recorder_killed", [False, True])
@pytest.mark.parametrize("end", ENDS)
def test_the_trace_has_the_native_calls(
    fg: Funcgraph, tmp_path: Path, end: str, is_recorder_killed: bool
) -> None:
    """With the recorder killed before, `recover` makes the trace."""
    library = build(tmp_path, LIBRARY, "-Wl,--build-id", language="c", name="libcounter.so")
    words = [str(library), str(int(ENDS[end])), *["killed"] * is_recorder_killed]
    filters = ["-l", "__main__.outer", "-l", "__main__.callback", "-l", "*:mod:libcounter"]
    done = fg.record(*filters, fg.script(PROGRAM), *words, preexec_fn=no_core)
    assert done.returncode == -(signal.SIGKILL if is_recorder_killed else ENDS[end])
    if is_recorder_killed:
        recovered = fg.run("recover", *fg.sessions())
        assert recovered.returncode == 0, recovered.stderr
    assert fg.calls() == {
        "__main__.outer": 1,
        "__main__.callback": 1,
        "walk [libcounter]": 1,
        "step [libcounter]": 8,
        "apply [libcounter]": 1,
        "end [libcounter]": 1,
    }
    lines = [line for line in fg.run("report").stdout.splitlines() if not line.startswith("#")]
    assert [line.split("|", 1)[1].rstrip() for line in lines if line] == [
        "  __main__.outer() {",
        "    walk [libcounter]() {",
        *["      step [libcounter]();"] * 8,
        "    }",
        "    apply [libcounter]() {",
        "      __main__.callback() {",
        "        end [libcounter]() {",
    ]
    assert fg.sessions() == []


def no_core() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
