"""Runs `funcgraph` commands by tests/session/recorder_steps.py: each costs a fork, and no start-up."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import funcgraph

PROGRAM = Path(__file__).resolve().parent.parent / "session" / "recorder_steps.py"


class Recorder:
    """The helper process.

    Attributes:
        errors: what the last command wrote to standard error.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.errors = ""

    def run(self, folder: Path, environment: dict[str, str], *words: str, die_at: str = "") -> int:
        """Run `funcgraph WORDS` and return its status; `die_at`: a step of recorder_steps."""
        assert self._process.stdin is not None and self._process.stdout is not None
        errors = folder / "errors"
        names = {name: environment[name] for name in ("XDG_RUNTIME_DIR", "HOME") if name in environment}
        request = {"words": words, "environment": names, "errors": str(errors), "die_at": die_at}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        status = int(self._process.stdout.readline())
        self.errors = errors.read_text()
        return status


@contextmanager
def recorders() -> Iterator[Recorder]:
    """Run the helper for a block."""
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Recorder(process)
    finally:
        process.communicate()


def calls(trace: Path) -> Counter[str]:
    """Return how many calls of each function a trace has."""
    with funcgraph.open(trace) as opened:
        return Counter(call.function.name for call in opened.calls())


def pids(trace: Path) -> set[int]:
    """Return the processes whose tasks are in a trace."""
    with funcgraph.open(trace) as opened:
        return {call.task.pid for call in opened.calls()}
