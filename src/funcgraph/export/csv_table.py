"""CSV: a row for each call that ended."""

from __future__ import annotations

import csv
import io
from typing import BinaryIO

from funcgraph.export.format import Format
from funcgraph.export.source import Source

HEADER = ("function", "pid", "tid", "begin_ns", "end_ns", "duration_ns", "depth", "ended")


def write(source: Source, out: BinaryIO) -> None:
    """Write the calls of a source."""
    text = io.TextIOWrapper(out, "utf-8", "backslashreplace", newline="", write_through=False)
    rows = csv.writer(text)
    rows.writerow(HEADER)
    for call in source.calls():
        name = call.function.name if call.function else "<unknown>"
        rows.writerow(
            (name, call.task.pid, call.task.tid, call.begin_ns, call.end_ns, call.duration_ns, call.depth)
            + (call.ended,)
        )
    text.detach()


FORMATS = (
    Format(
        "csv",
        (".csv",),
        "a table of calls, for spreadsheets and scripts",
        "it has no events that are not calls: marks, waits, defined events",
        write,
        is_text=True,
    ),
)
