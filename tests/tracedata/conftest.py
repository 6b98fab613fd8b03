"""Runs the commands that read traces, in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tracefile import COMPRESSIONS, Trace

from funcgraph.cli import main


@dataclass
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture(params=["6", *COMPRESSIONS])
def each_format(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the test with trace.dat of version 6, and with version 7 in each compression."""
    monkeypatch.setattr(Trace, "format", request.param)


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Return a function that runs a command line and returns its output and status."""
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*words: object) -> Ran:
        capfd.readouterr()
        status = main([str(word) for word in words])
        return Ran(status, *capfd.readouterr())

    return run
