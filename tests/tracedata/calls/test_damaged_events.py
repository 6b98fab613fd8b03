"""Promise: an event that is damaged is an error of each reader of calls, also an event that is no call.

All read what is whole before it. Broken by taking no notice of a damaged event that is no call: `repeat` and
`exceptions` then answered where `summary` had an error, as if the trace were whole.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tracefile import Trace, head

import funcgraph
from funcgraph import TraceError
from funcgraph.cli import main

pytestmark = pytest.mark.one_python

S = 1_000_000_000
#: What is too short for its event: a print, a wait for the recorder, an overrun, an exit.
TOO_SHORT = {"print": 5, "recorder_wait": 2001, "overrun": 2002, "funcgraph_exit": 10}


@pytest.fixture(params=TOO_SHORT)
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """Return the name of the damaged event, and a trace with it between two calls."""
    trace = Trace(["m.f"])
    task = trace.task(69)
    task.enter(S, 0, 0)
    task.leave(S + 5, 0, 0, calltime=S)
    task.add(S + 9, head(TOO_SHORT[request.param], 69))
    task.enter(S + 10, 0, 0)
    task.leave(S + 15, 0, 0, calltime=S + 10)
    return request.param, trace.save(tmp_path / "trace.dat")


COMMANDS: list[tuple[str, ...]] = [
    ("report", "-i"),
    ("summary", "-i"),
    ("summary", "--longer", "1", "-i"),
    ("report", "--tree", "-i"),
    ("report", "--where", "duration >= 0", "-i"),
    ("repeat", "-i"),
    ("exceptions", "-i"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_damaged_event_is_an_error_of_each_command(
    damaged: tuple[str, Path], words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    name, path = damaged
    assert main([*words, str(path)]) != 0
    assert f"a {name} record is too short" in capsys.readouterr().err


def test_calls_before_the_damage_are_found_by_their_values(
    damaged: tuple[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    name, path = damaged
    assert main(["report", "--where", "duration >= 0.005", "-i", str(path)]) != 0
    out, err = capsys.readouterr()
    assert out.count("m.f();") == 1 and f"a {name} record is too short" in err


READERS: dict[str, Callable[[funcgraph.Trace], object]] = {
    "events": lambda trace: list(trace.events()),
    "calls": lambda trace: list(trace.calls()),
    "columns": lambda trace: list(trace.columns()),
    "call_columns": lambda trace: list(trace.call_columns()),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_damaged_event_is_an_error_of_each_reader(damaged: tuple[str, Path], reader: str) -> None:
    name, path = damaged
    with funcgraph.open(path) as trace, pytest.raises(TraceError, match=f"a {name} record is too short"):
        READERS[reader](trace)
