"""What was seen of a program, untraced and traced, and whether it is the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_SHOWN = 20
#: Tests have no more kinds of outcomes.
_KINDS = 8
#: How long a whole suite may take; traced, with all values, it is some ten times slower.
TIMEOUT_S = 1800
#: Everything that can be recorded of a call.
RECORD = ("record", "--args", "--retval", "--c-calls")


@dataclass(frozen=True)
class Seen:
    """One run.

    Args:
        outcomes: of each test, or the answer to each request.
        status: the exit status.
        seconds: how long it took.
        events: how many were recorded.
        notes: what `record` said of losses and processes, one line each.
    """

    outcomes: Mapping[str, str]
    status: int
    seconds: float = 0.0
    events: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """Two untraced runs against a traced one. `flaky` are the outcomes that differ without a tracer."""

    name: str
    plain: Seen
    traced: Seen
    flaky: tuple[str, ...] = ()
    differences: tuple[str, ...] = field(default=())

    def lines(self) -> list[str]:
        """Return what a person reads of it, the verdict first."""
        plain, traced = self.plain, self.traced
        word = "DIFFERENT" if self.differences else "same"
        kinds = Counter(plain.outcomes.values())
        counts = f"{len(plain.outcomes):,} answers" if len(kinds) > _KINDS else _counted(kinds)
        counts += f", exit status {plain.status}"
        times = f"{traced.events:,} events; {plain.seconds:.1f} s untraced, {traced.seconds:.1f} s traced"
        lines = [f"{word}: {self.name}: {counts}; {times}"]
        lines += [f"  differs untraced, left out: {name}" for name in _first(self.flaky)]
        lines += [f"  {text}" for text in _first(self.differences)]
        lines += [f"  record said: {text}" for text in traced.notes]
        return lines


def _counted(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {kind}" for kind, number in sorted(kinds.items())) or "nothing"


def _first(texts: Sequence[str]) -> list[str]:
    rest = len(texts) - _SHOWN
    return [*texts[:_SHOWN], *([f"... and {rest} more"] if rest > 0 else [])]


def judge(name: str, plain: Sequence[Seen], traced: Seen) -> Verdict:
    """Compare a traced run with the untraced ones, which are there to find what differs by itself."""
    names = sorted({key for seen in (*plain, traced) for key in seen.outcomes})
    flaky = tuple(key for key in names if len({seen.outcomes.get(key) for seen in plain}) > 1)
    differences = []
    if not plain[0].outcomes or plain[0].status == -signal.SIGKILL:
        differences.append(f"nothing was tested: exit status {plain[0].status}")
    for key in names:
        expected, got = plain[0].outcomes.get(key), traced.outcomes.get(key)
        if key not in flaky and expected != got:
            differences.append(f"{key}: {expected or 'missing'} untraced, {got or 'missing'} traced")
    # A flaky test decides the exit status of its run.
    if not flaky and traced.status != plain[0].status:
        differences.append(f"exit status {plain[0].status} untraced, {traced.status} traced")
    return Verdict(name, plain[0], traced, flaky, tuple(differences))


def recorder_notes(text: str) -> tuple[int, tuple[str, ...]]:
    """Return the number of events that `record` counted, and its other lines, from its standard error."""
    lines = [line.removeprefix("funcgraph: ") for line in text.splitlines() if line.startswith("funcgraph: ")]
    counts = [re.match(r"([\d,]+) events? of", line) for line in lines]
    events = sum(int(found[1].replace(",", "")) for found in counts if found)
    ordinary = ("the program waited", "this records more than")
    notes = [
        line for line, found in zip(lines, counts, strict=True) if not found and not line.startswith(ordinary)
    ]
    return events, tuple(notes)


def run(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str]
) -> tuple[int, str, str, float]:
    """Run a command in a folder; return its exit status, both of its streams, and the seconds it took.

    With all that it has started it ends after TIMEOUT_S, with the status of SIGKILL.
    """
    begun = time.monotonic()
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        kill_group(process)
        out, err = process.communicate()
    return process.returncode, out, err, time.monotonic() - begun


def kill_group(process: subprocess.Popen[str]) -> None:
    """Kill a process that leads a session, and all of its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
