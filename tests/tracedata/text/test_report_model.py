"""The report of random programs equals the output of a slow model in Python."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from funcgraph.tracedata import TraceFile, parse_options
from tracedata.programs import ENDS, FUNCTIONS, STEPS, Program, Step

pytestmark = pytest.mark.one_python

Event = tuple[int, str, int, int, int]
MARKS = ((10**9, "$"), (10**8, "@"), (10**7, "*"), (10**6, "#"), (10**5, "!"), (10**4, "+"))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("report") / "trace.dat"


def duration(nanoseconds: int) -> str:
    mark = next((mark for above, mark in MARKS if nanoseconds > above), " ")
    whole, rest = divmod(nanoseconds, 1000)
    number = f"{whole}.{rest:03}"[:8] if whole < 10**6 else str(whole)
    return f"{mark} {number} us ".ljust(14)


def lines_of(events: list[Event]) -> list[str]:
    """Return the model's lines of one task, or of all tasks."""
    lines: list[str] = []
    done: set[int] = set()
    open_depths: dict[int, dict[int, int]] = {}  # task -> depth -> function that was entered there
    for place, (task, what, function, depth, took) in enumerate(events):
        if place in done:
            continue
        name, blank = FUNCTIONS[function], " " * 14
        entered = open_depths.setdefault(task, {})
        ends = "" if what == "return" else what
        if what == "wait":
            column, text = duration(took), "/* waited for the recorder */"
        elif what in ("call", "resume"):
            next_place = next((i for i in range(place + 1, len(events)) if events[i][0] == task), None)
            follower = events[next_place] if next_place is not None else (task, "", 0, 0, 0)
            resumed = "resumed" if what == "resume" else ""
            if follower[1] in ENDS.values() and follower[2:4] == (function, depth):
                done.add(next_place or 0)
                parts = [part for part in (resumed, "" if follower[1] == "return" else follower[1]) if part]
                column, text = (
                    duration(follower[4]),
                    f"{name}();" + (f" /* {' '.join(parts)} */" if parts else ""),
                )
            else:
                entered[depth] = function
                column, text = blank, f"{name}() {{" + (f" /* {resumed} */" if resumed else "")
        else:
            known = entered.pop(depth, None) == function
            parts = [part for part in ("" if known else name, ends) if part]
            column, text = duration(took), "}" + (f" /* {' '.join(parts)} */" if parts else "")
        task_name = f"t{task}-{100 + task}".center(14)
        lines.append(f"{task_name} | {column}|  {'  ' * depth}{text}")
    return lines


@settings(max_examples=400, deadline=None)
@given(steps=STEPS)
def test_the_text_is_the_models(scratch: Path, steps: list[Step]) -> None:
    program = Program(steps)
    program.trace.save(scratch)
    out = b"".join(TraceFile(scratch).report(parse_options(["funcgraph-proc"]))).decode()
    assert out.splitlines()[4:] == lines_of(program.events)
