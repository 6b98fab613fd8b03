"""The figures of events: what one costs a call. Each function of ALL yields rows of the table."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from benchmarks.harness import Bench, Figure, at_most

_HAS_MONITORING = sys.version_info >= (3, 12)
#: Calls; rounds within one process. They are many and short, so that some of them are not disturbed.
_CALLS, _ROUNDS = 10_000, 60
_VIZTRACER_ROUNDS = 20
#: Calls, where instructions are counted. The difference of the two cancels the start-up.
_COUNTED = (20_000, 2_000)
#: What an event adds to a call on 3.12 and later, at most; and its part of what viztracer adds.
_LIMITS_NS = {"record": 110, "hist": 90, "refused": 75}
_ATTRIBUTE_NS = 15
_OF_VIZTRACER = 0.10

_LABELS = {
    "record": "an fprobe event with two ints, into a buffer",
    "hist": "`hist:keys=` on an int",
    "refused": "an event with one int, which its filter refuses",
    "nothing": "an event without values, into a buffer",
    "fault": "an fprobe event with two ints, of which one cannot be fetched",
    "declared": "an event of the program (`funcgraph.trace_event`) with two ints, into a buffer",
    "unwanted": "the same, which nobody wants",
}


def _quickest_ns(bench: Bench, command: list[str]) -> dict[str, float]:
    """Return the nanoseconds of a call in each mode: minima, as disturbances only add time."""
    result = bench.result(command)
    return {mode: min(seconds) / result["calls"] * 1e9 for mode, seconds in result["seconds"].items()}


def _rounds(bench: Bench) -> Iterator[dict[str, float]]:
    """Yield what each mode, and viztracer, adds to a call."""
    words = ("event_calls.py", _CALLS)
    logged = bench.viztracer(*words, _VIZTRACER_ROUNDS, "untraced", options=["--log_func_args"])
    for _ in range(bench.rounds):
        ns = _quickest_ns(bench, bench.plain(*words, _ROUNDS))
        ns["viztracer"] = _quickest_ns(bench, logged)["untraced"]
        yield {mode: value - ns["untraced"] for mode, value in ns.items()}


def _median(rounds: Sequence[Mapping[str, float]], value: Callable[[Mapping[str, float]], float]) -> float:
    return statistics.median(value(one) for one in rounds)


def event_calls(bench: Bench) -> Iterator[Figure]:
    """Measure events on a function, and viztracer on the same calls."""
    rounds = list(_rounds(bench))
    for mode, label in _LABELS.items():
        added = _median(rounds, lambda one, mode=mode: one[mode])  # type: ignore[misc]
        if _HAS_MONITORING and mode in _LIMITS_NS:
            yield at_most(f"{label}: adds", added, _LIMITS_NS[mode], " ns", 0)
        else:
            yield Figure(f"{label}: adds", f"{added:.0f} ns")
    more = _median(rounds, lambda one: one["attribute"] - one["record"])
    yield at_most("an attribute, `a.b`, instead of one of the ints: adds", more, _ATTRIBUTE_NS, " ns", 0)
    viztracer = _median(rounds, lambda one: one["viztracer"])
    yield Figure("the same calls, viztracer --log_func_args: adds", f"{viztracer:.0f} ns")
    ratio = _median(rounds, lambda one: one["record"] / one["viztracer"])
    yield at_most("an fprobe event with two ints: of that", ratio, _OF_VIZTRACER, digits=3)
    elsewhere = _median(rounds, lambda one: one["other"])
    yield Figure("an event on another function (noisy): adds", f"{elsewhere:.1f} ns")


def event_instructions(bench: Bench) -> Iterator[Figure]:
    """Count the instructions (callgrind) that an event adds to a call."""

    def per_call(mode: str) -> float:
        many, few = (bench.instructions(bench.plain("event_calls.py", n, 1, mode)) for n in _COUNTED)
        return (many - few) / (_COUNTED[0] - _COUNTED[1])

    untraced = per_call("untraced")
    for mode in ("record", "attribute", "hist", "refused"):
        yield Figure(f"instructions a call, {mode}: adds", f"{per_call(mode) - untraced:.0f}")
    # 3.11 runs each call through a frame evaluator: no target is for that.
    added = round(per_call("other") - untraced, 1) + 0.0  # no -0.0
    target = "0" if _HAS_MONITORING else ""
    yield Figure(
        "instructions a call, an event on another function: adds",
        f"{added:.1f}",
        target,
        abs(added) < 0.5 if target else None,
    )


ALL: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    "event-calls": event_calls,
    "event-instructions": event_instructions,
}
