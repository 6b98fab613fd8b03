"""funcgraph sql: ask a trace questions in SQL."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence

from funcgraph.command_support.messages import CommandError, refusal_of
from funcgraph.command_support.progress_bar import ProgressBar
from funcgraph.command_support.trace import (
    add_selection_arguments,
    open_events,
    reading_bar,
    selection_of,
    trace_errors,
    trace_path,
)
from funcgraph.export.csv_cell import not_formula
from funcgraph.names import printable, printable_lines
from funcgraph.tracedata.pager import write_text
from funcgraph.tracedata.sql import MISSING, SqlError, SqlRows

NAME = "sql"
HELP = "ask a trace questions in SQL"
DESCRIPTION = """\
Ask a trace questions in SQL, which DuckDB answers (pip install 'funcgraph[sql]').

  calls       a row for each call: function, task, begin_ns, duration_ns, self_ns, parent, arguments ...
  events      a row for each event: entries, ends, marks, events of the program with their fields
  functions   id, name, module, file, line
  tasks       threads: id, name, pid, tid, process, instance
  stacks      recorded stack traces, a row for each level

'DESCRIBE calls' lists the columns. A query reads nothing but the trace, and writes nothing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("-i", "--input", metavar="FILE", help="the trace, if it is not given before the query")
    group.add_argument("file", metavar="TRACE", nargs="?", help="the trace (default: trace.fg)")
    parser.add_argument(
        "query", metavar="QUERY", help="as 'SELECT function, count(*) FROM calls GROUP BY ALL'"
    )
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument("--csv", action="store_true", help="print CSV")
    formats.add_argument("--json", action="store_true", help="print a JSON array with an object for each row")
    parser.add_argument(
        "--external",
        action="store_true",
        help="let the query read and write files, and load extensions of DuckDB",
    )
    add_selection_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the answer; return the exit status."""
    if args.input is None and args.file is None and os.path.isfile(args.query):
        raise CommandError(f"{args.query}: is a file: a query must follow, as 'SELECT count(*) FROM calls'")
    if not args.query.strip():
        raise CommandError("the query is empty: must be as 'SELECT count(*) FROM calls'")
    show = _csv if args.csv else _json if args.json else _table
    with (
        reading_bar(trace_path(args)) as bar,
        open_events(args, bar) as trace,
        trace_errors(trace.path),
    ):
        try:
            rows = trace.sql(args.query, select=selection_of(args), external=args.external)
            texts = _until_first(bar, show(rows))
            if sys.stdout.isatty():
                texts = map(printable_lines, texts)
            write_text((text.encode("utf-8", "backslashreplace") for text in texts), pager=False)
        except ImportError:
            raise CommandError(MISSING) from None
        except SqlError as error:
            raise refusal_of(error) from None
    return 0


def _until_first(bar: ProgressBar, texts: Iterator[str]) -> Iterator[str]:
    """Yield the texts, and erase the bar before the first one."""
    for text in texts:
        bar.stop()
        yield text


def _csv(rows: SqlRows) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(not_formula, rows.columns))
    for row in rows.whole():
        writer.writerow([not_formula(value) if isinstance(value, str) else value for value in row])
        if buffer.tell() > 1 << 16:
            yield _taken(buffer)
    yield _taken(buffer)
    rows.report_damage()


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _json(rows: SqlRows) -> Iterator[str]:
    before = "[\n "
    for row in rows.whole():
        yield before + json.dumps(dict(zip(rows.columns, row, strict=True)), default=str)
        before = ",\n "
    yield "[]\n" if before[0] == "[" else "\n]\n"
    rows.report_damage()


def _table(rows: SqlRows) -> Iterator[str]:
    """Yield lines of columns that are as wide as their widest value: numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows.whole()]
    right = [kind.endswith("INT") or kind in ("DOUBLE", "FLOAT") or "DECIMAL" in kind for kind in rows.types]
    widths = [max(map(len, column)) for column in zip(map(_cell, rows.columns), *cells, strict=True)]

    def line(values: Sequence[str]) -> str:
        parts = zip(values, widths, right, strict=True)
        return "  ".join(f"{v:>{w}}" if is_right else f"{v:<{w}}" for v, w, is_right in parts).rstrip() + "\n"

    if rows.columns:
        yield line([_cell(name) for name in rows.columns])
    for row in cells:
        yield line(row)
    rows.report_damage()


def _cell(value: object) -> str:
    """Return a value without characters that could harm a terminal."""
    return printable("" if value is None else _decimal(value) if isinstance(value, float) else str(value))


def _decimal(value: float) -> str:
    """Return a number with three decimals, as far as that says something."""
    return f"{value:.3f}".rstrip("0").rstrip(".") if 0.001 <= abs(value) < 1e15 else f"{value:.6g}"
