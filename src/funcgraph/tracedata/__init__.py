"""Reading traces: what a trace names, its text, its figures.

from funcgraph.tracedata import TraceFile

trace = TraceFile("trace.fg")
for row in trace.summary():
    print(row.function.name, row.calls, row.self_ns)
"""

from __future__ import annotations

from funcgraph.tracedata.calls import Call
from funcgraph.tracedata.description import Buffer, EventField, EventType, Function, Task, TraceError
from funcgraph.tracedata.events import Columns, Event
from funcgraph.tracedata.opened import Trace
from funcgraph.tracedata.report_options import ReportOption, parse_options, report_options
from funcgraph.tracedata.summary import FunctionSummary
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.tracedata.values import FieldValue, PartialValue, Value, decode_values

__all__ = [
    "Buffer",
    "Call",
    "Columns",
    "Event",
    "EventField",
    "EventType",
    "FieldValue",
    "Function",
    "FunctionSummary",
    "PartialValue",
    "ReportOption",
    "Task",
    "Trace",
    "TraceError",
    "TraceFile",
    "Value",
    "decode_values",
    "parse_options",
    "report_options",
]
