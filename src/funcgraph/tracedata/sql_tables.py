"""The tables of `funcgraph sql`: a trace as Apache Arrow streams.

Each scan of a table reads the trace from its beginning, batch by batch, so that memory does not grow with its
length. Numbers are the reader's own arrays, without a copy; names are dictionaries over its functions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from funcgraph.tracedata.call_columns import CallColumns
from funcgraph.tracedata.description import TraceError
from funcgraph.tracedata.events import Columns, events_of
from funcgraph.tracedata.selected_events import Named
from funcgraph.tracedata.values import PartialValue

if TYPE_CHECKING:
    from funcgraph.tracedata.events import Event
    from funcgraph.tracedata.selection import Selection

_NAME = pa.dictionary(pa.uint32(), pa.string())
_WORD = pa.dictionary(pa.uint8(), pa.string())

CALLS = pa.schema(
    [
        ("id", pa.int64()),
        ("parent", pa.int64()),
        ("function", _NAME),
        ("task", pa.uint32()),
        ("begin_ns", pa.int64()),
        ("end_ns", pa.int64()),
        ("duration_ns", pa.int64()),
        ("self_ns", pa.int64()),
        ("depth", pa.uint32()),
        ("ended", _WORD),
        ("resumes", pa.uint32()),
        ("arguments", pa.string()),
        ("result", pa.string()),
        ("caller", _NAME),
        ("caller_line", pa.uint32()),
        ("function_id", pa.uint32()),
    ]
)
EVENTS = pa.schema(
    [
        ("time_ns", pa.int64()),
        ("kind", _WORD),
        ("name", pa.string()),
        ("function", _NAME),
        ("task", pa.uint32()),
        ("depth", pa.uint32()),
        ("duration_ns", pa.int64()),
        ("text", pa.string()),
        ("fields", pa.string()),
        ("lost", pa.int64()),
        ("number", pa.int64()),
        ("caller", _NAME),
        ("caller_line", pa.uint32()),
        ("irq", pa.bool_()),
        ("function_id", pa.uint32()),
    ]
)
STACKS = pa.schema(
    [
        ("time_ns", pa.int64()),
        ("task", pa.uint32()),
        ("level", pa.uint32()),
        ("function", pa.string()),
    ]
)
_ENDS = frozenset(map(Columns.KINDS.index, ("return", "raise", "suspend", "close")))
_RARE = frozenset(map(Columns.KINDS.index, ("mark", "event", "other")))
_STACK = Columns.KINDS.index("stack")


class Readable(Named, Protocol):
    """What is read of a trace: `Trace`."""

    def columns(self, *, select: Selection | None = None) -> Iterator[Columns]:
        """Return batches of events."""

    def call_columns(self, *, select: Selection | None = None) -> Iterator[CallColumns]:
        """Return batches of calls."""


class Stream:
    """A table that DuckDB scans: each scan begins at the trace's first event.

    Args:
        schema: its columns.
        batches: begins a scan.
        damaged: is called for damage, after which the scan ends.
    """

    def __init__(
        self,
        schema: pa.Schema,
        batches: Callable[[], Iterator[pa.RecordBatch]],
        damaged: Callable[[TraceError], None],
    ) -> None:
        self._schema, self._batches, self._damaged = schema, batches, damaged

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Begin a scan (the Arrow PyCapsule interface)."""
        reader = pa.RecordBatchReader.from_batches(self._schema, self._whole())
        return reader.__arrow_c_stream__(requested_schema)

    def _whole(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches()
        except TraceError as error:
            self._damaged(error)


class Tables:
    """The tables of one trace.

    Attributes:
        damage: what a scan found wrong with the file; None: nothing so far.
    """

    def __init__(self, trace: Readable, select: Selection | None) -> None:
        self._trace, self._select = trace, select
        self.damage: TraceError | None = None
        names = [_text(function.name) for function in trace.functions]
        self._functions = pa.array([*names, "<unknown>"], pa.string())
        self._callers = pa.array([*names, None], pa.string())
        self._kinds = pa.array(Columns.KINDS, pa.string())
        self._ends = pa.array(CallColumns.ENDS, pa.string())

    def all(self) -> dict[str, Any]:
        """Return the tables by name: what DuckDB can scan."""
        return {
            "functions": self._function_table(),
            "tasks": self._task_table(),
            "call_rows": Stream(CALLS, self._call_batches, self._found_damage),
            "event_rows": Stream(EVENTS, self._event_batches, self._found_damage),
            "stacks": Stream(STACKS, self._stack_batches, self._found_damage),
        }

    def _found_damage(self, error: TraceError) -> None:
        self.damage = error

    # ---- what the trace's description has

    def _function_table(self) -> pa.Table:
        functions = self._trace.functions
        return pa.table(
            {
                "id": pa.array(range(len(functions)), pa.uint32()),
                "name": pa.array([_text(f.name) for f in functions], pa.string()),
                "module": pa.array([_text(f.module) for f in functions], pa.string()),
                "qualname": pa.array([_text(f.qualname) for f in functions], pa.string()),
                "file": pa.array([_text(f.file) for f in functions], pa.string()),
                "line": pa.array([0 if f.size_bytes else f.line for f in functions], pa.int64()),
            }
        )

    def _task_table(self) -> pa.Table:
        trace = self._trace
        tasks = trace.tasks
        return pa.table(
            {
                "id": pa.array(range(len(tasks)), pa.uint32()),
                "name": pa.array([_text(t.name) for t in tasks], pa.string()),
                "pid": pa.array([t.pid for t in tasks], pa.uint32()),
                "tid": pa.array([t.tid for t in tasks], pa.uint32()),
                "process": pa.array([_text(t.process) for t in tasks], pa.string()),
                "instance": pa.array([_text(trace.buffers[t.buffer].name) for t in tasks], pa.string()),
                "first_ns": pa.array([t.first_ns for t in tasks], pa.int64()),
                "last_ns": pa.array([t.last_ns for t in tasks], pa.int64()),
                "records": pa.array([t.records for t in tasks], pa.int64()),
            }
        )

    # ---- what is streamed

    def _call_batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._trace.call_columns(select=self._select):
            functions = _numbers(batch.function, pa.uint32())
            yield pa.RecordBatch.from_arrays(
                [
                    _numbers(batch.id, pa.int64()),
                    _numbers(batch.parent, pa.int64()),
                    _named(functions, self._functions),
                    _numbers(batch.task, pa.uint32()),
                    _numbers(batch.begin_ns, pa.int64()),
                    _numbers(batch.end_ns, pa.int64()),
                    _numbers(batch.duration_ns, pa.int64()),
                    _numbers(batch.self_ns, pa.int64()),
                    _numbers(batch.depth, pa.uint32()),
                    _named(_numbers(batch.ended, pa.uint8()), self._ends),
                    _numbers(batch.resumes, pa.uint32()),
                    _texts(batch.arguments_offsets, batch.arguments),
                    _texts(batch.result_offsets, batch.result),
                    _named(_numbers(batch.caller, pa.uint32()), self._callers),
                    _numbers(batch.caller_line, pa.uint32()),
                    functions,
                ],
                schema=CALLS,
            )

    def _event_batches(self) -> Iterator[pa.RecordBatch]:
        last = len(self._functions) - 1
        for batch in self._trace.columns(select=self._select):
            functions = pc.min_element_wise(
                _numbers(batch.function, pa.uint32()), pa.scalar(last, pa.uint32())
            )
            callers = pc.min_element_wise(_numbers(batch.caller, pa.uint32()), pa.scalar(last, pa.uint32()))
            names, texts, fields = self._rare(batch)
            yield pa.RecordBatch.from_arrays(
                [
                    _numbers(batch.time_ns, pa.int64()),
                    _named(_numbers(batch.kind, pa.uint8()), self._kinds),
                    names,
                    _named(functions, self._callers),
                    _numbers(batch.task, pa.uint32()),
                    _numbers(batch.depth, pa.uint32()),
                    _durations(batch),
                    texts,
                    fields,
                    _numbers(batch.lost, pa.int64()),
                    _numbers(batch.number, pa.int64()),
                    _named(callers, self._callers),
                    _numbers(batch.caller_line, pa.uint32()),
                    pc.cast(_numbers(memoryview(batch.irq).cast("B"), pa.uint8()), pa.bool_()),
                    functions,
                ],
                schema=EVENTS,
            )

    def _rare(self, batch: Columns) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return names, texts and fields (JSON) of a batch's events: few events have them."""
        if not _RARE.intersection(bytes(batch.kind)):
            return (pa.nulls(len(batch), pa.string()),) * 3
        rows = [
            self._rare_row(event)
            for event in events_of(batch, self._trace.functions, self._trace.event_types)
        ]
        names, texts, fields = zip(*rows, strict=True)
        return pa.array(names, pa.string()), pa.array(texts, pa.string()), pa.array(fields, pa.string())

    def _rare_row(self, event: Event) -> tuple[str | None, str | None, str | None]:
        if event.kind == "mark":
            return None, event.payload.decode("utf-8", "backslashreplace"), None
        if event.type is not None:
            return _text(f"{event.type.system}/{event.type.name}"), None, _json(dict(event.fields))
        kernel = self._trace.formats.get(event.number) if event.kind == "other" else None
        if kernel is None:
            return None, None, None
        return f"{kernel.system}/{kernel.name}", None, _json(kernel.values(event.payload))

    def _stack_batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self._trace.columns(select=self._select):
            if _STACK not in bytes(batch.kind):
                continue
            tasks = {task: number for number, task in enumerate(batch.tasks)}
            rows = [
                (event.time_ns, tasks[event.task], level, _text(function.name) if function else "<unknown>")
                for event in events_of(batch, self._trace.functions, self._trace.event_types)
                for level, function in enumerate(event.stack)
            ]
            columns: Sequence[Sequence[Any]] = list(zip(*rows, strict=True)) or [()] * len(STACKS)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, STACKS, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=STACKS)


