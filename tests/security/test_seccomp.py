"""A process with a filter of system calls is not killed by being attached to."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "attach"))

from running import PROGRAMS, Running  # noqa: E402

from funcgraph import _inject  # noqa: E402
from funcgraph.attach.bpf import FilterError, decision  # noqa: E402
from funcgraph.attach.errors import AttachError  # noqa: E402
from funcgraph.attach.inject import run_in  # noqa: E402
from funcgraph.attach.seccomp import CALLS  # noqa: E402
from funcgraph.attach.serving import attach  # noqa: E402
from funcgraph.control.client import connect  # noqa: E402

KILL, TRAP, REFUSE, ALLOW = 0x80000000, 0x00030000, 0x00050001, 0x7FFF0000
CLONE, CLONE3 = 56, 435
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root reads filters of others")

#: `install(calls, action, otherwise)` adds a filter.
_FILTER = """
import ctypes, struct
def install(calls, action, otherwise):
    code = [(0x20, 0, 0, 0)]
    for call in calls:
        code += [(0x15, 0, 1, call), (0x06, 0, 0, action)]
    code.append((0x06, 0, 0, otherwise))
    text = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in code))
    program = struct.pack("@HP", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program, 0, 0) == 0, ctypes.get_errno()
"""


def _filtered(calls: Any, action: int, otherwise: int, program: str = "sleeping") -> Running:
    return Running(
        f"{_FILTER}\nimport threading\ninstall({calls!r}, {action}, {otherwise})\n{PROGRAMS[program]}"
    )


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel tells nobody about filters, as without CAP_SYS_ADMIN."""

    def refuse(*_: Any) -> bytes:
        raise OSError(errno.EACCES, "not for you")

    monkeypatch.setattr(_inject, "filter", refuse)


@pytest.mark.parametrize("action", [KILL, TRAP, 0])
@pytest.mark.parametrize("call", [CLONE3, CLONE])
@as_root
def test_a_filter_that_kills_for_a_new_thread_is_found_and_the_process_lives(call: int, action: int) -> None:
    with _filtered([call], action, ALLOW) as program:
        name = "clone3" if call == CLONE3 else "clone"
        with pytest.raises(AttachError, match=f"its seccomp filter kills it for {name} when"):
            run_in(program.pid, "answer = 1", 30)
        assert program.end() == (7, "", "")


@as_root
def test_a_filter_that_kills_for_nothing_that_we_do_is_no_obstacle() -> None:
    """As that of a container. Also one that allows nothing but our calls and the program's own."""
    ptrace = 101
    with _filtered([ptrace], KILL, ALLOW) as program:
        assert run_in(program.pid, "answer = 1", 30) == "1"
        assert program.end() == (7, "", "")


