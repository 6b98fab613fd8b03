"""The trace as text in the kernel's layout, page by page: only the lines of one page are in memory.

A page is a part of the time. The index tells how many calls begin in one, so a page has about as many lines
wherever it is, and the text before it is never read.
"""

from __future__ import annotations

from collections.abc import Iterator

from funcgraph.tracedata.call_index import Lane
from funcgraph.tracedata.selection import Selection
from funcgraph.tui.cells import plain
from funcgraph.tui.filters import Filters
from funcgraph.tui.listing import PlainLines
from funcgraph.tui.queries import Queries
from funcgraph.view.call_detail import time_text

__all__ = ["ReportPage", "ReportPages"]

_PIXELS = 64  # counting is exact with any number
_MOST_LINES = 10_000
_MOST_CELLS = 4000


class ReportPage(PlainLines):
    """The lines of a part of the time.

    Attributes:
        begin_ns: the first time, on the trace's clock.
        end_ns: the one after the last.
    """

    def __init__(self, begin_ns: int, end_ns: int, header: str, lines: list[str]) -> None:
        super().__init__(*lines)
        self.begin_ns = begin_ns
        self.end_ns = end_ns
        self._header = header

    def heading(self, _cells: int) -> str:
        return self._header


class ReportPages:
    """Makes the pages.

    Args:
        queries: asks about the trace.
        filters: what of it is printed.

    Attributes:
        MOST_CALLS: so many calls begin in a page, at most, if they do not begin at the same time.
    """

    MOST_CALLS = 1000

    def __init__(self, queries: Queries, filters: Filters) -> None:
        self._served = queries.served
        self._pattern = filters.pattern
        served = self._served
        begin, end = filters.part or (0, served.duration_ns + 1)
        self._begin_ns, self._end_ns = served.begin_ns + begin, served.begin_ns + end
        self._lane = None if filters.lane is None else served.lane(filters.lane)
        self._lanes = [self._lane] if self._lane else served.call_lanes()

    def first(self) -> ReportPage:
        """Return the page at the begin."""
        return self._page(self._begin_ns, self._end_after(self._begin_ns))

    def last(self) -> ReportPage:
        """Return the page at the end."""
        return self._page(self._begin_before(self._end_ns), self._end_ns)

    def after(self, page: ReportPage) -> ReportPage | None:
        """Return the page after a page; None: there is none."""
        if page.end_ns >= self._end_ns:
            return None
        return self._page(page.end_ns, self._end_after(page.end_ns))

    def before(self, page: ReportPage) -> ReportPage | None:
        """Return the page before a page; None: there is none."""
        if page.begin_ns <= self._begin_ns:
            return None
        return self._page(self._begin_before(page.begin_ns), page.begin_ns)

    def further(self, page: ReportPage, step: int) -> Iterator[ReportPage]:
        """Yield the pages after a page, or with a `step` of -1 those before it, up to the end."""
        move = self.after if step > 0 else self.before
        while (there := move(page)) is not None:
            page = there
            yield page

    def _calls(self, begin_ns: int, end_ns: int) -> int:
        """Return how many calls begin in a part."""
        index = self._served.index()
        return sum(
            sum(index.spans(lane, begin_ns, end_ns, _PIXELS).count)
            - sum(index.spans(lane, begin_ns, begin_ns + 1, _PIXELS).count)
            for lane in self._lanes
        )

    def _end_after(self, begin_ns: int) -> int:
        """Return the end of a page that begins at a time."""
        least, most = begin_ns + 1, self._end_ns
        if self._calls(begin_ns, most) <= self.MOST_CALLS:
            return most
        while most - least > 1:
            middle = (least + most) // 2
            calls = self._calls(begin_ns, middle)
            if calls > self.MOST_CALLS:
                most = middle
            else:
                least = middle
                if 2 * calls > self.MOST_CALLS:
                    break
        return self._begin_of_call(begin_ns, least)

    def _begin_before(self, end_ns: int) -> int:
        """Return the begin of a page that ends at a time."""
        least, most = self._begin_ns, end_ns - 1
        if self._calls(least, end_ns) <= self.MOST_CALLS:
            return least
        while most - least > 1:
            middle = (least + most) // 2
            calls = self._calls(middle, end_ns)
            if calls > self.MOST_CALLS:
                least = middle
            else:
                most = middle
                if 2 * calls > self.MOST_CALLS:
                    break
        return self._begin_of_call(least, most)

    def _begin_of_call(self, after_ns: int, time_ns: int) -> int:
        """Return a time near a time, but after another one, that divides no call without callees of the lane
        that has most: its line would become two."""
        lane: Lane = max(self._lanes, key=lambda lane: lane.calls)
        span = self._served.index().call_at(lane, time_ns)
        return span.begin_ns if span is not None and span.begin_ns > after_ns else time_ns

    def _page(self, begin_ns: int, end_ns: int) -> ReportPage:
        header = ""
        lines: list[str] = []
        for line in self._report_lines(begin_ns, end_ns):
            if line.startswith("#") and not lines:
                header = line if len(line.split()) > 2 and "|" not in line else header
            elif len(lines) == _MOST_LINES:
                lines.append("(more lines at the same time are left out)")
                break
            else:
                lines.append(plain(line, _MOST_CELLS))
        return ReportPage(begin_ns, end_ns, plain(header), lines or ["(nothing to print here)"])

    def _report_lines(self, begin_ns: int, end_ns: int) -> Iterator[str]:
        served = self._served
        glob = self._pattern if any(c in self._pattern for c in "*?[") else f"*{self._pattern}*"
        select = Selection(
            begin=time_text(served, begin_ns),
            end=time_text(served, end_ns - 1),
            functions=(glob,) if self._pattern else (),
        )
        tasks = None if self._lane is None else [self._lane.task]
        for piece in served.reader().report(tasks=tasks, buffers=served.call_buffers()[:1], select=select):
            yield from piece.decode("utf-8", "backslashreplace").splitlines()
