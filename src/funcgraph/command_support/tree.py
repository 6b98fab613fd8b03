"""`funcgraph report --tree`, `--callers` and `--callees`: the merged call tree instead of the calls."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from funcgraph import _engine
from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.parser import Common
from funcgraph.command_support.trace import trace_errors
from funcgraph.names import did_you_mean, printable
from funcgraph.tracedata.call_tree import CallTree
from funcgraph.tracedata.links import links_on
from funcgraph.tracedata.pager import text_width
from funcgraph.tracedata.selection import Selection, select
from funcgraph.tracedata.trace_file import TraceFile
from funcgraph.tracedata.tree_text import DEFAULT_PERCENT, TreeLimits, tree_text
from funcgraph.tracedata.tree_views import callees_of, callers_of
from funcgraph.tracedata.waiting import waiting_texts

#: Options that are only about a tree, by their names in the namespace.
_OPTIONS = {"by": "--by", "min_percent": "--min-percent", "tree_depth": "--tree-depth"}


def add_tree_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for `print_tree`."""
    group = parser.add_argument_group("the merged call tree, instead of the calls one by one")
    group.add_argument(
        "--tree", action="store_true", help=Common("each path of functions once, with its calls and times")
    )
    group.add_argument(
        "--callers",
        dest="callers_of",
        metavar="FUNC",
        action=_Callers,
        default=[],
        help="who calls FUNC (* and ? match), who calls these, and so on; may be repeated. A number, with "
        "--where: so many calls around each of these calls",
    )
    group.add_argument(
        "--callees",
        dest="callees_of",
        metavar="FUNC",
        action="append",
        default=[],
        help="what FUNC calls, from all its callers together; may be repeated",
    )
    group.add_argument(
        "--by",
        choices=("all", "process", "task"),
        help="one tree of all tasks (default), one of each process, or of each task",
    )
    group.add_argument(
        "--min-percent",
        type=_percent,
        metavar="P",
        help=f"leave out what took less than P %% of the whole (default: {DEFAULT_PERCENT}; 0 shows all)",
    )
    group.add_argument("--tree-depth", type=_depth, metavar="N", help="show N levels of callees")


class _Callers(argparse.Action):
    """`--callers FUNC` of a tree, and `--callers N` of a selection. No function's name is a number."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take one of both."""
        if values.isdecimal():
            namespace.callers = int(values)
        else:
            namespace.callers_of = [*namespace.callers_of, values]


def wants_tree(args: argparse.Namespace) -> bool:
    """Return whether a tree is asked for. Raises CommandError for options that need each other or clash."""
    views = [bool(args.tree), bool(args.callers_of), bool(args.callees_of)]
    if sum(views) > 1:
        raise CommandError("--tree, --callers and --callees: only one of them at a time")
    if not any(views):
        for name, option in _OPTIONS.items():
            if getattr(args, name) is not None:
                raise CommandError(f"{option} needs --tree, --callers or --callees")
    elif args.options:
        raise CommandError("-O is about the calls one by one: not with --tree, --callers or --callees")
    return any(views)


def tree_pieces(args: argparse.Namespace, trace: TraceFile, selection: Selection) -> Iterator[bytes]:
    """Return the text: a tree for each buffer, since two instances may have recorded the same call."""
    with trace_errors(trace.path):
        numbers = select(trace, selection).buffers or trace.find_buffers(())
    percent = DEFAULT_PERCENT if args.min_percent is None else args.min_percent
    limits = TreeLimits(percent, args.tree_depth)
    is_meant = _matcher(trace, args.callers_of or args.callees_of)
    for number in numbers:
        with trace_errors(trace.path):
            tree = trace.call_tree(
                buffers=[number],
                by=args.by or "all",
                select=selection,
                fold_imports=not (args.imports or args.callers_of or args.callees_of),
            )
        if len(numbers) > 1:
            name = printable(trace.buffers[number].name) or "top instance"
            yield f"{name}:{'' if any(tree.calls) else ' no calls'}\n".encode()
            if not any(tree.calls):
                continue
        yield from tree_text(
            _view(args, tree, is_meant),
            limits,
            each_is_whole=not args.tree,
            width=text_width(),
            links=links_on(pager=not args.no_pager),
        )
        if args.tree:
            with trace_errors(trace.path):
                yield from waiting_texts(trace, [number], selection)


def _view(args: argparse.Namespace, tree: CallTree, matches: Callable[[str], bool]) -> CallTree:
    if args.callers_of:
        return callers_of(tree, matches)
    return callees_of(tree, matches) if args.callees_of else tree


def _matcher(trace: TraceFile, patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return what tells whether a name is meant. Raises CommandError for a pattern without a match."""
    names = {function.name for function in trace.functions}
    for pattern in patterns:
        if not any(_engine.glob_match(pattern, name) for name in names):
            raise CommandError(f"{trace.path}: no function '{pattern}'{did_you_mean(pattern, sorted(names))}")
    return lambda name: any(_engine.glob_match(pattern, name) for pattern in patterns)


def _percent(text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise argparse.ArgumentTypeError(f"a percentage from 0 to 100, got '{text}'")
    return percent


def _depth(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of levels, at least 1, got '{text}'")
    return int(text)
