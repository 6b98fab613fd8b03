"""funcgraph summary: how often each function ran, and how long."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence

from funcgraph.command_support.trace import (
    add_count_argument,
    add_imports_argument,
    add_selection_arguments,
    add_trace_argument,
    open_files,
    selection_of,
    trace_errors,
)
from funcgraph.names import printable
from funcgraph.tracedata.description import Buffer, Task
from funcgraph.tracedata.links import Links, links_on
from funcgraph.tracedata.pager import text_width, write_text
from funcgraph.tracedata.rotated import is_one_of_several
from funcgraph.tracedata.selection import select
from funcgraph.tracedata.summary import (
    SORT_KEYS,
    EventSummary,
    FunctionSummary,
    duration_text,
    event_table,
    sort_rows,
    summary_json,
    summary_table,
)
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.tracedata.waiting import Waiting, find_waiting

NAME = "summary"
HELP = "print calls and times of each function"
DESCRIPTION = """\
Print, for each function of a trace, how often it was called and how long it ran.

  CALLS       calls that began; also those of which only the end is recorded (--thresh, losses)
  RESUMES     how often suspended generators and coroutines were resumed
  EXCEPTIONS  calls that an exception ended
  SELF        time of all its calls without their traced callees
  TOTAL       time in which it was running, with its callees; recursion counts once, suspended time does not
              count
  NATIVE      in a trace with native functions: that part of TOTAL in which one of them was the innermost call
  MIN MAX     the shortest and the longest call that ended, without suspended time
  AVG         the mean of the calls that ended; in recursion each of them counts

All that ran in imports is one row, (imports), which --imports opens. Only the program's own functions have
their rows, also for what they did there.

A second table has how often each event was hit (record -e).

A trace of several instances gives a table for each. The files of a recording that was rotated are one trace
if they are all named."""


_ROTATED = (
    "one of several files of a recording: a call that spans two counts in each; name all files together\n"
)

_Tables = dict[int, tuple[list[FunctionSummary], list[EventSummary]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_trace_argument(parser, several=True)
    parser.add_argument("--json", action="store_true", help="print JSON, times in nanoseconds")
    parser.add_argument(
        "--sort",
        choices=tuple(SORT_KEYS),
        default="self",
        metavar="KEY",
        help=f"{', '.join(SORT_KEYS)} (default: self)",
    )
    parser.add_argument("--no-pager", action="store_true", help="do not start $PAGER on a terminal")
    add_selection_arguments(parser, events=False)
    add_count_argument(parser, lines="functions")
    add_imports_argument(parser, default="all imports are one row of the table")


def run(args: argparse.Namespace) -> int:
    """Print the summary; return the exit status."""
    with open_files(args) as trace:
        text = _summary(trace, args)
    write_text([text.encode("utf-8", "backslashreplace")], pager=not (args.json or args.no_pager))
    return 0


def _summary(trace: TraceFile, args: argparse.Namespace) -> str:
    selection = selection_of(args)
    folds = not (args.imports or args.json)
    tables = {}
    with trace_errors(trace.path):
        part = select(trace, selection)
        for number in part.buffers or trace.find_buffers(()):
            rows, events = trace.summaries(buffers=[number], select=selection, fold_imports=folds)
            tables[number] = (sort_rows(rows, args.sort), events)
    if args.json:
        return _json(trace, tables, trace.tasks if part.tasks is None else part.tasks, args.count)
    with trace_errors(trace.path):
        waiting = {number: find_waiting(trace, number, selection) for number in tables}
    links = links_on(pager=not args.no_pager)
    text = _text(trace, tables, waiting, args.sort, args.count, links)
    return f"{text}{_ROTATED}" if is_one_of_several(trace) else text


def _json(trace: TraceFile, tables: _Tables, tasks: Sequence[Task], count: int | None) -> str:
    """Return the object of one buffer; of several, the object `buffers`: name -> such an object."""
    shown = {}
    for number, (rows, events) in tables.items():
        buffer = trace.buffers[number]
        here = [task for task in tasks if task.buffer == number]
        shown[buffer.name] = summary_json(rows[:count], events, here, buffer.lost, buffer.overrun)
    (one, *more) = shown.values()
    return json.dumps({"buffers": shown} if more else one, indent=1) + "\n"


def _text(
    trace: TraceFile,
    tables: _Tables,
    waiting: Mapping[int, Waiting | None],
    sort: str,
    count: int | None,
    links: Links,
) -> str:
    """Return tables for each buffer: two instances may have recorded the same call. A buffer that has events
    but no calls gets no table of functions."""
    texts = []
    width = text_width()
    for number, (rows, events) in tables.items():
        buffer = trace.buffers[number]
        title, is_empty = "", not rows and not events
        if len(tables) > 1:
            title = f"{printable(buffer.name) or 'top instance'}:{' no calls' if is_empty else ''}\n"
        shown = [summary_table(rows, width, sort, count, links)] if rows or (is_empty and not title) else []
        shown += [event_table(events, width)] if events else []
        texts.append(title + "\n".join(shown) + "".join(_notes(buffer)) + str(waiting[number] or ""))
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
