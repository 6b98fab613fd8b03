"""Reading traces: what a trace names, its text, its figures.

from funcgraph.tracedata import TraceFile

trace = TraceFile("trace.fg")
for row in trace.summary():
    print(row.function.name, row.calls, row.self_ns)
"""

from __future__ import annotations

from funcgraph.tracedata.description import Function, Task, TraceError
from funcgraph.tracedata.report_options import ReportOption, parse_options, report_options
from funcgraph.tracedata.summary import FunctionSummary
from funcgraph.tracedata.trace_file import TraceFile

__all__ = [
    "Function",
    "FunctionSummary",
    "ReportOption",
    "Task",
    "TraceError",
    "TraceFile",
    "parse_options",
    "report_options",
]
