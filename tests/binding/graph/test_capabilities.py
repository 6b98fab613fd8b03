"""Each of funcgraph.capabilities() is what really happens on this Python."""

from __future__ import annotations

import ctypes
import dis
import math
import re
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

import funcgraph
from funcgraph import _engine

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")
ROOT = Path(__file__).parents[3]
HERE = __name__


def traced() -> None:
    pass


def helper() -> Any:
    return sys._getframe(1).f_lasti


def calls_helper() -> Any:
    return helper()


def calls_c() -> float:
    return math.sqrt(4.0)


def several_lines(watch: Callable[[], int]) -> list[int]:
    seen = [watch()]
    seen.append(watch())
    seen.append(watch())
    return seen


def instrumented(function: FunctionType) -> list[str]:
    """Return the names of its instructions that report events now."""
    instructions = dis.get_instructions(function, adaptive=True)
    return [i.opname for i in instructions if i.opname.startswith("INSTRUMENTED_")]


def c_arguments() -> bool:
    found: list[Any] = []

    def entry(trace: Any, ops: Any, regs: Any) -> None:
        try:
            found.append(regs.get_argument(0))
        except (IndexError, RuntimeError):
            found.append(None)

    with funcgraph.registered(funcgraph.FgraphOps(entry, None, filter=["math.sqrt"])):
        assert calls_c() == 2.0
    return found == [4.0]


def exact_nmissed() -> bool:
    def entry(trace: Any, ops: Any, regs: Any) -> None:
        helper()

    ops = funcgraph.FgraphOps(entry, None, filter=[f"{HERE}.traced", f"{HERE}.helper"])
    with funcgraph.registered(ops):
        sys.setprofile(lambda frame, event, argument: None)
        traced()
        sys.setprofile(None)
    return ops.nmissed == 1


def other_threads() -> bool:
    inside, leave = threading.Event(), threading.Event()

    def waits() -> None:
        inside.set()
        leave.wait(30)

    ops = funcgraph.FgraphOps(lambda *args: True, lambda *args: None, filter=["*.waits"])
    with funcgraph.registered(ops):
        thread = threading.Thread(target=waits)
        thread.start()
        try:
            assert inside.wait(30)
            (frame,) = funcgraph.get_ret_stack(task=thread)
            return frame.func.qualname.endswith("waits")
        except RuntimeError:
            return False
        finally:
            leave.set()
            thread.join()


def free_kprobes() -> bool:
    line = several_lines.__code__.co_firstlineno + 2
    thread_state = ctypes.pythonapi.PyThreadState_Get
    thread_state.restype = ctypes.c_void_p

    def calls_a_trace_function() -> int:
        # 3.11: PyThreadState.cframe->use_tracing. Where it is set, each line calls one.
        if sys.version_info >= (3, 12):
            return 0
        cframe = ctypes.c_void_p.from_address(thread_state() + 56).value
        return ctypes.c_uint8.from_address(cframe).value

    several_lines(calls_a_trace_function)
    assert several_lines(calls_a_trace_function) == [0, 0, 0]
    with funcgraph.probed(funcgraph.Kprobe(lambda *args: None, several_lines, line=line)):
        several_lines(calls_a_trace_function)
        pays = any(several_lines(calls_a_trace_function))
        return not pays and len(instrumented(several_lines)) == 1


def free_unselected() -> bool:
    alone = calls_helper()
    with funcgraph.registered(funcgraph.FgraphOps(lambda *args: None, None, filter=[f"{HERE}.traced"])):
        for _ in range(3):
            # 3.11: without the frame evaluator the call is inlined, and f_lasti is beyond its caches.
            is_same = calls_helper() == alone
        return is_same and not instrumented(calls_helper) and not instrumented(helper)


MEASURED = {
    measure.__name__: measure
    for measure in (c_arguments, exact_nmissed, other_threads, free_kprobes, free_unselected)
}


def test_each_capability_has_its_test():
    assert list(funcgraph.capabilities()) == list(MEASURED)


@pytest.mark.parametrize("name", MEASURED)
def test_a_capability_is_what_happens(name: str):
    assert funcgraph.capabilities()[name] is MEASURED[name]()


def test_the_documents_say_the_same():
    """The tables of docs/reference/compatibility.md and docs/reference/c-api.md, and the docstring."""
    page = (ROOT / "docs" / "reference" / "compatibility.md").read_text()
    section = page.partition("## What each Python can tell\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in row.split("|")[1:-1]]
        for row in re.findall(r"^\| `.*", section, re.MULTILINE)
    ]
    column = 2 if sys.version_info < (3, 12) else 4 if sysconfig.get_config_var("Py_GIL_DISABLED") else 3
    meanings = _engine.capability_meanings()
    assert [(row[0].strip("`"), row[1], row[column] == "yes") for row in rows] == [
        (name, meanings[name], there) for name, there in funcgraph.capabilities().items()
    ]
    api = (ROOT / "docs" / "reference" / "api.md").read_text()
    c_api = (ROOT / "docs" / "reference" / "c-api.md").read_text()
    for name, meaning in meanings.items():
        assert f"- {name}: {meaning}." in api
        assert f"| `{name}` | " in c_api


def test_status_prints_them():
    done = subprocess.run([sys.executable, "-m", "funcgraph", "status"], capture_output=True, text=True)
    for name, there in funcgraph.capabilities().items():
        meaning = _engine.capability_meanings()[name]
        assert f"  {name}: {'yes' if there else 'no'} ({meaning})\n" in done.stdout