def _numbers(column: memoryview[Any], kind: pa.DataType) -> pa.Array:
    """Return a column as an array over the same memory.

    Unsigned words are read as signed ones: the difference of two times may be negative.
    """
    return pa.Array.from_buffers(kind, len(column), [None, pa.py_buffer(column)])


def _named(numbers: pa.Array, names: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(numbers, names, safe=False)


def _texts(offsets: memoryview[int], data: memoryview[int]) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(offsets) - 1, buffers)


def _durations(batch: Columns) -> pa.Array:
    """Return how long a call, or a stretch of one, took, of the events that end one; -1 of others."""
    begin, end = (_numbers(column, pa.int64()) for column in (batch.calltime_ns, batch.rettime_ns))
    took = pc.max_element_wise(pc.subtract(end, begin), pa.scalar(0, pa.int64()))
    kinds = _numbers(batch.kind, pa.uint8())
    is_end = pc.is_in(kinds, value_set=pa.array(sorted(_ENDS), pa.uint8()))
    return pc.if_else(is_end, took, pa.scalar(-1, pa.int64()))


def _json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, default=_plain)


def _plain(value: object) -> object:
    """Return a value that JSON does not have as one that it has."""
    if isinstance(value, PartialValue):
        return str(value)
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else repr(value)


def _text(text: str) -> str:
    """Return `text` without what UTF-8 cannot encode."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
