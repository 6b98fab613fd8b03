"""Conditions of `funcgraph diff --fail-if`: `[PATTERN:] FIGURE OPERATOR NUMBER`, parsed strictly."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from funcgraph import _engine
from funcgraph.diff.comparison import Compared, Comparison, Measure
from funcgraph.names import did_you_mean, nearest_names, printable

#: figure -> what it is.
FIGURES = {
    "time": "own time of the traced functions: second side / first",
    "total": "total time of a function: second side / first",
    "calls": "calls: second side / first",
    "new": "how many functions only the second side calls",
    "gone": "how many functions only the first side calls",
}
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_WORD = re.compile(r"[^\s<>=!]*")
_OPERATOR = re.compile(r"[<>=!]+")
_NUMBER = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)", re.ASCII)


class ConditionError(ValueError):
    """A text is no condition: the message has a caret below the wrong character. Or it is of no function."""


class Condition(NamedTuple):
    """A condition.

    Attributes:
        text: as it was given.
        pattern: of functions that are looked at one by one; None: all together.
        figure: one of FIGURES.
        operator: as `>`.
        number: what the figure is compared with.
    """

    text: str
    pattern: str | None
    figure: str
    operator: str
    number: float

    def failures(self, comparison: Comparison) -> Iterator[str]:
        """Yield a line for each function, or for the whole, of which it is true.

        With several runs, a ratio counts only if the difference is more than noise.

        Raises:
            ConditionError: no function matches the pattern of a ratio: it would never be true.
        """
        if self.figure in ("new", "gone"):
            count = sum(f.is_new if self.figure == "new" else f.is_gone for f in self._functions(comparison))
            if _OPERATORS[self.operator](count, self.number):
                yield f"{self.text}: {count} functions are {self.figure}"
            return
        rows = [comparison.whole] if self.pattern is None else self._functions(comparison)
        if not rows:
            raise self._of_no_function(comparison)
        for row in rows:
            figure = self._measure(row)
            ratio = figure.ratio
            if ratio is None or figure.verdict == "noise":
                continue
            if _OPERATORS[self.operator](ratio, self.number):
                yield f"{self.text}: {row.name + ': ' if row.name else ''}{self.figure} is {ratio:.3f} times"

    def _functions(self, comparison: Comparison) -> list[Compared]:
        return [
            f
            for f in comparison.functions
            if self.pattern is None or _engine.glob_match(self.pattern, f.name)
        ]

    def _of_no_function(self, comparison: Comparison) -> ConditionError:
        near = nearest_names(self.pattern or "", [f.name for f in comparison.functions])
        hint = f"; similar names: {', '.join(map(printable, near))}" if near else ""
        return ConditionError(f"'{printable(self.text)}': no function of the traces matches{hint}")

    def _measure(self, row: Compared) -> Measure:
        return {"time": row.own_time, "total": row.time, "calls": row.calls}[self.figure]


def parse_condition(text: str) -> Condition:
    """Parse a condition.

    Raises:
        ConditionError: it is none.
    """
    pattern, at = None, 0
    head, colon, _ = text.rpartition(":")
    if colon:
        pattern, at = head.strip(), len(head) + 1
        if not pattern:
            raise _refused(text, 0, "a pattern of functions before ':'")
    at, figure = _take(text, at, _WORD)
    if figure not in FIGURES:
        raise _refused(text, at, f"one of {', '.join(FIGURES)}{did_you_mean(figure, FIGURES)}")
    if figure == "total" and pattern is None:
        raise _refused(
            text,
            at,
            "a pattern of functions before it ('PATTERN: total ...'): totals of callers and callees overlap",
        )
    at, sign = _take(text, at + len(figure), _OPERATOR)
    if sign not in _OPERATORS:
        raise _refused(text, at, f"one of {' '.join(_OPERATORS)}")
    at, number = _take(text, at + len(sign), _NUMBER)
    if not number:
        raise _refused(text, at, "a number, as 1.1")
    end, _ = _take(text, at + len(number), re.compile(""))
    if end < len(text):
        raise _refused(text, end, "the end, or a further --fail-if")
    return Condition(" ".join(text.split()), pattern, figure, sign, float(number))


def _take(text: str, at: int, pattern: re.Pattern[str]) -> tuple[int, str]:
    """Skip blanks. Return where the next word begins, and the word."""
    while at < len(text) and text[at].isspace():
        at += 1
    match = pattern.match(text, at)
    return at, match[0] if match else ""


def _refused(text: str, at: int, expected: str) -> ConditionError:
    shown = "".join(" " if character.isspace() else character for character in text)
    return ConditionError(f"not a condition\n  {shown}\n  {' ' * at}^\nhere must be {expected}")
