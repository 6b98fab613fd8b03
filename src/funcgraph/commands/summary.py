"""funcgraph summary: how often each function ran, and how long."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from funcgraph.command_support.trace import (
    add_count_argument,
    add_imports_argument,
    add_selection_arguments,
    add_trace_argument,
    open_files,
    selection_of,
    trace_errors,
)
from funcgraph.tracedata.description import Task
from funcgraph.tracedata.links import links_on
from funcgraph.tracedata.pager import text_width, write_text
from funcgraph.tracedata.rotated import is_one_of_several
from funcgraph.tracedata.selection import select
from funcgraph.tracedata.summary import SORT_KEYS, summary_json
from funcgraph.tracedata.summary_text import Tables, summary_text, tables_of
from funcgraph.tracedata.trace_file import TraceFile

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
    with trace_errors(trace.path):
        part = select(trace, selection)
        buffers = part.buffers or trace.find_buffers(())
        tables = tables_of(trace, buffers, selection, fold_imports=folds, sort=args.sort)
    if args.json:
        return _json(trace, tables, trace.tasks if part.tasks is None else part.tasks, args.count)
    with trace_errors(trace.path):
        text = summary_text(
            trace,
            tables,
            selection,
            width=text_width(),
            sort=args.sort,
            count=args.count,
            links=links_on(pager=not args.no_pager),
        )
    return f"{text}{_ROTATED}" if is_one_of_several(trace) else text


def _json(trace: TraceFile, tables: Tables, tasks: Sequence[Task], count: int | None) -> str:
    """Return the object of one buffer; of several, the object `buffers`: name -> such an object."""
    shown = {}
    for number, (rows, events) in tables.items():
        buffer = trace.buffers[number]
        here = [task for task in tasks if task.buffer == number]
        shown[buffer.name] = summary_json(rows[:count], events, here, buffer.lost, buffer.overrun)
    (one, *more) = shown.values()
    return json.dumps({"buffers": shown} if more else one, indent=1) + "\n"
