"""A trace in a notebook: the summary as text, and the page of `funcgraph view --export` in a frame.

The notebook's file keeps both. A reader that does not trust it, or has no browser, shows the text.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import closing
from functools import cached_property
from html import escape
from typing import Any

from funcgraph.names import printable
from funcgraph.tracedata.description import SelectionError, TraceError
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.summary_text import summary_text, tables_of
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.view.export_page import export_page
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["ShownTrace", "trace_html"]

_MOST_FUNCTIONS = 10
#: Of a page. Jupyter's server drops the output of a kernel that sends more than 3 MB within three seconds.
_MOST_BYTES = 1_400_000
_MOST_EVENTS = 20_000_000  # of a trace with a page: it takes ten seconds then
_LARGE = "the page is not shown: {}; funcgraph view shows a trace that was kept"
_HEIGHT = 640  # pixels


def trace_html(source: str | bytes, name: str, title: str) -> str:
    """Return what a notebook shows of a trace, as HTML.

    Args:
        source: the trace's path, or its bytes.
        name: of the trace, if it has no path.
        title: the first line.
    """
    if isinstance(source, str):
        return ShownTrace(source, title)._repr_html_()
    with tempfile.TemporaryDirectory(prefix="funcgraph-") as folder:
        path = os.path.join(folder, f"{name}.fg")
        with open(path, "wb") as file:
            file.write(source)
        return ShownTrace(path, title)._repr_html_()


class ShownTrace:
    """A trace that a notebook shows. Its texts are made when they are first needed.

    Args:
        path: of the trace.
        title: the first line; "": none.
        notes: the last lines.
    """

    def __init__(self, path: str, title: str = "", notes: Iterable[str] = ()) -> None:
        self.path = path
        self._title = [title] if title else []
        self._notes = list(notes)

    @cached_property
    def summary(self) -> str:
        """The functions with the most time of their own."""
        try:
            trace = TraceFile(self.path)
            tables = tables_of(trace, trace.find_buffers(()), None, fold_imports=True, sort="self")
            text = summary_text(trace, tables, count=_MOST_FUNCTIONS)
        except (OSError, TraceError) as error:
            text = printable(str(error))
        return "\n".join([*self._title, text.rstrip("\n"), *map(printable, self._notes)])

    def __repr__(self) -> str:
        return self.summary

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.summary)

    def _repr_html_(self) -> str:
        page, remarks = self._page()
        text = "\n".join([self.summary, *remarks])
        return _text_html(text) + (_frame_html(page, os.path.basename(self.path)) if page else "")

    def _page(self) -> tuple[str, list[str]]:
        """Return the page, and what it lacks; "": there is none: the trace has no calls, or is too large."""
        try:
            with closing(Served(0, self.path)) as served:
                if served.trace.nr_events > _MOST_EVENTS:
                    return "", [_LARGE.format(f"the trace has {served.trace.nr_events:,} events")]
                page, remarks = export_page(served, Selection(), most_bytes=_MOST_BYTES, first="tab=flame")
        except (OSError, TraceError, SelectionError, RequestError):
            return "", []
        if len(page) > 2 * _MOST_BYTES:  # it has too many functions
            return "", [_LARGE.format(f"it has {len(page) / 1e6:.1f} MB")]
        return page, [f"in the picture, {remark}" for remark in remarks]


def _text_html(text: str) -> str:
    style = (
        "margin: 0 0 0.6em; padding: 0; font-size: 85%; line-height: 1.4; white-space: pre; overflow-x: auto"
    )
    return f'<pre style="{style}">{escape(text)}</pre>\n'


def _frame_html(page: str, title: str) -> str:
    """Return a page in a frame that reaches neither the notebook nor the network."""
    return (
        f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" title="{escape(title)}: calls" '
        f'width="100%" height="{_HEIGHT}" style="border: 0; color-scheme: inherit"></iframe>\n'
    )
