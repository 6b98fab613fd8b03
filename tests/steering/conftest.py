"""Fixtures: this process as one that can be steered, and the verbs on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from local import LocalRemote

import funcgraph
from funcgraph import cli
from funcgraph.commands import _processes
from funcgraph.instance.boot import TOP
from funcgraph.steering.folder import Process

Verb = Callable[..., str]


@pytest.fixture
def remote() -> Iterator[LocalRemote]:
    """Return the tracefs of this process. Afterwards it has neither instances nor events nor errors."""
    remote = LocalRemote()
    yield remote
    for instance in list(funcgraph.instances().values()):
        instance.close()
    for file in ("dynamic_events", "error_log"):
        remote.write_text(file, "")
    funcgraph.instances()[TOP].close()


@pytest.fixture
def process(remote: LocalRemote) -> Process:
    """Return this process as one that can be steered."""
    return Process(os.getpid(), remote)


@pytest.fixture
def verb(process: Process, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Verb:
    """Return a function that runs `funcgraph WORDS...` on this process, and returns what it prints."""

    def run(*words: str, status: int = 0) -> str:
        capsys.readouterr()
        assert cli.run([*words]) == status, capsys.readouterr().err
        return capsys.readouterr().out

    monkeypatch.setattr(_processes, "_running", lambda: [os.getpid()])
    monkeypatch.setattr(_processes, "_connect", lambda pid: process)
    return run


@pytest.fixture
def top(process: Process) -> funcgraph.Instance:
    """Return the top instance."""
    process.instance().read("current_tracer")  # which makes it
    return funcgraph.instances()[TOP]
