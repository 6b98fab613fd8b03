"""The first start checks what the engine assumes about CPython's private structures.

If an assumption does not hold, nothing is hooked and the program runs untraced. `_doctor_assumption` makes
the comparison of one row fail and changes nothing else.
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.builds import HAS_GIL

ROOT = Path(__file__).parents[3]
HEADER = (ROOT / "src/arch/cpython/base/assumptions.h").read_text()
NAMES: list[str] = re.findall(r'X\(\w+, "([\w-]+)"', HEADER)


def is_checked_here(name: str) -> bool:
    match name:
        case "gil":
            return False  # checked when the tracer gilwait starts: test_latency.py
        case "objects":
            return False  # checked when an event is made: test_fetch_programs.py
        case "monitoring":
            return sys.version_info >= (3, 12)
        case "collector":
            return sys.version_info < (3, 14) and HAS_GIL
    return True


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def test_there_is_a_row_for_each_structure() -> None:
    assert len(NAMES) == len(set(NAMES)) == 16
    assert {name for name in NAMES if not is_checked_here(name)} <= {
        "gil",
        "monitoring",
        "collector",
        "objects",
    }


@pytest.mark.parametrize("name", NAMES)
def test_assumption_that_does_not_hold_refuses_the_start_and_the_program_goes_on(name: str) -> None:
    if not is_checked_here(name):
        pytest.skip("not checked at start-up on this CPython")
    result = run(f"""
import funcgraph
from funcgraph import _engine

def f(): return 42

_engine._doctor_assumption({name!r})
ops = funcgraph.FgraphOps(lambda *_: True, filter=["__main__.*"])
for attempt in range(2):
    try:
        funcgraph.register_ftrace_graph(ops)
    except RuntimeError as error:
        print(error)
print(f(), _engine.status()["users"], _engine.status()["tool_id"])
""")
    assert result.stderr == ""
    first, second, after = result.stdout.splitlines()
    assert first == second
    assert first.startswith(f"CPython {sys.version.split()[0]} ")
    assert "is not laid out like the CPython 3." in first
    assert "Reinstall funcgraph from source: pip install " in first
    assert f"(assumption '{name}', known from " in first
    assert after == "42 [] -1"


def test_process_of_a_recording_runs_untraced_and_the_recorder_says_why(tmp_path: Path) -> None:
    packages = sysconfig.get_path("platlib")
    code = (
        f"import sys; sys.path.append({packages!r})\n"
        "from funcgraph import _engine\n"
        "_engine._doctor_assumption('frame')\n"
        "import site\n"
        "site.main()\n"
        "print('ran')\n"
    )
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "funcgraph",
            "record",
            "-o",
            str(tmp_path / "trace.fg"),
            sys.executable,
            "-S",
            "-c",
            code,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "ran\n")
    assert re.search(
        r"^funcgraph: process \d+: could not be traced: RuntimeError: CPython .*\(assumption 'frame'",
        result.stderr,
        re.MULTILINE,
    )


def test_unknown_name_is_an_error() -> None:
    result = run("from funcgraph import _engine\n_engine._doctor_assumption('moon phase')")
    assert "ValueError: unknown assumption 'moon phase'" in result.stderr


@pytest.mark.skipif(not HAS_GIL, reason="there is no interpreter lock")
def test_gilwait_refuses_where_the_interpreter_lock_is_laid_out_otherwise() -> None:
    result = run("""
from funcgraph import _engine
_engine._doctor_assumption("gil")
try:
    _engine.latency_start("gilwait")
except OSError as error:
    print(error)
""")
    assert "interpreter lock of this CPython is not laid out as" in result.stdout, result.stderr


def test_functions_of_ours_are_unseen_by_trace_functions_and_leave_the_evaluator_alone() -> None:
    """Also the one that measures where 3.11's evaluator keeps its frame (hook/cframe.c).

    Failed without PyThreadState_EnterTracing in fg_call_unseen(), and when run_function() left its evaluator.
    """
    result = run("""
import ctypes, sys
import funcgraph

def evaluator():
    if sys.version_info >= (3, 12):
        return None
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    api._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
    return api._PyInterpreterState_GetEvalFrameFunc(api.PyInterpreterState_Get())

def note(frame, what, arg):
    seen.add(frame.f_code.co_filename)
    return note

seen = set()
before = evaluator()
ops = funcgraph.FgraphOps(lambda *_: True, filter=["__main__.nothing"])
sys.setprofile(note)
sys.settrace(note)
funcgraph.register_ftrace_graph(ops)
funcgraph.unregister_ftrace_graph(ops)
(lambda: None)()
sys.settrace(None)
sys.setprofile(None)
print("<string>" in seen, "<funcgraph>" in seen, evaluator() == before)
""")
    assert (result.stdout, result.stderr) == ("True False True\n", "")
