"""A process that is attached to, recorded and left again and again keeps nothing of it, not one object.

The process counts what it has itself: Python's blocks, and bytes of malloc(). Both are exact without caches:
CPython's cache of attributes keeps up to 4,096 names, and what glibc keeps for a thread (tcache) counts as in
use.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import pytest
from builds import FREES_FUNCTIONS, HAS_GIL
from recorders import recorders
from running import Running
from sizes import GROWTH_ROUNDS

from funcgraph import _engine

_PROGRAM = (
    FREES_FUNCTIONS
    + """
import ctypes, gc, json, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)

class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

library = ctypes.CDLL(None)
if has_info := hasattr(library, "mallinfo2"):
    library.mallinfo2.restype = Info

def count(number, frame):
    for _ in range(2):
        gc.collect()
    for clear in ("_clear_type_cache", "_clear_internal_caches"):
        getattr(sys, clear, int)()
    info = library.mallinfo2() if has_info else Info()
    print(json.dumps([sys.getallocatedblocks(), info.uordblks + info.hblkhd]), flush=True)

def answer(path):
    return len(path)

def work():
    while True:
        answer("a/b")
        time.sleep(0.001)

signal.signal(signal.SIGUSR2, count)
threading.Thread(target=work, daemon=True).start()
ready()
while True:
    time.sleep(1000)
"""
)
_MALLOC = "GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"
_WARM_UP = 3  # modules are loaded, and functions met
_LEAST_CHUNK = 32  # bytes that any malloc() takes
_EVENT = "f:growth/answer __main__.answer%return size=path:len"
_ACTIONS = [
    "record -q -P PID --args --retval --c-calls -o OUT/t.fg -- true",
    f"start -P PID -B growth -e '{_EVENT}' -R hist:keys=size -- true",
    "reset -P PID -a",
    "profile -P PID -- true",
]
if hasattr(_engine, "native_meet") and find_spec("iced_x86"):
    _ACTIONS.append("record -q -P PID -l __main__.* -l *alloc:mod:libc -o OUT/n.fg -- true")
#: Commands of a round; the step at which each of them is killed; and what is done before the first round.
ROUNDS = {
    "stays attached": (_ACTIONS, "", ["attach PID"]),
    "is left": (["attach PID", "detach -P PID"], "", []),
    "recorders are killed": (["record -q -P PID -o OUT/k.fg"], "while it records", []),
}


def counts(program: Running) -> tuple[int, int]:
    """Have the program count."""
    assert program.process.stdout is not None
    program.process.send_signal(signal.SIGUSR2)
    blocks, used = json.loads(program.process.stdout.readline())
    return blocks, used


def middle(numbers: Sequence[int]) -> int:
    """Return the lower median. The module statistics would load one in C, which other tests load later."""
    return sorted(numbers)[(len(numbers) - 1) // 2]


@pytest.mark.parametrize("name", ROUNDS)
def test_a_round_of_actions_leaves_nothing(tmp_path: Path, name: str) -> None:
    commands, die_at, first = ROUNDS[name]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    with recorders() as recorder, Running(_PROGRAM, command=("env", _MALLOC, sys.executable)) as program:

        def run(commands: list[str], die_at: str = "") -> None:
            for text in commands:
                for left in tmp_path.glob("*.part"):
                    left.unlink()
                words = shlex.split(text.replace("PID", str(program.pid)).replace("OUT", str(tmp_path)))
                status = recorder.run(tmp_path, environment, *words, die_at=die_at)
                assert status == (-signal.SIGKILL if die_at else 0), recorder.errors

        run(first)
        seen = []
        for _ in range(_WARM_UP + GROWTH_ROUNDS):
            run(commands, die_at)
            seen.append(counts(program))
    grown = [[now - then for then, now in zip(*pair, strict=True)] for pair in pairwise(seen[_WARM_UP - 1 :])]
    # Without the GIL CPython never frees an interned string.
    least = (1 if HAS_GIL else 2), _LEAST_CHUNK
    # What is met or made once is in a few rounds alone. Some blocks, and chunks of other sizes, come and go:
    # what is lost in each round is lost in all of them, too.
    for growths, leak in zip(zip(*grown, strict=True), least, strict=True):
        is_lost = middle(growths) >= leak and sum(growths) >= leak * GROWTH_ROUNDS
        assert not is_lost, f"objects and bytes after each round: {seen}"
