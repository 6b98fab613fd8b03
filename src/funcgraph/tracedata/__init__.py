"""Reading traces: what a trace names, its text, its figures.

from funcgraph.tracedata import TraceFile

trace = TraceFile("trace.fg")
for row in trace.summary():
    print(row.function.name, row.calls, row.self_ns)
"""

from __future__ import annotations

TYPE_CHECKING = False  # as typing's, without importing typing
if TYPE_CHECKING:
    from funcgraph.tracedata.call_columns import CallColumns
    from funcgraph.tracedata.call_index import CallIndex, FunctionCalls, Lane, Mark, Span, SpanColumns
    from funcgraph.tracedata.call_tree import CallTree
    from funcgraph.tracedata.calls import Call
    from funcgraph.tracedata.description import (
        Buffer,
        EventField,
        EventType,
        Function,
        SelectionError,
        Task,
        TraceError,
    )
    from funcgraph.tracedata.events import Columns, Event
    from funcgraph.tracedata.opened import Trace
    from funcgraph.tracedata.option_words import ReportOption, parse_options, report_options
    from funcgraph.tracedata.selection import Selection
    from funcgraph.tracedata.summary import FunctionSummary
    from funcgraph.tracedata.trace_file import TraceFile
    from funcgraph.tracedata.values import FieldValue, PartialValue, Value, decode_values

__all__ = [
    "Buffer",
    "Call",
    "CallColumns",
    "CallIndex",
    "CallTree",
    "Columns",
    "Event",
    "EventField",
    "EventType",
    "FieldValue",
    "Function",
    "FunctionCalls",
    "FunctionSummary",
    "Lane",
    "Mark",
    "PartialValue",
    "ReportOption",
    "Selection",
    "SelectionError",
    "Span",
    "SpanColumns",
    "Task",
    "Trace",
    "TraceError",
    "TraceFile",
    "Value",
    "decode_values",
    "parse_options",
    "report_options",
]

# Where each public name lies. A traced process that reads its own trace needs only some of these modules.
_LAZY = {
    "Buffer": "description",
    "Call": "calls",
    "CallColumns": "call_columns",
    "CallIndex": "call_index",
    "CallTree": "call_tree",
    "Columns": "events",
    "Event": "events",
    "EventField": "description",
    "EventType": "description",
    "FieldValue": "values",
    "Function": "description",
    "FunctionCalls": "call_index",
    "FunctionSummary": "summary",
    "Lane": "call_index",
    "Mark": "call_index",
    "PartialValue": "values",
    "ReportOption": "option_words",
    "Selection": "selection",
    "SelectionError": "description",
    "Span": "call_index",
    "SpanColumns": "call_index",
    "Task": "description",
    "Trace": "opened",
    "TraceError": "description",
    "TraceFile": "trace_file",
    "Value": "values",
    "decode_values": "values",
    "parse_options": "option_words",
    "report_options": "option_words",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
