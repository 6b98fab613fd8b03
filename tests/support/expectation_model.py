"""A slow model of how expectations are matched: each call is an object, and each combination is tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from funcgraph import _engine
from funcgraph.answers.expectation import (
    Difference,
    ExpectationError,
    ExpectedCall,
    RecordedCall,
    named_argument,
    names_of,
    split_arguments,
)


def differs_in(line: ExpectedCall, call: RecordedCall) -> str | None:
    """Return what of a call is not so: `call`, `arguments`, `result`; None: all is, but for its calls."""
    if not any(_engine.glob_match(one, call.function) for one in names_of(line.function)):
        return "call"
    if line.arguments is not None and not _takes(line, call.arguments):
        return "arguments"
    if line.raises and call.ended != "raise":
        return "result"
    if line.result is None:
        return None
    is_kind = call.ended == ("raise" if line.raises else "return")
    return None if is_kind and _engine.glob_match(line.result, call.result) else "result"


def _takes(line: ExpectedCall, text: str) -> bool:
    assert line.arguments is not None
    recorded = [named_argument(one) for one in split_arguments(text)]
    if len(recorded) != len(line.arguments) and not line.more_arguments:
        return False
    values = dict(recorded)
    return all(name in values and _engine.glob_match(value, values[name]) for name, value in line.arguments)


def match_calls(
    expected: Sequence[ExpectedCall | None], calls: Sequence[RecordedCall], most_steps: int | None = None
) -> Difference | None:
    """As funcgraph.answers.expectation.match_calls, slowly."""
    return _Matcher(most_steps).compare(expected, calls, ())


class _Matcher:
    """Runs through calls with all places in the expectation at which they may be.

    A place is an item's number, and how many calls were taken for it so far.
    """

    def __init__(self, most_steps: int | None) -> None:
        self._known: dict[tuple[int, int], bool] = {}
        self._most_steps = math.inf if most_steps is None else most_steps
        self._steps = 0

    def compare(
        self,
        expected: Sequence[ExpectedCall | None],
        calls: Sequence[RecordedCall],
        path: tuple[RecordedCall, ...],
    ) -> Difference | None:
        places = _reached(expected, {(0, 0)})
        for number, call in enumerate(calls):
            self._count(len(places))
            following = {place for one in places for place in self._after(expected, one, call)}
            if not following:
                return self._difference(expected, places, calls, number, path)
            places = _reached(expected, following)
        if any(item == len(expected) for item, _ in places):
            return None
        return self._difference(expected, places, calls, len(calls), path)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > self._most_steps:
            raise ExpectationError("it can be met in too many ways: give its lines narrower counts, or names")

    def _after(
        self, expected: Sequence[ExpectedCall | None], place: tuple[int, int], call: RecordedCall
    ) -> Iterator[tuple[int, int]]:
        """Yield the places after a call."""
        item, count = place
        if item == len(expected):
            return
        one = expected[item]
        if one is None:
            yield place
        elif (one.most is None or count < one.most) and self._is(one, call):
            # Without an upper bound, counts above the lower one are alike.
            yield item, (min(count + 1, one.least) if one.most is None else count + 1)

    def _is(self, one: ExpectedCall, call: RecordedCall) -> bool:
        key = (id(one), id(call))
        if key not in self._known:
            self._known[key] = differs_in(one, call) is None and (
                one.children is None or self.compare(one.children, call.children, ()) is None
            )
        return self._known[key]

    def _difference(
        self,
        expected: Sequence[ExpectedCall | None],
        places: Iterable[tuple[int, int]],
        calls: Sequence[RecordedCall],
        number: int,
        path: tuple[RecordedCall, ...],
    ) -> Difference:
        got = calls[number] if number < len(calls) else None
        candidates = [
            one
            for item, count in sorted(places)
            if item < len(expected)
            and (one := expected[item]) is not None
            and (one.most is None or count < one.most)
        ]
        if got is not None:
            for one in candidates:  # the same call with another inside is nearer than another call
                what = differs_in(one, got)
                if what is None and one.children is not None:
                    inner = self.compare(one.children, got.children, (*path, got))
                    assert inner is not None
                    return inner
            whats = {differs_in(one, got) or "call": one for one in reversed(candidates)}
            for what in ("result", "arguments"):
                if what in whats:
                    return self._at(what, path, calls, number, (whats[what],))
        return self._at("call", path, calls, number, tuple(dict.fromkeys(candidates)))

    @staticmethod
    def _at(
        what: str,
        path: tuple[RecordedCall, ...],
        calls: Sequence[RecordedCall],
        number: int,
        expected: tuple[ExpectedCall, ...],
    ) -> Difference:
        got = calls[number] if number < len(calls) else None
        around = path[-1].time_ns if path else calls[-1].time_ns if calls else 0
        before = tuple(calls[max(number - 2, 0) : number])
        return Difference(
            what,  # type: ignore[arg-type]
            path,
            before,
            expected,
            got,
            around if got is None else got.time_ns,
        )


def _reached(expected: Sequence[ExpectedCall | None], places: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return places, and those that are reached from them without a further call."""
    found = set(places)
    waiting = list(places)
    while waiting:
        item, count = waiting.pop()
        if item == len(expected):
            continue
        one = expected[item]
        if (one is None or count >= one.least) and (item + 1, 0) not in found:
            found.add((item + 1, 0))
            waiting.append((item + 1, 0))
    return found
