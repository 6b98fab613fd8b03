"""What each run of pytest loads: options, the marker, the fixture `calls`. The rest is loaded if it is used.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from funcgraph.testing.call_sequence import Calls

#: How many lines of a graph a report has, if nothing is said.
_LINES = 40
_MARKER = (
    "funcgraph(filter=PATTERNS, args=True): if this test fails, show the end of the function graph of "
    "functions that match; args=False: without arguments and results. The fixture `calls` records them, too."
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("funcgraph", "function graphs of tests")
    group.addoption(
        "--funcgraph",
        metavar="PATTERN",
        nargs="?",
        const="",
        action="append",
        help="show the end of each failing test's function graph, and write the graph to a file. PATTERN, a "
        "glob over module.qualname, chooses functions; may be repeated, or have commas. Default: functions "
        "of the packages in the root folder, its src and its lib, and of the modules loaded from it",
    )
    group.addoption(
        "--funcgraph-slow",
        metavar="N",
        type=int,
        default=0,
        help="the same for the N slowest tests, with where their time went",
    )
    group.addoption(
        "--funcgraph-lines",
        metavar="N",
        type=int,
        default=_LINES,
        help=f"lines of a graph in a report (default: {_LINES}; all with -vv); 0: only the file",
    )
    group.addoption(
        "--funcgraph-dir",
        metavar="DIR",
        help="where the files are written (default: funcgraph in pytest's cache)",
    )
    group.addoption(
        "--funcgraph-redact",
        metavar="WORDS",
        default="",
        help="never record values whose names have one of these words in them: 'password|token'",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Load the rest if an option asks for it."""
    config.addinivalue_line("markers", _MARKER)
    if config.getoption("--funcgraph") is not None or config.getoption("--funcgraph-slow"):
        _load(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Load the rest if a test's marker asks for it."""
    if any(item.get_closest_marker("funcgraph") for item in items):
        _load(config)


def _load(config: pytest.Config) -> None:
    if not config.pluginmanager.has_plugin("funcgraph-graphs"):
        from funcgraph.testing.pytest_graphs import Graphs

        config.pluginmanager.register(Graphs(config), "funcgraph-graphs")


@pytest.fixture
def calls(request: pytest.FixtureRequest) -> Iterator[Calls]:
    """The calls of this test, to be compared: `assert calls == "shop.save(amount=3, ...)"`."""
    from funcgraph.testing.call_record import record_calls
    from funcgraph.testing.call_sequence import Calls
    from funcgraph.testing.choice import choice_of

    functions, args = choice_of(request.node)
    with record_calls(functions, args) as record:
        yield Calls(record.read)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Show where calls differ from an expectation."""
    module = sys.modules.get("funcgraph.testing.call_sequence")
    if op != "==" or module is None or not isinstance(left, module.Calls) or not isinstance(right, str):
        return None
    title, *lines = left.difference(right)
    return [f"calls == expectation: {title}", *lines]
