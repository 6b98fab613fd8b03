"""What the commands that read a trace have in common."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from funcgraph.commands import CommandError, os_error_text
from funcgraph.names import did_you_mean
from funcgraph.session.output import DEFAULT_OUTPUT
from funcgraph.tracedata.description import Task, TraceError
from funcgraph.tracedata.trace_file import TraceFile

_TASKS_LISTED = 8


@contextmanager
def trace_errors(path: object) -> Iterator[None]:
    """Turn a TraceError into the command's one line of error, with the file."""
    try:
        yield
    except TraceError as error:
        raise CommandError(f"{path}: {error}") from None


def add_trace_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument for `open_trace`: after -i, as trace-cmd has it, or alone."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "-i",
        "--input",
        metavar="FILE",
        help="the trace (default: trace.fg, or trace.dat if only that is there)",
    )
    group.add_argument("file", metavar="FILE", nargs="?", help="the trace, without -i")


def open_trace(args: argparse.Namespace) -> TraceFile:
    """Open the trace. Raises CommandError with the file and the reason."""
    path = args.input or args.file or default_trace()
    with trace_errors(path):
        try:
            return TraceFile(path)
        except OSError as error:
            raise CommandError(os_error_text(error)) from None


def default_trace() -> str:
    """Return the name of the trace that is read if none is given."""
    return (
        "trace.dat" if os.path.exists("trace.dat") and not os.path.exists(DEFAULT_OUTPUT) else DEFAULT_OUTPUT
    )


def add_buffer_argument(parser: argparse.ArgumentParser) -> None:
    """Add the option -B, for `wanted_buffers`."""
    parser.add_argument(
        "-B",
        dest="buffers",
        metavar="NAME",
        action="append",
        default=[],
        help="only the buffer of this instance ('' is the top one); may be repeated",
    )


def wanted_buffers(trace: TraceFile, wanted: Sequence[str]) -> list[int] | None:
    """Return the numbers of the buffers that -B names, None for all.

    Raises CommandError if no buffer has the name.
    """
    try:
        return trace.find_buffers(wanted) if wanted else None
    except KeyError as error:
        there = [trace.buffers[number].name for number in trace.find_buffers([])]
        names = ", ".join(repr(name) if name else "'' (the top one)" for name in there)
        hint = did_you_mean(error.args[0], there)
        raise CommandError(f"{trace.path}: no instance {error}; it has: {names}{hint}") from None


def wanted_tasks(trace: TraceFile, wanted: Sequence[str]) -> list[Task] | None:
    """Return the tasks that --task names, None for all. Raises CommandError if none has the name or id."""
    if not wanted:
        return None
    tasks: dict[Task, None] = {}
    for word in wanted:
        found = trace.find_tasks(word)
        if not found:
            names = [f"{task.name} ({task.tid})" for task in trace.tasks[:_TASKS_LISTED]]
            more = len(trace.tasks) - len(names)
            listing = ", ".join(names) + (f" and {more} more" if more else "")
            hint = did_you_mean(word, [task.name for task in trace.tasks])
            raise CommandError(f"{trace.path}: no task '{word}'; it has: {listing or 'none'}{hint}")
        tasks.update(dict.fromkeys(found))
    return list(tasks)
