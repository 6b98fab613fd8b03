"""A page that holds what it shows, and needs no server: `funcgraph view --export`, `funcgraph export html`.

browser/export/ has what answers there in the server's place; embedded_trace.js reads what is packed here.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from funcgraph.page.bundle import one_page
from funcgraph.version import installed_version

__all__ = ["embedded_page", "page_head"]

_REPLACED = {
    "base/api.js": "export/embedded_api.js",
    "views/answer_views.js": "export/embedded_answers.js",
}


def page_head(
    trace: Mapping[str, Any],
    functions: Sequence[Mapping[str, Any]],
    tree: Iterable[Sequence[int]],
    *,
    has_times: bool,
    **more: Any,
) -> dict[str, Any]:
    """Return what a page has besides columns: here that of one without a time line.

    Args:
        trace: its row (rows.py), with its name alone as its path.
        functions: their rows, each at the place of its number.
        tree: the rows of the merged call tree, by these numbers.
        has_times: whether its times are times.
        more: what else the page has: lanes, runs, marks, values, ... by the names below.
    """
    return {
        "version": installed_version(),
        "trace": trace,
        "file": _encodable(trace["path"]),
        "has_times": has_times,
        "lanes": [],
        "runs": [],
        "links": {},
        "suspending": [],
        "coroutines": [],
        "call_lanes": [],
        "functions": functions,
        "groups": [],
        "histograms": {},
        "limits": {},
        "waiting": [],
        "marks": [],
        "sources": {},
        "tree": [*tree],
        "values": [],
        **more,
    }


def embedded_page(
    head: Mapping[str, Any], columns: Iterable[bytes] = (), *, title: str, first: str = ""
) -> str:
    """Return a page.

    Args:
        head: as `page_head` returns it.
        columns: those of its lanes and runs, in their order.
        title: of the page.
        first: what it shows first, as the fragment of a page's address: `tab=flame`.
    """
    text = json.dumps(head, allow_nan=False, separators=(",", ":")).encode("ascii")
    data = zlib.compress(len(text).to_bytes(4, "little") + text + b"".join(columns), 6)
    return one_page(_REPLACED, _encodable(title), base64.b64encode(data).decode(), first)


def _encodable(text: str) -> str:
    """Return a text in which bytes of a path that are no UTF-8 are escaped."""
    return text.encode("utf-8", "backslashreplace").decode()
