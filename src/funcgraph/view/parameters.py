"""Parameters of a request: each is checked before anything is done with it."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from funcgraph.view.request_error import RequestError

__all__ = ["MOST_TEXT", "MOST_TIME_NS", "Parameters", "rounding_ns"]

#: Longer texts are refused.
MOST_TEXT = 1000
#: A time relative to the begin of a trace: 146 years.
MOST_TIME_NS = 2**62
#: Up to here times are exact in a page, whose numbers are doubles: 104 days.
_EXACT_BITS = 53

_INTEGER = re.compile(r"\d{1,20}", re.ASCII)
_DECIMAL = re.compile(r"\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,2})?", re.ASCII)
_MOST_ITEMS = 1000
_T = TypeVar("_T", bound=str)


def rounding_ns(time_ns: int) -> int:
    """Return by how much a time that a page sends may be too early or too late."""
    return 1 << max(time_ns.bit_length() - _EXACT_BITS, 0) >> 1


class Parameters:
    """The parameters of one request.

    Args:
        items: names with values, decoded.
        known: the names that the request may have.

    Raises:
        RequestError: a name is unknown, or there twice. The methods raise it for a value.
    """

    def __init__(self, items: Sequence[tuple[str, str]], known: Collection[str]) -> None:
        self._values: dict[str, str] = {}
        for name, value in items:
            if name not in known:
                raise RequestError(400, f"unknown parameter {name[:40]!r}: must be one of {', '.join(known)}")
            if name in self._values:
                raise RequestError(400, f"{name} is given twice")
            self._values[name] = value

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def integer(self, name: str, least: int, most: int, default: int | None = None) -> int:
        """Return a whole number. Without a default it must be given."""
        text = self._given(name, default)
        if text is None:
            assert default is not None
            return default
        number = int(text) if _INTEGER.fullmatch(text) else None
        if number is None or not least <= number <= most:
            raise RequestError(
                400, f"{name} must be a whole number from {least} to {most}, got {text[:40]!r}"
            )
        return number

    def renamed(self, names: Mapping[str, str]) -> Parameters:
        """Return others, in which each of these names has the value of another one, if that is given."""
        others = Parameters([], ())
        kept = {name: value for name, value in self._values.items() if name not in names}
        found = {name: self._values[other] for name, other in names.items() if other in self._values}
        others._values = {**kept, **found}
        return others

    def with_value(self, name: str, value: str) -> Parameters:
        """Return others, with one more that no query names."""
        others = self.renamed({})
        others._values[name] = value
        return others

    def without(self, *names: str) -> Parameters:
        """Return others, in which these are not given."""
        return self.renamed(dict.fromkeys(names, ""))

    def time(self, name: str, default: int | None = None) -> int:
        """Return a time or a duration in nanoseconds; a fraction is cut off."""
        text = self._given(name, default)
        if text is None:
            assert default is not None
            return default
        number = float(text) if _DECIMAL.fullmatch(text) else math.nan
        if not 0 <= number <= MOST_TIME_NS:
            raise RequestError(400, f"{name} must be nanoseconds from 0 to 2**62, got {text[:40]!r}")
        return int(text) if _INTEGER.fullmatch(text) else int(number)

    def text(self, name: str, default: str | None = None, most: int = MOST_TEXT) -> str:
        """Return a text of at most so many characters."""
        text = self._given(name, default)
        if text is None:
            assert default is not None
            return default
        if len(text) > most:
            raise RequestError(400, f"{name} must have at most {most:,} characters, got {len(text):,}")
        return text

    def choice(self, name: str, choices: Sequence[_T], default: _T | None = None) -> _T:
        """Return one of several words."""
        text = self._given(name, default)
        found = default if text is None else next((word for word in choices if word == text), None)
        if found is None:
            raise RequestError(400, f"{name} must be one of {', '.join(choices)}, got {str(text)[:40]!r}")
        return found

    def switch(self, name: str, default: bool = False) -> bool:
        """Return a switch, `0` or `1`."""
        return self.choice(name, ("0", "1"), "1" if default else "0") == "1"

    def integers(self, name: str, most: int) -> list[int] | None:
        """Return whole numbers with commas between; None: not given."""
        text = self._values.get(name)
        if text is None:
            return None
        words = text.split(",", _MOST_ITEMS)
        if len(words) > _MOST_ITEMS:
            raise RequestError(400, f"{name} must have at most {_MOST_ITEMS} numbers")
        numbers = [int(word) if _INTEGER.fullmatch(word) else -1 for word in words]
        for number, word in zip(numbers, words, strict=True):
            if not 0 <= number <= most:
                raise RequestError(400, f"{name} must be numbers from 0 to {most}, got {word[:40]!r}")
        return numbers

    def _given(self, name: str, default: object) -> str | None:
        if name not in self._values and default is None:
            raise RequestError(400, f"{name} is missing")
        return self._values.get(name)
