"""While a request is dealt with, the GIL changes hands quickly; afterwards as the program has set it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from served import SERVE, Served, served

_SHORT_S, _OWN_S = 0.0001, 0.02

_NOTES = f"""\
{SERVE}
from funcgraph.control import entrance
handle, turns, own = entrance.handle, [], None
def first_and_last(*arguments):
    turns.append(sys.getswitchinterval())
    if own:
        sys.setswitchinterval(own)
    answer = handle(*arguments)
    turns.append(sys.getswitchinterval())
    return answer
entrance.handle = first_and_last
for line in sys.stdin:
    exec(line)
    print(*turns[-2:], sys.getswitchinterval(), flush=True)
"""


def _turns(program: Served, statement: str) -> list[float]:
    """Return the turns at the first and the last bytecode of one request, and after it, in seconds."""
    with program.connect(timeout_s=60) as process:
        program.send_line(statement)
        program.line()
        process.stat("trace")
        program.send_line("")
        return [float(word) for word in program.line().split()]


def test_each_bytecode_of_a_request_runs_in_short_turns(tmp_path: Path) -> None:
    """One that ran in the program's turns would give up the GIL, and have it back after such a turn."""
    with served(tmp_path, _NOTES) as program:
        turns = _turns(program, f"sys.setswitchinterval({_OWN_S})")
    assert turns == pytest.approx([_SHORT_S, _SHORT_S, _OWN_S])


def test_a_program_with_shorter_turns_keeps_them(tmp_path: Path) -> None:
    with served(tmp_path, _NOTES) as program:
        assert _turns(program, "sys.setswitchinterval(1e-5)") == pytest.approx([1e-5] * 3)


def test_what_the_program_sets_meanwhile_stays(tmp_path: Path) -> None:
    with served(tmp_path, _NOTES) as program:
        assert _turns(program, "own = 0.5") == pytest.approx([_SHORT_S, 0.5, 0.5])


_KEEPS_THE_LOCK = f"{SERVE}; sys.stdin.readline(); sys.setswitchinterval(1000)\nwhile True: pass"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="it leaves pending calls of other threads for later")
def test_a_busy_main_thread_gives_way_at_once(tmp_path: Path) -> None:
    """Waiting for its turn, a request would be answered after a quarter of an hour."""
    with served(tmp_path, _KEEPS_THE_LOCK) as program, program.connect(timeout_s=60) as process:
        assert process.stat("trace")  # loads what answers
        program.send_line("")
        for _ in range(1000):
            assert process.stat("trace")


_QUEUES = """\
import ctypes, funcgraph, os, sys, threading
from funcgraph.control.client import connect
CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: 0)
go_on = threading.Lock()
go_on.acquire()

def ask():
    with connect(os.getpid()) as process:
        for _ in range(400):
            process.stat("trace")
    print(*{ctypes.pythonapi.Py_AddPendingCall(CALL, None) for _ in range(30)}, flush=True)
    go_on.release()

funcgraph.serve()
print("ready", flush=True)
sys.stdin.readline()
threading.Thread(target=ask).start()
go_on.acquire()
sys.stdin.read()
"""


def test_requests_leave_room_in_the_programs_queue_of_pending_calls(tmp_path: Path) -> None:
    with served(tmp_path, _QUEUES) as program:
        program.send_line("")
        assert program.line() == "0"


_REPORTS = """\
import funcgraph, sys
def work(n):
    return n + 1
funcgraph.serve()
print("ready", flush=True)
for line in sys.stdin:
    work(1)
    print(*sorted(sys.modules), flush=True)
"""


@pytest.mark.one_python
def test_a_client_that_traces_loads_nothing_that_is_not_needed(tmp_path: Path) -> None:
    """Each module costs the program time: those of events, and those that make classes at run time."""
    with served(tmp_path, _REPORTS) as program, program.connect() as process:
        process.write_text("set_ftrace_filter", "*work")
        process.write_text("current_tracer", "function_graph")
        program.send_line("")
        program.line()
        assert "work();" in process.read_text("trace_pipe")
        program.send_line("")
        loaded = set(program.line().split())
    assert "funcgraph.buffer.reading" in loaded
    heavy = {"dataclasses", "inspect", "tempfile", "shutil", "difflib", "funcgraph.boot.parameters"}
    assert not loaded & heavy
    events = {name for name in loaded if name.startswith("funcgraph.events.")}
    assert events == {"funcgraph.events.files"}