@pytest.mark.one_python
@as_root
def test_the_table_of_calls_has_all_that_attaching_and_recording_makes(tmp_path: Path) -> None:
    """A process that may make no others is attached to, steered and recorded, and ends by itself."""
    own = [12, 15, 24, 35, 38, 131, 219, 228, 230, 231]  # memory, signals, sleeps, clocks, exit
    allowed = [number for number, *_ in CALLS.values()] + own
    program = "import time\ndef work(): time.sleep(0.01)\nready()\nwhile True: work()"
    text = f"{_FILTER}\nimport threading\ninstall({allowed!r}, {ALLOW}, {KILL})\n{program}"
    with Running(text) as running:
        assert attach(running.pid, 30)
        with connect(running.pid) as process:
            process.write_text("set_ftrace_filter", "work")
            process.write_text("current_tracer", "function_graph")
            assert "work" in process.read_text("set_ftrace_filter")
            process.write_text("current_tracer", "nop")
        command = [sys.executable, "-m", "funcgraph", "record", "-P", str(running.pid), "-o"]
        done = subprocess.run(
            [*command, str(tmp_path / "t.fg"), "--max-time", "1"], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        assert running.end() == (7, "", "")


@pytest.mark.usefixtures("unread")
def test_a_filter_that_nobody_can_read_is_refused_unless_the_user_says_so() -> None:
    with _filtered([101], KILL, ALLOW) as program:
        line = f"may kill it when .* 'funcgraph attach --ignore-seccomp {program.pid}' tries"
        with pytest.raises(AttachError, match=line):
            run_in(program.pid, "answer = 1", 30)
        assert run_in(program.pid, "answer = 1", 30, ignores_seccomp=True) == "1"
        assert program.end() == (7, "", "")


def test_the_command_says_so_in_one_line_and_takes_the_option() -> None:
    command = [sys.executable, "-m", "funcgraph", "attach"]
    with _filtered([101], KILL, ALLOW) as program:
        # A filter of the attacher's own: the kernel tells it nothing, and it has as many as the process.
        code = f"{_FILTER}\ninstall([], {KILL}, {ALLOW})\ninstall([], {KILL}, {ALLOW})\nimport os, sys\n"
        code += "os.execv(sys.argv[1], sys.argv[1:])"
        words = [sys.executable, "-c", code, *command]
        refused = subprocess.run([*words, str(program.pid)], capture_output=True, text=True)
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1
        assert "may kill it" in refused.stderr
        taken = subprocess.run([*words, "--ignore-seccomp", str(program.pid)], capture_output=True, text=True)
        assert (taken.returncode, taken.stdout) == (0, f"process {program.pid}: attached\n"), taken.stderr
        assert program.end() == (7, "", "")


@pytest.mark.usefixtures("unread")
def test_as_many_filters_as_ours_are_those_of_our_container() -> None:
    code = f"""
{_FILTER}
import subprocess, sys
install([101_000], {KILL}, {ALLOW})
sys.path[:0] = {sys.path!r}
from running import PROGRAMS, Running
from funcgraph.attach.inject import run_in
with Running(PROGRAMS["sleeping"]) as program:
    print(run_in(program.pid, "answer = 1", 30))
    assert program.end() == (7, "", "")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "1\n", done.stderr


def test_strict_seccomp_is_refused() -> None:
    program = "import ctypes\nlibc = ctypes.CDLL(None)\nready()\nlibc.prctl(22, 1, 0, 0, 0)\nwhile True: pass"
    with Running(program) as running:
        while "Seccomp:\t1" not in Path(f"/proc/{running.pid}/status").read_text():
            assert running.process.poll() is None
        with pytest.raises(AttachError, match="strict seccomp"):
            run_in(running.pid, "", 30)
        assert running.process.poll() is None


def _code(*rows: tuple[int, int, int, int]) -> bytes:
    return b"".join(struct.pack("=HBBI", *row) for row in rows)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(0x06, 0, 0, 5)], 5),
        ([(0x20, 0, 0, 0), (0x16, 0, 0, 0)], 7),  # the call's number
        ([(0x20, 0, 0, 16), (0x16, 0, 0, 0)], 11),  # the low half of its first argument
        ([(0x20, 0, 0, 4), (0x16, 0, 0, 0)], 0xC000003E),  # the architecture
        ([(0x80, 0, 0, 0), (0x16, 0, 0, 0)], 64),
        ([(0x00, 0, 0, 3), (0x14, 0, 0, 5), (0x16, 0, 0, 0)], 2**32 - 2),  # 3 - 5
        ([(0x00, 0, 0, 3), (0x02, 0, 0, 1), (0x61, 0, 0, 1), (0x0C, 0, 0, 0), (0x16, 0, 0, 0)], 6),
        ([(0x00, 0, 0, 9), (0x07, 0, 0, 0), (0x00, 0, 0, 0), (0x87, 0, 0, 0), (0x16, 0, 0, 0)], 9),
        ([(0x00, 0, 0, 6), (0x45, 0, 1, 2), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], 1),  # a bit is set
        ([(0x00, 0, 0, 6), (0x25, 0, 1, 6), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], 2),  # not greater
        ([(0x05, 0, 0, 1), (0x06, 0, 0, 1), (0x06, 0, 0, 2)], 2),
    ],
)
def test_filters_decide_as_in_the_kernel(rows: list[tuple[int, int, int, int]], expected: int) -> None:
    assert decision(_code(*rows), 7, [11]) == expected


@pytest.mark.parametrize(
    "rows", [[(0x28, 0, 0, 0)], [(0x05, 0, 0, 9)], [], [(0x94, 0, 0, 1)], [(0x55, 0, 0, 0)]]
)
def test_what_is_no_filter_is_an_error(rows: list[tuple[int, int, int, int]]) -> None:
    with pytest.raises(FilterError):
        decision(_code(*rows), 7)
