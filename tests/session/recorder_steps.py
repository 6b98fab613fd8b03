"""Runs `funcgraph` again and again, each time in a fork of this process, which has loaded all of it already.

A line of standard input is JSON: {"words": the command line, "environment": variables to set, "errors": the
file for standard error, "die_at": a step or ""}. The answer is the exit status, or the negative number of a
signal. At a step of STEPS the recorder is killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from funcgraph import cli
from funcgraph.command_support import (
    record_running,  # noqa: F401  (to have it loaded)
    running,
)
from funcgraph.commands import record  # noqa: F401  (to have it loaded)
from funcgraph.recorder.directory import Session
from funcgraph.recorder.recording import Recording

#: Name -> what is called at that step; "-": after it, not before.
STEPS: dict[str, tuple[Any, str]] = {
    "before the session": (Session, "create"),
    "before the request to join": (running.RunningProcess, "join"),
    "after the request to join-": (running.RunningProcess, "join"),
    "while it records": (Recording, "running"),
    "before the rings end": (Recording, "settle"),
    "before the request to leave": (running.RunningProcess, "leave"),
    "after the request to leave-": (running.RunningProcess, "leave"),
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


def run(words: list[str], environment: dict[str, str], errors: str, die_at: str) -> NoReturn:
    os.environ.update(environment)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)  # standard output is for the answers
    os.dup2(1, 0)
    if die_at:
        owner, name = STEPS[die_at]
        setattr(owner, name, die_after(getattr(owner, name)) if die_at.endswith("-") else die)
    os._exit(cli.main(words))


def main() -> None:
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            run(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
