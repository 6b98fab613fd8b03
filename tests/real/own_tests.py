"""CPython's own tests, run untraced and traced: what differs."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Funcgraph

COUNT = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)
BAD = re.compile(r"^(?:FAIL|ERROR): (.*)$", re.MULTILINE)


@dataclass
class Outcome:
    """The result of one run of a test module."""

    status: int
    tests: int
    bad: set[str]
    text: str


def outcome(
    fg: Funcgraph, *words: str | Path, traced: bool, options: Sequence[str] = (), timeout: int = 900
) -> Outcome:
    """Run a test module, traced or not.

    Args:
        words: what CPython runs.
        options: of `funcgraph record`.
        timeout: in seconds.
    """
    python = [sys.executable, "-X", "faulthandler", *words]
    if traced:
        result = fg.record("-q", *options, *python, timeout=timeout)
    else:
        result = fg.plain(*python, timeout=timeout)
    text = result.stdout + result.stderr
    return Outcome(result.returncode, sum(map(int, COUNT.findall(text))), set(BAD.findall(text)), text)


def check(fg: Funcgraph, *words: str | Path, options: Sequence[str] = (), timeout: int = 900) -> None:
    """Assert that a test module has the same outcome traced and untraced, and that calls were recorded."""
    expected = outcome(fg, *words, traced=False, timeout=timeout)
    assert expected.tests > 0, expected.text[-2000:]
    result = outcome(fg, *words, traced=True, options=options, timeout=timeout)
    assert result.bad == expected.bad, result.text[-4000:]
    assert (result.status, result.tests) == (expected.status, expected.tests), result.text[-4000:]
    assert sum(fg.calls(timeout=timeout).values()) > 1000


def need(name: str) -> None:
    """Skip a test if this CPython has no test module of that name."""
    if importlib.util.find_spec(f"test.{name}") is None:
        pytest.skip(f"this CPython was installed without test.{name}")
