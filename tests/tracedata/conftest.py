"""Runs the commands that read traces, in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from funcgraph.cli import main


@dataclass
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Return a function that runs a command line and returns its output and status."""
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*words: object) -> Ran:
        capfd.readouterr()
        status = main([str(word) for word in words])
        return Ran(status, *capfd.readouterr())

    return run
