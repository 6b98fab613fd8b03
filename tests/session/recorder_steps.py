"""Runs `funcgraph record` again and again, each in a fork of this process, which has all loaded already.

    python recorder_steps.py

A line of standard input is JSON: {"words": the command line after `funcgraph`, "die_at": a step or ""}. The
answer is the exit status, or the negative number of a signal. At a step of STEPS the recorder is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from funcgraph import cli
from funcgraph.commands import _record_running, _running, record  # noqa: F401  (to have it loaded)
from funcgraph.session.directory import Session
from funcgraph.session.recording import Recording

#: Name -> what is called at that step; "-": after it, not before.
STEPS: dict[str, tuple[Any, str]] = {
    "before the session": (Session, "create"),
    "before the request to join": (_running.RunningProcess, "join"),
    "after the request to join-": (_running.RunningProcess, "join"),
    "while it records": (Recording, "totals"),
    "before the rings end": (Recording, "settle"),
    "after the rings have ended-": (Recording, "settle"),
    "before the request to leave": (_running.RunningProcess, "leave"),
    "before the trace has its name": (Recording, "complete"),
}


def die(*_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def die_after(function: Callable[..., object]) -> Callable[..., object]:
    def called(*args: Any, **keywords: Any) -> NoReturn:
        function(*args, **keywords)
        die()

    return called


def run(words: list[str], die_at: str) -> NoReturn:
    if die_at:
        owner, name = STEPS[die_at]
        setattr(owner, name, die_after(getattr(owner, name)) if die_at.endswith("-") else die)
    os._exit(cli.main(words))


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run(asked["words"], asked["die_at"])
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
