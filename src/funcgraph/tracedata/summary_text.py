"""The summary of a trace as text: tables of functions and events for each buffer, and what they lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from funcgraph.names import printable
from funcgraph.tracedata.description import Buffer
from funcgraph.tracedata.links import Links
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.summary import (
    EventSummary,
    FunctionSummary,
    duration_text,
    event_table,
    sort_rows,
    summary_table,
)
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.tracedata.waiting import find_waiting

__all__ = ["Tables", "summary_text", "tables_of"]

#: The number of a buffer -> its functions and its events.
Tables: TypeAlias = dict[int, tuple[list[FunctionSummary], list[EventSummary]]]


def tables_of(
    trace: TraceFile, buffers: Iterable[int], select: Selection | None, *, fold_imports: bool, sort: str
) -> Tables:
    """Return the figures of buffers. Each is read alone: two instances may have recorded the same call.

    Args:
        fold_imports: all imports are one row.
        sort: a key of SORT_KEYS.

    Raises:
        SelectionError, TraceError, OSError: as TraceFile.summary().
    """
    tables = {}
    for number in buffers:
        rows, events = trace.summaries(buffers=[number], select=select, fold_imports=fold_imports)
        tables[number] = (sort_rows(rows, sort), events)
    return tables


def summary_text(
    trace: TraceFile,
    tables: Tables,
    select: Selection | None = None,
    *,
    width: int | None = None,
    sort: str = "self",
    count: int | None = None,
    links: Links | None = None,
) -> str:
    """Return tables for each buffer. One that has events but no calls gets no table of functions.

    Args:
        tables: of this trace, with `select` and `sort`.
        width, count, links: as of summary_table().

    Raises:
        SelectionError, TraceError, OSError: as TraceFile.summary().
    """
    texts = []
    for number, (rows, events) in tables.items():
        buffer = trace.buffers[number]
        title, is_empty = "", not rows and not events
        if len(tables) > 1:
            title = f"{printable(buffer.name) or 'top instance'}:{' no calls' if is_empty else ''}\n"
        shown = [summary_table(rows, width, sort, count, links)] if rows or (is_empty and not title) else []
        shown += [event_table(events, width)] if events else []
        waiting = find_waiting(trace, number, select)
        texts.append(title + "\n".join(shown) + "".join(_notes(buffer)) + str(waiting or ""))
    return "\n".join(texts)


def _notes(buffer: Buffer) -> Iterator[str]:
    """Yield lines about what is missing from the figures."""
    if buffer.lost:
        yield f"{buffer.lost:,} records were lost: the figures lack them\n"
    if buffer.overrun:
        yield f"{buffer.overrun:,} calls were not traced: their task's shadow stack was full\n"
    if buffer.waits:
        waited = duration_text(buffer.wait_ns)
        yield f"{buffer.waits:,} waits for the recorder, {waited} in all: the figures leave them out\n"
