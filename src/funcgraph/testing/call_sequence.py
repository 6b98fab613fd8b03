"""Calls: what a test recorded, to be compared with an expectation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from textwrap import dedent
from typing import TYPE_CHECKING, TypeAlias, overload

from funcgraph.answers.expectation import (
    Expectation,
    RecordedCall,
    match_calls,
    names_of,
    parse_expectation,
)
from funcgraph.answers.expectation_text import difference_lines, title_of
from funcgraph.answers.expectation_writing import expectation_text
from funcgraph.answers.trace_check import check_calls

if TYPE_CHECKING:
    from funcgraph.tracedata.description import Task

#: Returns the calls of functions that match patterns, by thread: the outermost ones.
Reader: TypeAlias = Callable[[Sequence[str]], Mapping["Task", list[RecordedCall]]]


class Calls(Sequence[RecordedCall]):
    """Calls of functions in the order of their beginnings, callees after their caller.

    While their recording goes on, they are the calls so far.

        assert calls == '''
            shop.validate
            shop.save(amount=3, ...)
        '''
        assert len(calls.of("shop.save")) == 1
        assert calls.of("save")[0].result == "True"

    `calls == TEXT` compares with an expectation, in the language of docs/guides/expect.md.
    """

    __hash__ = None  # type: ignore[assignment]  # they change while they are recorded

    def __init__(self, read: Reader, functions: Sequence[str] = ("*",)) -> None:
        self._read = read
        self._functions = tuple(functions)

    def of(self, *functions: str) -> Calls:
        """Return only the calls of functions that match: patterns, or names without a dot.

        Compared with an expectation, no other functions are looked at, and all of these are.
        """
        return Calls(self._read, [glob for function in functions for glob in names_of(function)])

    @overload
    def __getitem__(self, place: int) -> RecordedCall: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[RecordedCall]: ...
    def __getitem__(self, place: int | slice) -> RecordedCall | Sequence[RecordedCall]:
        return self._all()[place]

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        """Whether they are what a text expects. ExpectationError: the text is no expectation."""
        if isinstance(other, str):
            return not self.difference(other)
        if isinstance(other, Calls):
            return self._all() == other._all()
        return NotImplemented

    def __repr__(self) -> str:
        return f"<{len(self):,} calls of {' '.join(self._functions)}>"

    def __str__(self) -> str:
        """Return an expectation that these calls meet, to be pasted into a test."""
        threads = self._read(self._functions)
        sections = [("" if len(threads) == 1 else task.name, calls) for task, calls in threads.items()]
        return expectation_text(self._functions, sections)

    def expect(self, expectation: str) -> None:
        """Raise AssertionError, with the first difference, if they are not what a text expects.

        Raises:
            ExpectationError: the text is no expectation.
            SelectionError: several threads made such calls, and the text does not say which one it is about.
        """
        __tracebackhide__ = True
        lines = self.difference(expectation)
        if lines:
            raise AssertionError("\n".join(lines))

    def difference(self, text: str) -> list[str]:
        """Return the lines that show where they first differ from an expectation; []: they meet it."""
        expectation = parse_expectation(dedent(text))
        if self._functions != ("*",):
            expectation = expectation._replace(functions=self._functions)
        threads = self._read(expectation.functions)
        found = check_calls(expectation, threads) if threads else None
        if found:
            return [f"{title_of(found.difference)}:", *difference_lines(found.difference)]
        return [] if threads else _none_of(expectation)

    def _all(self) -> list[RecordedCall]:
        outermost = [call for calls in self._read(self._functions).values() for call in calls]
        return sorted(_with_callees(outermost), key=attrgetter("time_ns"))


def _none_of(expectation: Expectation) -> list[str]:
    """Return the lines that show what an expectation misses where there are no calls."""
    for section in expectation.sections:
        difference = match_calls(section.calls, [])
        if difference:
            return ["no call:", *difference_lines(difference)]
    return []


def _with_callees(calls: Sequence[RecordedCall]) -> Iterator[RecordedCall]:
    waiting = list(reversed(calls))
    while waiting:
        call = waiting.pop()
        yield call
        waiting.extend(reversed(call.children))
