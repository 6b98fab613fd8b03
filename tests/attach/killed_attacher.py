"""An attacher that is killed after each of its calls that change files or the process.

A program, preloaded with kill_at.c: it attaches to one process again and again, in a child that kills itself
one call later each time. After each, the process must be attachable.

    killed_attacher.py LIBRARY PID

It prints a line for each thing that is wrong, and how many children were killed.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import sys

from running import folders

from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in


def attach_and_die(library: ctypes.CDLL, pid: int, call: int) -> int:
    """Attach in a child that kills itself at its `call`-th call; return its wait status."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            library.kill_at(call, 0)
            run_in(pid, "answer = 1", 60)
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]


def main() -> None:
    library, pid = ctypes.CDLL(sys.argv[1]), int(sys.argv[2])
    for call in itertools.count(1):
        status = attach_and_die(library, pid, call)
        if status == 0:
            print(call - 1)
            return
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            print(f"call {call}: the attacher ended with {status:#x}")
        try:
            if run_in(pid, f"answer = {call}", 60) != str(call):
                print(f"call {call}: a wrong answer")
        except AttachError as error:
            print(f"call {call}: {error}")


if __name__ == "__main__":
    before = folders()
    main()
    for left in set(folders()) - set(before):
        print("left:", left)
