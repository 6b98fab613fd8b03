"""While a request is dealt with, the GIL changes hands quickly; afterwards as the program has set it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from served import SERVE, served

from funcgraph.control import server
from funcgraph.control.turns import with_short_gil_turns

_SHORT_S, _OWN_S = 0.001, 0.02


@pytest.fixture(autouse=True)
def _interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(_OWN_S)
    yield
    sys.setswitchinterval(before)


def test_the_setting_is_back_at_the_end() -> None:
    assert with_short_gil_turns(sys.getswitchinterval)() < _SHORT_S
    assert sys.getswitchinterval() == pytest.approx(_OWN_S)


def test_the_setting_is_back_after_an_exception() -> None:
    with pytest.raises(ZeroDivisionError):
        with_short_gil_turns(lambda: 1 // 0)()
    assert sys.getswitchinterval() == pytest.approx(_OWN_S)


def test_what_the_program_sets_meanwhile_stays() -> None:
    with_short_gil_turns(sys.setswitchinterval)(0.5)
    assert sys.getswitchinterval() == pytest.approx(0.5)


def test_a_program_with_shorter_turns_keeps_them() -> None:
    sys.setswitchinterval(1e-5)
    assert with_short_gil_turns(sys.getswitchinterval)() == pytest.approx(1e-5)
    assert sys.getswitchinterval() == pytest.approx(1e-5)


def test_one_in_another_restores_the_programs_setting() -> None:
    assert with_short_gil_turns(with_short_gil_turns(sys.getswitchinterval))() < _SHORT_S
    assert sys.getswitchinterval() == pytest.approx(_OWN_S)


def test_requests_are_handled_in_short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(server, "_begin", lambda: seen.append(sys.getswitchinterval()))
    server.handle(-1, None)
    assert seen[0] < _SHORT_S
    assert sys.getswitchinterval() == pytest.approx(_OWN_S)


_KEEPS_THE_LOCK = f"{SERVE}; sys.stdin.readline(); sys.setswitchinterval(1000)\nwhile True: pass"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="it leaves pending calls of other threads for later")
def test_a_busy_main_thread_gives_way_at_once(tmp_path: Path) -> None:
    """Waiting for its turn, a request would be answered after a quarter of an hour."""
    with served(tmp_path, _KEEPS_THE_LOCK) as program, program.connect() as process:
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
