"""Promise: the slow and typical calls that are found in C are those of a slow model that looks at all calls,
whatever a trace lacks: of random programs, of functions of one name, and of more calls than are looked at."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sizes import TRACE_EXAMPLES
from tracedata.programs import FUNCTIONS, STEPS, Program, Step

import funcgraph
from funcgraph.answers.slow_calls import CallGroup, slow_calls
from funcgraph.tracedata import CallColumns, Selection, SelectionError
from funcgraph.tracedata.opened import Trace

pytestmark = pytest.mark.one_python

OPEN = CallColumns.ENDS.index("open")
OTHER = ("m", "a", "other.py", 7, 0, [])  # another function of the name m.a


class Row(NamedTuple):
    """An outermost call. took: -1: it did not end."""

    number: int
    begin: int
    took: int


def rows_of(trace: Trace, name: str) -> list[Row] | None:
    """Return the calls of the function of a name that takes the most time, in the order of their ends. None:
    it has no call."""
    took: Counter[int] = Counter()
    rows: list[tuple[int, Row]] = []
    for batch in trace.call_columns(select=Selection(functions=(name,))):
        for place, function in enumerate(batch.function):
            begin, duration = batch.begin_ns[place], batch.duration_ns[place]
            is_finished = batch.ended[place] != OPEN and duration >= 0
            took[function] += duration if is_finished else 0
            if not batch.parent[place]:
                row = Row(batch.id[place], begin, batch.end_ns[place] - begin if is_finished else -1)
                rows.append((function, row))
    if not took:
        return None
    most = max(took, key=lambda function: took[function])
    return [row for function, row in rows if function == most]


def spread(rows: list[Row], most: int) -> list[Row]:
    return rows[:: -(-len(rows) // most) or 1]


def groups_of(rows: list[Row], most_ranked: int) -> list[list[Row]]:
    """Return the slow ones and the typical ones; or those alone."""
    ranked = sorted(row.took for row in spread(rows, most_ranked))
    slow, low, high = (ranked[len(ranked) * tenths // 10] for tenths in (9, 4, 6))
    if slow <= low:
        slow = high + 1
    groups = [
        [row for row in rows if row.took >= slow],
        [row for row in rows if low <= row.took <= high and row.took < slow],
    ]
    return [group for group in groups if group]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("slow") / "trace.dat"


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(steps=STEPS, has_namesake=st.booleans(), most_ranked=st.integers(1, 20), most_chosen=st.integers(1, 6))
@example([Step(0, what, 3, 1) for what in ("call", "return")] * 2, False, 9, 9)  # both take the same
def test_slow_and_typical_calls_are_those_of_a_slow_model(
    scratch: Path, steps: list[Step], has_namesake: bool, most_ranked: int, most_chosen: int
) -> None:
    written = Program(steps).trace
    if has_namesake:
        written.functions[1] = written.described(OTHER)
    with funcgraph.open(written.save(scratch)) as trace:
        for name in {function.name for function in trace.functions}:
            rows = rows_of(trace, name)
            if rows is None:
                with pytest.raises(SelectionError, match="has no call"):
                    slow_calls(trace, name)
                continue
            found = slow_calls(trace, name, most_ranked=most_ranked, most_chosen=most_chosen)
            finished = [row for row in rows if row.took >= 0]
            assert (found.calls, found.unfinished) == (len(finished), len(rows) - len(finished))
            assert len(found.others) == (has_namesake and name == FUNCTIONS[0])
            if not finished:
                assert (found.longest, found.groups, list(found.begins)) == (None, [], [])
                continue
            longest = max(finished, key=lambda row: row.took)
            assert found.longest is not None
            assert found.longest.number == longest.number
            assert (found.longest.begin_ns, found.longest.end_ns - longest.took) == (longest.begin,) * 2
            groups = groups_of(finished, most_ranked)
            takes = [[row.took for row in group] for group in groups]
            assert found.groups == [CallGroup(len(took), min(took), max(took)) for took in takes]
            chosen = [
                (row.begin, number)
                for number, group in enumerate(groups)
                for row in spread(group, most_chosen)
            ]
            assert list(zip(found.begins, found.numbers, strict=True)) == sorted(chosen)
