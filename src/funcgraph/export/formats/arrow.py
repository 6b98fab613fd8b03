"""Apache Arrow and Parquet: a table of calls, for pandas, Polars, DuckDB, Spark. Both need pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

from funcgraph.export.call_rows import (
    Names,
    arguments_at,
    arguments_in,
    have_values,
    instance_of,
    outcomes_in,
)
from funcgraph.export.format import Format
from funcgraph.export.json_text import json_text
from funcgraph.export.slices import CALLS, IRQ, RAISE, RETURN, WHATS, WHOLE, Slices, slices_of
from funcgraph.export.source import Source
from funcgraph.export.values import escaped, exception_of, result_of
from funcgraph.tracedata.description import UNNAMED
from funcgraph.tracedata.events import Columns

if TYPE_CHECKING:
    import pyarrow as pa

# Events that are read at a time: their calls are a row group of Parquet.
_BATCH_SIZE = 1 << 18


def write_arrow(source: Source, out: BinaryIO) -> None:
    """Write a table in Arrow's file format (IPC, also known as Feather)."""
    import pyarrow as pa

    table = _Table(source)
    with pa.ipc.new_file(out, table.schema) as file:
        for batch in table.batches():
            file.write_batch(batch)


def write_parquet(source: Source, out: BinaryIO) -> None:
    """Write a Parquet file."""
    from pyarrow.parquet import ParquetWriter

    table = _Table(source)
    words = [field.name for field in table.schema if str(field.type).startswith("dictionary")]
    # A dictionary of times, each of which is there once, would be made and thrown away.
    with ParquetWriter(out, table.schema, compression="zstd", use_dictionary=words) as file:
        for batch in table.batches():
            file.write_batch(batch)


class _Table:
    """The calls of a source, in batches of Arrow's columns."""

    def __init__(self, source: Source) -> None:
        import pyarrow as pa

        self._source = source
        self._threads = source.threads()
        self._nr_functions = len(source.functions)
        self._names = pa.array([*Names(source).values(), "<unknown>"])
        tasks = dict.fromkeys(escaped(task.name) for task in (*source.trace.tasks,))
        self._task_names = pa.array(list(dict.fromkeys([*tasks, UNNAMED])))
        self._instances = pa.array([escaped(buffer.name) for buffer in source.trace.buffers])
        self._ends = pa.array(WHATS)
        self.schema = self._schema()

    def _schema(self) -> pa.Schema:
        import pyarrow as pa

        word = pa.dictionary(pa.int32(), pa.string())
        fields = {
            "function": word, "pid": pa.int32(), "tid": pa.int32(), "thread": word, "instance": word,
            "begin_ns": pa.int64(), "end_ns": pa.int64(), "duration_ns": pa.int64(), "self_ns": pa.int64(),
            "depth": pa.int32(), "ended": word, "parent": word, "resumes": pa.int32(), "caller": word,
            "caller_line": pa.int32(), "signal": pa.bool_(), "arguments": pa.string(), "result": pa.string(),
            "exception": pa.string(),
        }  # fmt: skip
        return pa.schema(list(fields.items()), {"funcgraph.clock": self._source.trace.clock})

    def batches(self) -> Iterator[pa.RecordBatch]:
        for events, slices in slices_of(self._source, self._threads, CALLS, size=_BATCH_SIZE):
            batch = self._batch(events, slices)
            if batch.num_rows:
                yield batch

    def _batch(self, events: Columns | None, slices: Slices) -> pa.RecordBatch:
        import pyarrow as pa
        import pyarrow.compute as pc

        def column(name: str, kind: Any) -> pa.Array:
            items = getattr(slices, name)
            return pa.Array.from_buffers(kind, len(items), [None, pa.py_buffer(items)])

        flags = column("flags", pa.uint8())
        what = column("what", pa.uint8()).cast(pa.int32())
        thread = column("thread", pa.int32())
        caller = column("caller", pa.uint32())
        whole = pc.equal(pc.bit_wise_and(flags, WHOLE), WHOLE)
        values = self._values(events, slices)
        columns = [
            self._functions(column("function", pa.uint32()), unknown=True),
            *self._thread_columns(thread),
            column("call_ns", pa.int64()),
            column("time_ns", pa.int64()),
            pc.if_else(whole, column("ran_ns", pa.int64()), None),
            column("self_ns", pa.int64()),
            column("depth", pa.int32()),
            pa.DictionaryArray.from_arrays(what, self._ends),
            self._functions(column("parent", pa.uint32())),
            column("resumes", pa.int32()),
            self._functions(caller),
            pc.if_else(
                pc.greater(column("caller_line", pa.int32()), 0), column("caller_line", pa.int32()), None
            ),
            pc.equal(pc.bit_wise_and(flags, IRQ), IRQ),
            *(
                pa.array(items, pa.string()) if items else pa.nulls(len(what), pa.string())
                for items in values
            ),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _functions(self, indexes: pa.Array, *, unknown: bool = False) -> pa.Array:
        """Return names; without `unknown`, null for a function that the trace does not name."""
        import pyarrow as pa
        import pyarrow.compute as pc

        n = self._nr_functions
        known = pc.min_element_wise(indexes, pa.scalar(n, pa.uint32())).cast(pa.int32())
        if not unknown:
            known = pc.if_else(pc.less(known, n), known, None)
        return pa.DictionaryArray.from_arrays(known, self._names)

    def _thread_columns(self, thread: pa.Array) -> list[pa.Array]:
        import pyarrow as pa

        tasks, source = self._threads.tasks, self._source

        def each(kind: Any, items: Sequence[int]) -> pa.Array:
            return pa.array(items, kind).take(thread)

        def words(names: pa.Array, of: Callable[[Any], str]) -> pa.Array:
            places = {name: place for place, name in enumerate(names.to_pylist())}
            found = [places.get(escaped(of(task)), len(places) - 1) for task in tasks]
            return pa.DictionaryArray.from_arrays(each(pa.int32(), found), names)

        return [
            each(pa.int32(), [task.pid for task in tasks]),
            each(pa.int32(), [task.tid for task in tasks]),
            words(self._task_names, lambda task: task.name),
            words(self._instances, lambda task: instance_of(source, task)),
        ]

    def _values(
        self, events: Columns | None, slices: Slices
    ) -> tuple[list[str | None], list[str | None], list[str | None]]:
        """Return arguments, results and exceptions; empty lists if there are none at all."""
        if not have_values(events, slices):
            return [], [], []
        arguments: list[str | None] = []
        results: list[str | None] = []
        exceptions: list[str | None] = []
        columns = (
            slices.function.tolist(),
            slices.what.tolist(),
            arguments_in(slices),
            outcomes_in(events, slices),
        )
        for function, what, entry, outcome in zip(*columns, strict=False):
            arguments.append(json_text(arguments_at(self._source, function, entry)) if entry else None)
            results.append(json_text(result_of(outcome)) if outcome and what == RETURN else None)
            exceptions.append(escaped(exception_of(outcome) or "") if outcome and what == RAISE else None)
        return arguments, results, exceptions


_LACKS = "it has no events that are not calls, and no suspends and resumes but their number"

FORMATS = (
    Format(
        "parquet",
        (".parquet",),
        "a table of calls, for pandas, Polars, DuckDB, Spark",
        _LACKS,
        write_parquet,
        extra="arrow",
        modules=("pyarrow",),
    ),
    Format(
        "arrow",
        (".arrow", ".feather"),
        "the same table as an Arrow file, which is read without a copy",
        _LACKS,
        write_arrow,
        extra="arrow",
        modules=("pyarrow",),
    ),
)
