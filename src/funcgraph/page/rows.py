"""What the page is told of a trace and of its functions, by the server and by a page without one."""

from __future__ import annotations

from typing import Any

from funcgraph.tracedata.description import NATIVE, Function
from funcgraph.tracedata.opened import Trace

__all__ = ["function_row", "trace_row"]


def trace_row(trace: Trace, path: str) -> dict[str, Any]:
    """Return what is told of a trace that is whole and stays as it is.

    Args:
        trace: the trace.
        path: its path, or its name.
    """
    return {
        "number": 0,
        "name": path.rpartition("/")[2],
        "path": path,
        "begin_ns": "0",
        "duration_ns": 0,
        "events": trace.nr_events,
        "calls": None,
        "complete": trace.is_complete,
        "flaw": trace.flaw.text if trace.flaw else None,
        "kernel": trace.is_kernel,
        "clock": trace.clock,
        "command": next((task.process for task in trace.tasks if task.process), ""),
        "time_line": True,
        "state": "ready",
        "progress": 1.0,
        "version": 0,
        "first_ns": 0,
        "growing": False,
        "base": None,
        "message": "",
    }


def function_row(
    function: Function, number: int, calls: int, total_ns: int, *, is_kernel: bool
) -> dict[str, Any]:
    """Return what is told of a function.

    Args:
        function: the function.
        number: by which the page knows it.
        calls, total_ns: its figures in the whole trace.
        is_kernel: it is of a kernel's trace, whose functions have no file.
    """
    is_native = bool(function.flags & NATIVE)
    return {
        "number": number,
        "name": function.name,
        "module": function.module,
        "file": function.file,
        "line": 0 if is_native else function.line,
        "native": is_native,
        "object": function.module if is_native else "",
        "c": not is_native and not function.file and not is_kernel,
        "calls": calls,
        "total_ns": total_ns,
    }
