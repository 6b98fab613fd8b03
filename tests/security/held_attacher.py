"""An attacher that stops itself after one of its calls that change files or the process.

A program, preloaded with kill_at.c:

    held_attacher.py LIBRARY PID CALL

It prints the user of the process in which its code ran, or why none did; and "held" first if it made that
many calls.
"""

from __future__ import annotations

import ctypes
import os
import sys

from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in

_STOP_AFTER = 2


def main() -> None:
    library, pid, call = ctypes.CDLL(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    os.register_at_fork(after_in_child=lambda: library.kill_at(0, _STOP_AFTER))  # not the helper
    library.kill_at(call, _STOP_AFTER)
    try:
        answer = run_in(pid, "import os; answer = os.geteuid()", 20)
    except AttachError as error:
        answer = str(error)
    print("" if library.kill_at_left() else "held", answer)


if __name__ == "__main__":
    main()
