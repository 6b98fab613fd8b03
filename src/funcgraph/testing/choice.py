"""Which functions are recorded of a test: by its marker, else by the option, else those of the project."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pytest

from funcgraph import _tracedata
from funcgraph.testing.own_functions import own_functions


class Choice(NamedTuple):
    """What is recorded of a test.

    Attributes:
        functions: patterns.
        args: arguments and results, too.
    """

    functions: tuple[str, ...]
    args: bool


_OWN = pytest.StashKey[tuple[str, ...]]()


def choice_of(item: pytest.Item) -> Choice:
    """Return what is recorded of a test."""
    marker = item.get_closest_marker("funcgraph")
    given = _checked(marker) if marker else {}
    functions = _patterns(given.get("filter", ())) or functions_of(item.config)
    return Choice(functions, bool(given.get("args", True)))


def functions_of(config: pytest.Config) -> tuple[str, ...]:
    """Return the patterns of the option `--funcgraph`, or of the functions of the project."""
    chosen = option_patterns(config)
    if not chosen and _OWN not in config.stash:
        config.stash[_OWN] = tuple(own_functions(config.rootpath, sys.modules))
    return chosen or config.stash[_OWN]


def option_patterns(config: pytest.Config) -> tuple[str, ...]:
    """Return the patterns of the option `--funcgraph`.

    Raises:
        pytest.UsageError: one is none.
    """
    words = [word for text in config.getoption("--funcgraph") or () for word in text.split(",") if word]
    for word in words:
        if "/" in word or "::" in word or os.path.exists(word):
            raise pytest.UsageError(
                f"--funcgraph {word}: must be a pattern like 'shop.*'; "
                f"for a path after the option write: --funcgraph= {word}"
            )
        _check(f"--funcgraph={word}", word)
    return tuple(words)


def check_markers(items: Iterable[pytest.Item]) -> None:
    """Look at the markers of all tests.

    Raises:
        pytest.UsageError: one has other arguments than it should.
    """
    for item in items:
        for marker in item.iter_markers("funcgraph"):
            try:
                for pattern in _patterns(_checked(marker).get("filter", ())):
                    _check("filter", pattern)
            except (TypeError, pytest.UsageError) as error:
                raise pytest.UsageError(f"{item.nodeid}: marker funcgraph: {error}") from None


def _checked(marker: pytest.Mark) -> Mapping[str, object]:
    if marker.args or not marker.kwargs.keys() <= {"filter", "args"}:
        words = [*map(repr, marker.args), *(f"{name}=" for name in marker.kwargs)]
        raise TypeError(f"got {', '.join(words)}: must be filter=PATTERNS and args=True or False")
    return marker.kwargs


def _patterns(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, (list, tuple, set, frozenset)) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise TypeError(f"filter={value!r}: must be a pattern or a list of patterns")


def _check(name: str, pattern: str) -> None:
    try:
        _tracedata.match_functions(pattern, [])
    except ValueError as error:
        raise pytest.UsageError(f"{name}: {error}") from None
