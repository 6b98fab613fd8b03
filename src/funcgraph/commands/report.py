"""funcgraph report: print a trace as the kernel prints one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from itertools import chain

from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.trace import (
    add_count_argument,
    add_imports_argument,
    add_selection_arguments,
    add_trace_argument,
    after_bar,
    first_lines,
    open_file,
    reading_bar,
    selection_of,
    trace_errors,
    trace_path,
)
from funcgraph.command_support.tree import add_tree_arguments, tree_pieces, wants_tree
from funcgraph.tracedata.links import links_on
from funcgraph.tracedata.option_words import options_help, parse_options
from funcgraph.tracedata.pager import wants_color, write_text
from funcgraph.tracedata.selection import select
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.tracedata.waiting import waiting_texts

NAME = "report"
HELP = "print a trace: which functions ran, nested, with durations"
DESCRIPTION = """\
Print a trace in the kernel's function_graph layout: nested calls with their durations, exceptions,
suspends and resumes, and recorded arguments and results. A trace of the function tracer is printed in that
tracer's layout.

A trace.dat that trace-cmd recorded on a kernel is printed as `trace-cmd report` prints it; events that are
not calls are printed by their own format.

A trace of several instances is printed in order of time, and each line begins with the name of its instance.
-B shows one instance alone."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.usage = "funcgraph report [OPTIONS] [[-i] FILE]"
    add_trace_argument(parser)
    add_selection_arguments(parser, callers=False)  # add_tree_arguments() has that
    add_count_argument(parser, lines="lines, without the header")
    add_imports_argument(parser, default="each import is one line")
    parser.add_argument(
        "-O",
        dest="options",
        metavar="OPTION",
        action="append",
        default=[],
        help="turn an option of the list below on, or off with 'no' in front; may be repeated",
    )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours; auto (default): on a terminal, unless NO_COLOR is set",
    )
    parser.add_argument("--no-pager", action="store_true", help="do not start $PAGER on a terminal")
    add_tree_arguments(parser)
    parser.epilog = (
        f"options for -O, with their defaults (auto: if more than one task is shown):\n{options_help()}"
    )


def run(args: argparse.Namespace) -> int:
    """Print the trace; return the exit status."""
    try:
        options = parse_options(args.options)
    except ValueError as error:
        raise CommandError(str(error)) from None
    is_tree = wants_tree(args)
    path = trace_path(args)
    with reading_bar(path) as bar, trace_errors(path):
        trace = open_file(path, args, bar)
        if trace.is_kernel and args.options:
            raise CommandError(
                f"{path}: a kernel's trace is printed as trace-cmd prints it: it has no options -O"
            )
        pieces = tree_pieces(args, trace, selection_of(args)) if is_tree else _text(args, trace, options)
        write_text(after_bar(first_lines(pieces, args.count), bar), pager=not args.no_pager)
    return 0


def _text(args: argparse.Namespace, trace: TraceFile, options: Mapping[str, bool]) -> Iterator[bytes]:
    """Return the text in pieces. For a person it ends with what could be recorded besides."""
    selection = selection_of(args)
    pieces = trace.report(
        options,
        select=selection,
        color=wants_color(args.color),
        fold_imports=not args.imports,
        links=links_on(pager=not args.no_pager),
    )
    if not sys.stdout.isatty():  # elsewhere the text is the trace's alone
        return pieces
    buffers = select(trace, selection).buffers or trace.find_buffers(())
    return chain(pieces, waiting_texts(trace, buffers, selection))
