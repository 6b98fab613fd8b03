"""Fixtures: the small trace, and servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from view.pages import address, browser, opened
from view.servers import Server, small_trace

__all__ = ["address", "browser", "opened"]  # fixtures for the tests of the page


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without the extra there is nothing to test."""
    return None if find_spec("starlette") and find_spec("uvicorn") else True


@pytest.fixture(scope="module")
def trace_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_trace().save(tmp_path_factory.mktemp("view") / "trace.dat")


@pytest.fixture(scope="module")
def server(trace_path: Path) -> Iterator[Server]:
    """A server of the small trace, for a whole file of tests."""
    running = Server(trace_path.parent, (trace_path,))
    yield running
    running.end()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server, which ends with the test."""
    started: list[Server] = []

    def run(*words: object, **settings: Any) -> Server:
        started.append(Server(tmp_path, words, **settings))
        return started[-1]

    yield run
    for one in started:
        one.end()
