"""The answers about random traces, against a slow version that keeps every call as an object."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import TRACE_EXAMPLES
from valued_calls import NAMES, STEPS, Call, Run, Step

import funcgraph
from funcgraph import answers

pytestmark = pytest.mark.one_python

LEAST = 2


def groups_of(run: Run, function: int) -> dict[str, list[int]]:
    """Return calls, raised and total time of the ended calls of a function by their argument."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for call in run.calls:
        if call.function == function:
            row = found[str(call.argument)]
            row[0] += 1
            row[1] += call.raised is not None
            row[2] += call.ran if call.ended else 0
    return dict(found)


def repeated(run: Run) -> Counter[tuple[str, str]]:
    """Return how many calls of a function are repeated below calls of another one."""
    results: dict[tuple[int, int], set[int]] = defaultdict(set)
    counts: Counter[tuple[str, str]] = Counter()

    def visit(call: Call) -> Counter[tuple[int, int]]:
        below: Counter[tuple[int, int]] = Counter()
        for one in call.below:
            below += visit(one)
            below[one.function, one.argument] += 1
        for key, count in list(below.items()):
            if count >= LEAST:
                if len(results[key]) < 2:
                    counts[NAMES[call.function], NAMES[key[0]]] += count
                del below[key]
        return below

    # In the order of the ends, as results are learned.
    for call in run.calls:
        if call.result is not None:
            results[call.function, call.argument].add(call.result)
    for call in run.calls:
        if call.parent is None:
            visit(call)
    return counts


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(steps=STEPS)
def test_values_and_hits_are_those_of_a_slow_count(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """Broken by: a call that is counted twice or not at all, in whatever order calls begin, stop and end."""
    run = Run(steps)
    path = run.trace.save(tmp_path_factory.getbasetemp() / "model.dat")
    with funcgraph.open(path) as trace:
        for number, name in enumerate(NAMES):
            expected = groups_of(run, number)
            found = answers.values(trace, f"m.{name}")
            assert bool(found) == bool(expected)
            shown = {
                group.text: [group.calls, group.raised, group.total_ns]
                for one in found
                for value in one.fields
                if value.name == "n"
                for group in value.groups
            }
            assert shown == expected
        assert hits_of(trace) == expected_hits(run)


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(steps=STEPS)
def test_discarded_results_are_those_of_a_slow_count(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """Broken by: a function of which one result was used; recursion that counts its time twice."""
    run = Run(steps)
    path = run.trace.save(tmp_path_factory.getbasetemp() / "model.dat")
    with funcgraph.open(path) as trace:
        found = answers.repeat(trace, least=LEAST).discarded
    expected = {}
    for number, name in enumerate(NAMES):
        returned = [call for call in run.calls if call.function == number and call.result is not None]
        if len(returned) >= LEAST and all(call.is_discarded for call in returned):
            expected[name] = (len(returned), sum(call.ran for call in returned if not call.is_nested))
    assert {one.function.qualname: (one.results, one.total_ns) for one in found} == expected


def hits_of(trace: funcgraph.Trace) -> dict[str, int]:
    return {one.function.qualname: one.hits for one in answers.repeat(trace, least=LEAST).cacheable}


def expected_hits(run: Run) -> dict[str, int]:
    returned: dict[tuple[int, int], list[int]] = defaultdict(list)
    for call in run.calls:
        if call.result is not None:
            returned[call.function, call.argument].append(call.result)
    hits: Counter[str] = Counter()
    for (function, _), results in returned.items():
        if len(results) > 1 and len(set(results)) == 1:
            hits[NAMES[function]] += len(results) - 1
    return dict(hits)


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(
    steps=st.lists(
        st.builds(
            Step, st.just(0), st.sampled_from(("call", "call", "return")), st.integers(0, 2), st.just(0)
        ),
        max_size=80,
    )
)
def test_repetitions_are_counted_once_below_the_innermost_call(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """Broken by: repetitions that count below each call around them, or below the wrong one."""
    steps = [*steps, *[Step(0, "return", 0, 0)] * len(steps)]
    run = Run(steps)
    path = run.trace.save(tmp_path_factory.getbasetemp() / "model.dat")
    with funcgraph.open(path) as trace:
        found = answers.repeat(trace, least=LEAST).below
    shown = {
        (one.below.qualname, one.function.qualname): one.calls for one in found if one.below and one.function
    }
    assert shown == dict(repeated(run))


@settings(max_examples=TRACE_EXAMPLES, deadline=None)
@given(steps=STEPS)
def test_each_exception_is_counted_once_with_the_calls_that_it_ended(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """Broken by: an exception that is dropped, or one that counts anew in each call that it ends."""
    run = Run(steps)
    path = run.trace.save(tmp_path_factory.getbasetemp() / "model.dat")
    with funcgraph.open(path) as trace:
        found = answers.exceptions(trace)
        all_of_them = [answers.exceptions(trace, number=i + 1).one for i in range(found.count)]
    assert sum(group.count for group in found.groups) == found.count
    ended = Counter(
        frame.function.qualname for one in all_of_them if one for frame in one.frames if frame.function
    )
    assert ended == Counter(NAMES[call.function] for call in run.calls if call.raised)
    new = [
        call for call in run.calls if call.raised and not any(one.raised == call.raised for one in call.below)
    ]
    assert found.count >= len(new)
    for one in all_of_them:
        assert one is not None
        assert (one.fate == "left") == (one.handler is None)
