"""funcgraph exceptions: where exceptions were raised, what they passed, where they were handled."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from funcgraph.command_support.answer import answer_text, write_answer
from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.trace import (
    add_count_argument,
    add_selection_arguments,
    add_trace_argument,
    open_events,
    selection_of,
    trace_errors,
)
from funcgraph.tracedata.links import links_on

if TYPE_CHECKING:
    from funcgraph.answers.exceptions import Exceptions
    from funcgraph.tracedata.opened import Trace

NAME = "exceptions"
HELP = "follow each exception to where it was handled"
DESCRIPTION = """\
Print each kind of exception: its type, the function that raised it, and the one that handled it; or that it
left its thread. --nth N follows one through all calls that it ended.

  funcgraph record app.py
  funcgraph exceptions
  funcgraph exceptions --nth 3

Each trace has the types. The lines at which calls were made need
'record -O funcgraph-retaddr'."""

_COUNT = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    add_trace_argument(parser)
    parser.add_argument(
        "--nth", metavar="N", type=int, help="follow the exception of this number, in the order of raising"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, times in nanoseconds")
    parser.add_argument(
        "--imports",
        action="store_true",
        help="also follow exceptions in the import machinery; else an import is one call",
    )
    add_count_argument(parser, lines=f"kinds (default: {_COUNT})")
    add_selection_arguments(parser, events=False)


def run(args: argparse.Namespace) -> int:
    """Print the exceptions; return the exit status."""
    from funcgraph.answers.exceptions import exceptions
    from funcgraph.answers.exceptions_text import exceptions_json

    if args.nth is not None and args.nth < 1:
        raise CommandError(f"--nth {args.nth}: must be at least 1")
    with open_events(args) as trace, trace_errors(trace.path):
        found = exceptions(trace, number=args.nth or 0, select=selection_of(args), imports=args.imports)
        if args.nth and found.one is None:
            raise CommandError(f"--nth {args.nth}: this part of the trace has {found.count:,} exceptions")
        text = answer_text(args, lambda: exceptions_json(found), _lines(args, trace, found))
    write_answer(text)
    return 0


def _lines(args: argparse.Namespace, trace: Trace, found: Exceptions) -> Iterator[str]:
    from funcgraph.answers.exceptions_text import exceptions_lines, one_lines
    from funcgraph.answers.facts import limits

    if args.nth:
        yield from one_lines(trace.path, found, links_on())
        return
    yield from exceptions_lines(trace.path, found, count=args.count or _COUNT)
    yield from limits(trace, found.counts)
