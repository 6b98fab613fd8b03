"""Function graphs in reports of pytest: of tests that fail, and of the slowest ones."""

from __future__ import annotations

import os
import time
from collections.abc import Generator
from typing import Any

import pytest

from funcgraph import _engine
from funcgraph.testing.choice import Choice, check_markers, choice_of, functions_of, option_patterns
from funcgraph.testing.graph_files import GraphFiles
from funcgraph.testing.graph_text import graph_end
from funcgraph.testing.item_recorder import ItemRecorder
from funcgraph.testing.overhead import measure_call
from funcgraph.testing.slow_tests import SlowTest, SlowTests, time_lines

_NO_TERMINAL = 120  # columns of a line where pytest does not write to a terminal
_LEARNED = "funcgraph"  # the attribute of a report
_WIDTH = "funcgraph_width"  # what xdist's controller gives its workers, which have no terminal


class Graphs:
    """The plugin that records tests.

    In a run with processes of its own for tests (xdist, --forked) there is one in each process. What one
    process learns about a test is in the attribute `funcgraph` of its last report, which reaches all others.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        option_patterns(config)  # a wrong one is an error before any test
        self._records_all = config.getoption("--funcgraph") is not None
        self._records_all |= config.getoption("--funcgraph-slow") > 0
        self._limit = None if config.get_verbosity() > 1 else config.getoption("--funcgraph-lines")
        self._recorder = ItemRecorder(config.getoption("--funcgraph-redact"))
        self._files = GraphFiles(config)
        self._slow = SlowTests(config.getoption("--funcgraph-slow"))
        self._is_recorded = self._failed = self._has_graph = False
        self._seconds = self._cost_s = self._all_cost_s = 0.0
        self._tests = self._graphs = self._bytes = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look at what is to be recorded: errors come before the first test."""
        check_markers(session.items)
        if self._records_all and session.items and not self._config.getoption("--collect-only"):
            try:
                self._recorder.open(Choice(functions_of(self._config), True))
            except (OSError, RuntimeError) as error:
                raise pytest.UsageError(f"--funcgraph: {error}") from None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Begin a test."""
        begin = time.perf_counter()
        self._failed = self._has_graph = False
        self._seconds = 0.0
        self._is_recorded = self._records_all or item.get_closest_marker("funcgraph") is not None
        if self._is_recorded:
            self._recorder.begin(choice_of(item))
        self._cost_s = time.perf_counter() - begin

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Look at how a part of a test has ended. What pytest calls to report it is not recorded."""
        self._recorder.pause()
        report = yield
        if not self._is_recorded:
            return report
        begin = time.perf_counter()
        self._seconds += call.duration
        if report.failed:
            self._failed = True
            _engine.untraced(self._add_graph, item, report)
        if call.when == "teardown":
            size = self._recorder.size()
            slow = _engine.untraced(self._slow_test, item) if self._slow.admits(self._seconds) else None
            self._recorder.end()
            if not self._failed and slow is None:
                self._files.remove(item.nodeid)
            cost_s = self._cost_s + time.perf_counter() - begin
            learned = {"cost_s": cost_s, "bytes": size, "graph": self._has_graph, "slow": slow}
            setattr(report, _LEARNED, learned)
        else:
            self._cost_s += time.perf_counter() - begin
            self._recorder.resume()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a process has learned about a test."""
        found: dict[str, Any] | None = getattr(report, _LEARNED, None)
        if found is None:
            return
        self._tests += 1
        self._graphs += found["graph"]
        self._all_cost_s += found["cost_s"]
        self._bytes += found["bytes"]
        if found["slow"] is not None:
            for test in self._slow.add(found["slow"]):
                if not test["failed"]:
                    self._files.discard(test["path"])

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show the slowest tests, and what all this has cost."""
        if self._slow.tests:
            terminalreporter.section(f"funcgraph: slowest tests ({len(self._slow.tests)})")
            for test in self._slow.tests:
                terminalreporter.write_line(f"{test['seconds']:.3f}s {test['nodeid']}", bold=True)
                for line in [*test["lines"], *_commands(test["path"]), ""]:
                    terminalreporter.write_line(line)
        if self._records_all and self._tests:
            terminalreporter.write_line(self._overhead())
            if not self._bytes:
                terminalreporter.write_line(self._nothing_recorded())

    def pytest_unconfigure(self) -> None:
        """End recording."""
        self._recorder.close()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker of xdist the width of the terminal."""
        node.workerinput[_WIDTH] = self._width()

    def _overhead(self) -> str:
        call = measure_call()
        calls = self._bytes / call.size
        seconds = calls * call.seconds + self._all_cost_s
        return (
            f"funcgraph: tests recorded: {self._tests:,} (about {_rounded(calls):,} calls), "
            f"graphs of failing ones: {self._graphs:,}; that took about {seconds:.2f}s"
        )

    def _nothing_recorded(self) -> str:
        patterns = option_patterns(self._config)
        if patterns:
            return f"funcgraph: no call was recorded: no function of these was called: {', '.join(patterns)}"
        return (
            "funcgraph: no call was recorded: no function of the packages and modules in "
            f"{self._config.rootpath}, its src and its lib was called; --funcgraph=PATTERN names others"
        )

    def _add_graph(self, item: pytest.Item, report: pytest.TestReport) -> None:
        """Write the graph to a file, and put its end into the report."""
        trace = self._recorder.trace()
        end = graph_end(trace, self._limit, self._width())
        if not end.total:
            return
        self._has_graph = True
        content = "\n".join([*end.lines, *self._write(item, trace)])
        add = getattr(report.longrepr, "addsection", None)
        if add:  # as part of the failure: in JUnit's files, too
            add(f"funcgraph: {end.title}", content)
        else:
            report.sections.append((f"funcgraph: {end.title}", content))

    def _write(self, item: pytest.Item, trace: bytes) -> list[str]:
        try:
            return _commands(self._files.write(item.nodeid, trace))
        except OSError as error:
            return [f"the graph is in no file: {error}"]

    def _slow_test(self, item: pytest.Item) -> SlowTest | None:
        trace = self._recorder.trace()
        lines = time_lines(trace, self._limit, self._width())
        try:
            path = self._files.write(item.nodeid, trace)
        except OSError:
            return None
        return SlowTest(
            nodeid=item.nodeid, seconds=self._seconds, path=path, lines=lines, failed=self._failed
        )

    def _width(self) -> int | None:
        """Return how long a line may be; None: any."""
        if self._limit is None:
            return None
        given: dict[str, int | None] = getattr(self._config, "workerinput", {})
        if _WIDTH in given:
            return given[_WIDTH]
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        is_known = "COLUMNS" in os.environ or (reporter is not None and reporter.isatty)
        return self._config.get_terminal_writer().fullwidth if is_known else _NO_TERMINAL


def _rounded(number: float) -> int:
    """Return a number with two digits that count."""
    return int(float(f"{number:.1e}"))


def _commands(path: str) -> list[str]:
    """Return the lines that say how to see all of a graph. Each command is a line, to be copied as it is."""
    return ["all of it, as text or in a browser:", f"funcgraph report {path}", f"funcgraph view {path}"]
