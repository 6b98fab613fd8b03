"""funcgraph summary: how often each function ran, and how long."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from funcgraph.commands._trace import open_trace, trace_errors, wanted_tasks
from funcgraph.tracedata.pager import write_text
from funcgraph.tracedata.summary import SORT_KEYS, duration_text, sort_rows, summary_json, summary_table
from funcgraph.tracedata.trace_file import TraceFile

NAME = "summary"
HELP = "print calls and times of each function"
DESCRIPTION = """\
Print, for each function of a trace, how often it was called and how long it ran.

  CALLS       calls that began, or (--thresh, losses) whose end alone was recorded
  RESUMES     times a suspended generator or coroutine ran on
  EXCEPTIONS  calls that an exception ended
  SELF        time of all its calls without the traced functions they called
  TOTAL       time in which it was running, with what it called: recursion counts once, and time in which a
              generator or coroutine was suspended does not count
  MIN MAX     the shortest and the longest call that ended, time in which it was suspended left out
  AVG         the mean of the calls that ended; in recursion each counts"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "-i", "--input", metavar="FILE", default="trace.dat", help="the trace (default: trace.dat)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, times in nanoseconds")
    parser.add_argument(
        "--sort",
        choices=tuple(SORT_KEYS),
        default="self",
        metavar="KEY",
        help=f"{', '.join(SORT_KEYS)} (default: self)",
    )
    parser.add_argument(
        "--task",
        metavar="T",
        action="append",
        default=[],
        help="only this task: a thread id, or a thread's name, which may have * and ?; can be given again",
    )


def run(args: argparse.Namespace) -> int:
    """Print the summary; return the exit status."""
    trace = open_trace(args.input)
    tasks = wanted_tasks(trace, args.task)
    with trace_errors(trace.path):
        rows = sort_rows(trace.summary(tasks=tasks), args.sort)
    if args.json:
        shown = trace.tasks if tasks is None else tasks
        text = json.dumps(summary_json(rows, shown, trace.lost, trace.overrun), indent=1) + "\n"
    else:
        text = summary_table(rows) + "".join(_notes(trace))
    write_text([text.encode("utf-8", "backslashreplace")], pager=False)
    return 0


def _notes(trace: TraceFile) -> Iterator[str]:
    """Yield lines about what the figures do not contain."""
    if trace.lost:
        yield f"{trace.lost:,} records were lost: the figures are of what is left\n"
    if trace.overrun:
        yield f"{trace.overrun:,} calls were not traced: their task's shadow stack was full\n"
    if trace.waits:
        yield f"{trace.waits:,} waits for the recorder, {duration_text(trace.wait_ns)}: not in the figures\n"
