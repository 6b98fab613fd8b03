"""A program whose recorder is gone, or has asked it to stop, stops tracing for good: no hook is left."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import Funcgraph
from sizes import share

# `look()` waits, without calling a Python function, until funcgraph has no user, and tells what is left.
# Without the GIL it may run while the thread whose call noticed the end still removes the hooks.
LOOK = """
import ctypes, json, os, sys, threading, time

from funcgraph import _engine


def step():
    pass


def numbers():
    while True:
        yield 1


def evaluator():
    api = ctypes.pythonapi
    api.PyInterpreterState_Get.restype = api._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    interp = ctypes.c_void_p(api.PyInterpreterState_Get())
    default = ctypes.cast(api._PyEval_EvalFrameDefault, ctypes.c_void_p).value
    return api._PyInterpreterState_GetEvalFrameFunc(interp) != default


def events():
    own = sys.monitoring
    left = [tool for tool in range(6) if own.get_tool(tool) is not None]
    for tool in range(6):
        own.use_tool_id(tool, "test")  # free_tool_id() of 3.12 and 3.13 leaves events behind
        codes = [step.__code__, numbers.__code__, run.__code__]
        left += [own.get_events(tool), *(own.get_local_events(tool, code) for code in codes)]
        own.free_tool_id(tool)
    return left


def look(users):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        status = _engine.status()
        if len(status["users"]) <= users and (users or status["tool_id"] == -1):
            break
        time.sleep(0.005)
    found = {"users": len(_engine.status()["users"]), "tool_id": _engine.status()["tool_id"]}
    if not users:
        found["hooks"] = evaluator() if sys.version_info < (3, 12) else any(events())
    print(json.dumps(found), flush=True)


stopping = False
"""

CLEAN = {"users": 0, "tool_id": -1, "hooks": False}

# Each is a loop of a thread, and the functions whose calls are recorded.
LOOPS = {
    "calls": ("    while not stopping:\n        step()\n", ["-l", "__main__.step"]),
    "arguments": ("    while not stopping:\n        step()\n", ["-l", "__main__.step", "--args"]),
    "a generator": ("    for one in numbers():\n        if stopping: break\n", ["-l", "__main__.numbers"]),
    "C functions": (
        "    while not stopping:\n        abs(-1)\n",
        ["-l", "__main__.run", "--c-calls", "-n", "time.sleep"],
    ),
}


@contextmanager
def started(fg: Funcgraph, *words: str | Path, **settings: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a recording. The program ends when its standard input does, at the latest after the block."""
    process = fg.start("record", "-q", "-b", "64", *words, **settings)
    try:
        yield process
    finally:
        assert process.stdin is not None
        if not process.stdin.closed:
            process.stdin.close()


def kill_recorder(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Kill the recorder once the program is ready; return what `look()` then finds in the program."""
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait(timeout=30)
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


@pytest.mark.parametrize(
    ("mode", "loop"),
    share([("drop", "calls"), ("overwrite", "calls"), *(("wait", loop) for loop in LOOPS)], of=3),
)
def test_a_killed_recorder_leaves_no_hook_behind(fg: Funcgraph, mode: str, loop: str) -> None:
    """Three threads loop, while the main thread sleeps: only it runs CPython's pending calls."""
    code, options = LOOPS[loop]
    script = fg.script(
        f"{LOOK}\n\ndef run():\n{code}\n\nprint('ready', flush=True)\n"
        "for _ in range(3): threading.Thread(target=run).start()\n"
        "threading.Thread(target=look, args=[0]).start()\n"
        "sys.stdin.readline()\nstopping = True\n"
    )
    with started(fg, *options, *([] if mode == "wait" else [f"--{mode}"]), script) as process:
        assert kill_recorder(process) == CLEAN
        result = fg.run("recover", *fg.sessions())  # while the program still runs
        assert result.returncode == 0, result.stderr
        assert sum(task["records"] for task in fg.summary()["tasks"]) > 0
        assert process.communicate(timeout=30) == ("", "")


def test_other_users_of_the_program_go_on(fg: Funcgraph) -> None:
    script = fg.script(
        f"""{LOOK}

hits = 0

def entry(*_):
    global hits
    hits += 1

def run():
    funcgraph.register_fprobe_syms(funcgraph.Fprobe(entry), ["__main__.step"])
    print("ready", flush=True)
    threading.Thread(target=look, args=[1]).start()
    calls = 0
    while not stopping:
        step()
        calls += 1
    print(hits - calls, flush=True)

import funcgraph
threading.Thread(target=run).start()
sys.stdin.readline()
stopping = True
"""
    )
    with started(fg, "-l", "__main__.step", script) as process:
        assert kill_recorder(process)["users"] == 1
        assert process.communicate(timeout=30) == ("0\n", "")


def test_a_process_that_outlives_its_recording_loses_its_hooks(fg: Funcgraph) -> None:
    fg.script(
        f"{LOOK}\n\ndef run():\n    while not stopping:\n        step()\n\n"
        "threading.Thread(target=run).start()\nthreading.Thread(target=look, args=[0]).start()\n"
        "print('ready', flush=True)\nsys.stdin.readline()\nstopping = True\n",
        "daemon.py",
    )
    script = fg.script(
        """
        import os, subprocess, sys
        subprocess.Popen([sys.executable, "daemon.py"])
        while not os.stat("out").st_size:
            pass
        """
    )
    with open(fg.folder / "out", "w") as out, started(fg, script, stdout=out) as process:
        process.wait(timeout=60)
        lines = wait_for_lines(fg.folder / "out", 2)
        assert json.loads(lines[1]) == CLEAN


def wait_for_lines(path: Path, number: int) -> list[str]:
    deadline = time.monotonic() + 30
    while len(lines := path.read_text().splitlines()) < number:
        assert time.monotonic() < deadline, lines
        time.sleep(0.01)
    return lines


def test_a_child_that_is_not_followed_has_no_hooks(fg: Funcgraph) -> None:
    script = fg.script(
        f"{LOOK}\n\ndef run():\n    while not stopping:\n        step()\n\n"
        "step()\n"
        "if os.fork() == 0:\n"
        "    threading.Thread(target=run).start()\n    look(0)\n    stopping = True\n"
        "else:\n    os.wait()\n"
    )
    result = fg.record("-q", "--no-follow", "-l", "__main__.step", script)
    assert json.loads(result.stdout) == CLEAN
    assert fg.calls()["__main__.step"] == 1
