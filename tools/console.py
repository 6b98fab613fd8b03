"""Running commands and saying so."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.layout import ROOT


class CommandFailedError(Exception):
    """A command that had to succeed did not. `log` is the file that holds its output, if one does."""

    def __init__(self, command: Sequence[str], status: int, log: Path | None = None) -> None:
        self.command, self.status, self.log = list(command), status, log
        where = f"; its output is in {shown(log)}" if log else ""
        super().__init__(f"exit status {status} from: {shlex.join(self.command)}{where}")


def shown(path: Path) -> str:
    """Return `path` as a person in the project's folder would type it."""
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)


def print_message(text: str = "") -> None:
    """Print a line now, also into a pipe."""
    print(text, flush=True)


def heading(text: str) -> None:
    """Print a line that begins a part."""
    print_message(f"\n== {text}")


def run(
    command: Sequence[str | Path],
    *,
    log: Path | None = None,
    env: Mapping[str, str] | None = None,
    check: bool = True,
    cwd: Path = ROOT,
) -> int:
    """Run `command` in the project's folder and return its exit status.

    With `log` its output goes to that file, otherwise to ours. `env` is added to the environment.
    Raises CommandFailedError when `check` and the status is not 0.
    """
    words = [str(word) for word in command]
    environment = {**os.environ, **(env or {})}
    if log is None:
        sys.stdout.flush()
        status = subprocess.run(words, cwd=cwd, env=environment, stdin=subprocess.DEVNULL).returncode
    else:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as file:
            file.write(f"$ {shlex.join(words)}\n".encode())
            file.flush()
            status = subprocess.run(
                words,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            ).returncode
    if check and status != 0:
        raise CommandFailedError(words, status, log)
    return status


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Lay out `rows` (the first is the head) in columns; those in `right` are aligned to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for number, row in enumerate(rows):
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    return "\n".join(lines)


class Stopwatch:
    """Seconds since it was made."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._start

    def __str__(self) -> str:
        return f"{self.seconds:.0f} s"
