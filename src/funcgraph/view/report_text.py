"""A part of a lane as text, in the kernel's layout."""

from __future__ import annotations

from typing import Any

from funcgraph.tracedata.selection import Selection
from funcgraph.view.call_detail import report_command, time_text
from funcgraph.view.parameters import Parameters
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["text"]

_MAX = 2**32 - 1
_MOST_LINES = 10_000
_MOST_COLUMNS = 2000


def text(served: Served, parameters: Parameters) -> dict[str, Any]:
    """Return the first lines of a part, and the command that prints all of them."""
    lane = served.lane(parameters.integer("lane", 0, _MAX))
    begin_ns, end_ns = served.part(parameters)
    most = parameters.integer("most", 1, _MOST_LINES, 500)
    command = report_command(served, lane, begin_ns, end_ns)
    tasks = served.tasks_of([lane])
    if not tasks:
        raise RequestError(
            404, f"the trace does not describe lane {lane.number}, so it cannot be printed alone"
        )
    select = Selection(begin=time_text(served, begin_ns), end=time_text(served, end_ns))
    pieces = served.reader().report(tasks=tasks, buffers=[lane.task.buffer], select=select)
    lines: list[str] = []
    for piece in pieces:
        lines += piece.decode("utf-8", "backslashreplace").splitlines()
        if len(lines) > most:
            break
    return {
        "lines": [line[:_MOST_COLUMNS] for line in lines[:most]],
        "cut": len(lines) > most,
        "command": command,
    }
