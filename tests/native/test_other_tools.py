"""What other tools show of the stack of a program whose native functions are hooked: what they show without.

Each tool looks at the program without hooks first: where it cannot do that, it is not judged.

Broken by hand: with the stubs' frame information off by a word, gdb and py-spy ended in the first hooked
function; without a name that is exported, they showed an address there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from planned import build, needs_decoder

pytestmark = [needs_decoder, pytest.mark.one_python]

PY_SPY = Path(sys.executable).with_name("py-spy")
TRAMPOLINE = "funcgraph_return_trampoline"
#: base and bottom are not hooked; the others are.
LIBRARY = """
    typedef void (*callback)(void);
    static volatile int goes_on = 1;
    #define KEPT __attribute__((noinline))
    KEPT void third(callback call) { if (call) call(); while (!call && goes_on) ; }
    KEPT int second(callback call) { third(call); return goes_on + 1; }
    KEPT int first(callback call) { return second(call) + 1; }
    KEPT int base(callback call) { return first(call) + 1; }
    int bottom(callback call) { return base(call) + 1; }
"""
PROGRAM = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
Callback = ctypes.CFUNCTYPE(None)
def wait():
    print(os.getpid(), flush=True)
    sys.stdin.readline()
def spin():
    print(os.getpid(), flush=True)
    library.bottom(None)
callback = Callback(wait)
def outer():
    library.bottom(callback)
outer() if sys.argv[2] == "wait" else spin()
"""
HOOKED = [word for name in ("first", "second", "third") for word in ("-l", f"{name}:mod:libstack")]


@contextmanager
def running(folder: Path, what: str, hooked: bool) -> Iterator[int]:
    """Yield the process's id while it waits, or spins, within third()."""
    flags = ("-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-fcf-protection=none")
    library = folder / "libstack.so"
    if not library.exists():
        build(folder, LIBRARY, *flags, language="c", name=library.name)
        (folder / "program.py").write_text(PROGRAM)
    record = ["-m", "funcgraph", "record", "-q", "-o", str(folder / "t.fg"), *HOOKED] if hooked else []
    command = [sys.executable, *record, str(folder / "program.py"), str(library), what]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        try:
            yield pid
        finally:
            if what == "spin":
                subprocess.run(["kill", str(pid)], check=True)
            process.communicate("\n", timeout=60)  # to which a process that has ended is no error


def output(*command: str) -> str:
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=120
    ).stdout


def gdb(pid: int) -> list[str]:
    text = output("gdb", "-nx", "-batch", "-p", str(pid), "-ex", "bt")
    return re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) \(", text, re.MULTILINE)


def py_spy(pid: int) -> list[str]:
    text = output(str(PY_SPY), "dump", "--native", "--pid", str(pid))
    return [re.sub(r"^0x\w+$", "?", name) for name in re.findall(r"^    (\S+) \(", text, re.MULTILINE)]


def within(names: list[str]) -> list[str]:
    """Return what lies between third() and the function that calls bottom()."""
    return (
        names[names.index("third") : names.index("bottom") + 2] if {"third", "bottom"} <= set(names) else []
    )


@pytest.mark.parametrize("tool", [gdb, py_spy])
def test_a_debugger_sees_through_hooks(tmp_path: Path, tool: Callable[[int], list[str]]) -> None:
    if shutil.which("gdb" if tool is gdb else PY_SPY) is None:
        pytest.skip(f"{tool.__name__} is not here")
    with running(tmp_path, "wait", hooked=False) as pid:
        plain = tool(pid)
    if not within(plain):
        pytest.skip(f"{tool.__name__} cannot look at a process here")
    with running(tmp_path, "wait", hooked=True) as pid:
        hooked = tool(pid)
    assert within(hooked)[:8] == [
        *("third", TRAMPOLINE, "second", TRAMPOLINE, "first", TRAMPOLINE, "base", "bottom"),
    ]
    assert [name for name in within(hooked) if name != TRAMPOLINE] == within(plain)
    assert hooked[-1] == plain[-1]


def perf(pid: int, folder: Path) -> list[str]:
    """Return the functions of a sample within third(), the innermost first."""
    data = str(folder / "perf.data")
    output(
        *(
            "perf",
            "record",
            "-e",
            "cpu-clock",
            "-F",
            "500",
            "-g",
            "-o",
            data,
            "-p",
            str(pid),
            "--",
            "sleep",
            "1",
        )
    )
    for sample in output("perf", "script", "-i", data, "-F", "ip,sym").split("\n\n"):
        names = [line.split()[1] for line in sample.splitlines() if len(line.split()) > 1]
        if names[:1] == ["third"]:
            return names
    return []


def test_a_sampler_that_follows_frame_pointers_goes_on_below_hooks(tmp_path: Path) -> None:
    """It takes return addresses as they are: a hooked function's is the trampoline's."""
    if shutil.which("perf") is None:
        pytest.skip("perf is not here")
    with running(tmp_path, "spin", hooked=False) as pid:
        plain = perf(pid, tmp_path)
    if "bottom" not in plain:
        pytest.skip("perf cannot sample a process here")
    with running(tmp_path, "spin", hooked=True) as pid:
        hooked = perf(pid, tmp_path)
    end = plain.index("bottom") + 1
    assert TRAMPOLINE in hooked
    assert hooked[:end] == [
        TRAMPOLINE if name in {"second", "first", "base"} else name for name in plain[:end]
    ]
