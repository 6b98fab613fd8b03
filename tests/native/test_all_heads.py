"""Each head of each object of a Python is replaced by a jump to its moved code, and CPython's own tests pass.

This is a hook without a handler: only what the plans say decides whether the program goes on. The jumps are
written from outside, while the program is stopped in a read.
"""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from moved import JUMP, fixed_up
from planned import needs_decoder
from sizes import NIGHTLY

from funcgraph.native.objects import ObjectPlan, Planner
from funcgraph.native.plan_file import PlanEntry

pytestmark = [pytest.mark.one_python, needs_decoder, pytest.mark.timeout(600)]

TESTS = ["test_json", "test_struct", "test_zlib", "test_generators", "test_textwrap"]
if NIGHTLY:
    TESTS += [
        "test_re",
        "test_sqlite3",
        "test_ctypes",
        "test_ssl",
        "test_threading",
        "test_subprocess",
        "test_signal",
    ]
    TESTS += [
        "test_faulthandler",
        "test_datetime",
        "test_hashlib",
        "test_decimal",
        "test_asyncio",
        "test_pickle",
        "test_math",
    ]
_ROOM = 48  # bytes for the moved code of a function, with its jump back; longer ones take more

PROGRAM = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.path.insert(0, TESTS_FOLDER)
import ctypes, sqlite3, ssl, zlib, unittest, hashlib, decimal
from test import support
from moved import place_near
names = sys.argv[1:]
modules = unittest.defaultTestLoader.loadTestsFromNames([f"test.{name}" for name in names])
print("ready", file=answers, flush=True)
regions = [place_near(base, size) for base, size in json.loads(input())]
print(json.dumps(regions), file=answers, flush=True)
input()
result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(modules)
print(json.dumps([result.testsRun, len(result.failures) + len(result.errors)]), file=answers, flush=True)
"""


@contextmanager
def program(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run the program; its messages go to the file "errors"."""
    pytest.importorskip("test.support")
    source = folder / "program.py"
    source.write_text(PROGRAM.replace("TESTS_FOLDER", repr(str(Path(__file__).parent))))
    errors = open(folder / "errors", "w")
    process = subprocess.Popen(
        [sys.executable, "-X", "faulthandler", str(source), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        cwd=folder,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        errors.close()


def ask(process: subprocess.Popen[str], request: Any = None) -> str:
    """Send a line, if there is one to send; return the next line of the program's answers."""
    assert process.stdin is not None and process.stdout is not None
    if request is not None:
        process.stdin.write(f"{json.dumps(request)}\n")
        process.stdin.flush()
    line = process.stdout.readline()
    assert line, f"the program has ended: {process.wait()}"
    return line


def base_of(pid: int, path: str) -> int:
    maps = Path(f"/proc/{pid}/maps").read_text()
    found = re.search(rf"^([0-9a-f]+)-\S+ \S+ 0+ \S+ \d+ +{re.escape(path)}$", maps, re.MULTILINE)
    assert found is not None, path
    return int(found[1], 16)


def stop(process: subprocess.Popen[str]) -> None:
    os.kill(process.pid, signal.SIGSTOP)
    while Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.001)


def hooks(entries: list[PlanEntry], base: int, region: int) -> Iterator[tuple[int, bytes]]:
    """Yield what is to be written where: moved code in the region, and a jump at each head."""
    at = region
    for entry in entries:
        head = base + entry.address + entry.patch
        code = fixed_up(entry, at, base) + JUMP + struct.pack("<Q", head + len(entry.original))
        yield at, code
        yield head, b"\xe9" + struct.pack("<i", at - (head + 5)) + b"\xcc" * (len(entry.original) - 5)
        at += len(code)


def test_everything_works_with_all_heads_moved(tmp_path: Path) -> None:
    with program(tmp_path, *TESTS) as process, closing(Planner()) as planner:
        ask(process)
        plans = [plan for plan in planner.of_process(process.pid) if isinstance(plan, ObjectPlan)]
        entries = [[entry for entry in plan.plan.entries() if entry.original] for plan in plans]
        bases = [_bias(plan, process.pid) for plan in plans]
        sizes = [sum(len(entry.moved) + _ROOM for entry in functions) for functions in entries]
        regions = json.loads(ask(process, list(zip(bases, sizes, strict=True))))
        stop(process)
        with open(f"/proc/{process.pid}/mem", "r+b", buffering=0) as memory:
            for functions, base, region in zip(entries, bases, regions, strict=True):
                for address, data in hooks(functions, base, region):
                    memory.seek(address)
                    memory.write(data)
        os.kill(process.pid, signal.SIGCONT)
        run, failed = json.loads(ask(process, "go"))
        assert failed == 0, (tmp_path / "errors").read_text()[-3000:]
    assert run > 100
    assert sum(map(len, entries)) > 5000


def _bias(plan: ObjectPlan, pid: int) -> int:
    """Return what is between addresses in an object's file and in memory."""
    with open(plan.path, "rb") as file:
        is_fixed = struct.unpack_from("<H", file.read(20), 16)[0] == 2  # ET_EXEC
    return 0 if is_fixed else base_of(pid, plan.path)
