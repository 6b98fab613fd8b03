"""Which code of the interpreter is the loop that executes bytecode, however a compiler has cut it."""

from __future__ import annotations

import ctypes
import itertools
import os
import time

from running import Running

from funcgraph import _inject
from funcgraph.attach.deadline import Deadline
from funcgraph.attach.loop import loop_of
from funcgraph.attach.process import Process
from funcgraph.attach.target import Target, find_target

SPINS = "ready()\nwhile True: pass\n"
#: How much the program executes before each look, in nanoseconds of its own processor time.
EXECUTED = 1_000_000
#: Functions that the loop calls.
CALLEES = ("PyObject_Vectorcall", "PyNumber_Add", "PyObject_GetAttr", "PyErr_SetString", "PyTraceBack_Here")


def parts_of(target: Target) -> list[tuple[int, int]]:
    """Return the parts of the loop, in the order of their addresses."""
    return sorted(loop_of(target))


def pc_after_execution(process: Process) -> int:
    """Return where the program's thread is once it has executed for EXECUTED.

    On a busy machine it may stand in the call that said `ready` for as long as we look.
    """
    clock = ~process.pid << 3 | 2  # the clock of the process's own processor time: clock_getcpuclockid()
    end = time.clock_gettime_ns(clock) + EXECUTED
    while time.clock_gettime_ns(clock) < end:
        time.sleep(0.001)
    return _inject.pc(process.handle, process.pid)


def test_a_thread_that_only_executes_bytecode_is_seen_in_the_loop() -> None:
    """Broken: Debian's compiler has moved nearly all of the loop away from the function's name."""
    with Running(SPINS) as program:
        process = Process(program.pid, Deadline(60))
        parts = parts_of(find_target(process))
        seen = [pc_after_execution(process) for _ in range(20)]
        process.close()
        inside = [pc for pc in seen if any(low <= pc < high for low, high in parts)]
        assert len(inside) > len(seen) // 2, (list(map(hex, seen)), parts)


def test_no_other_function_is_taken_for_the_loop() -> None:
    process = Process(os.getpid(), Deadline(60))
    target = find_target(process)
    parts = parts_of(target)
    assert all(low < high <= following for (low, high), (following, _) in itertools.pairwise(parts))
    for name in CALLEES:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        assert address is not None
        assert target.image.address(name) == address
        assert not any(low <= address < high for low, high in parts), name
    process.close()
