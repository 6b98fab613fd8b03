"""`funcgraph list`: the events, tracers, options, functions, instances and clocks of running processes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.processes import ALL_USERS, Processes, add_processes
from funcgraph.recorder.progress import plural
from funcgraph.steering import listing
from funcgraph.steering.folder import Process

NAME = "list"
HELP = "list events, tracers, options, functions, ... of running processes"
DESCRIPTION = """\
List what running processes have. Without an option: the groups of events, the events, the tracers and the
trace options."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser, ALL_USERS)
    add = parser.add_argument
    add("-e", dest="events", metavar="REGEX", nargs="?", const="", help="the events, or those that match")
    files = parser.add_mutually_exclusive_group()
    for flag, file, text in (
        ("-F", "format", "with -e REGEX: the fields of the events"),
        ("-l", "filter", "with -e REGEX: the filters of the events"),
        ("-R", "trigger", "with -e REGEX: the triggers of the events"),
    ):
        files.add_argument(flag, dest="file", action="store_const", const=file, help=text)
    add("--full", action="store_true", help="with -F: the line 'print fmt', too")
    add("-s", dest="groups", action="store_true", help="the groups of events")
    add("-t", "-p", dest="tracers", action="store_true", help="the tracers")
    add(
        "-o",
        dest="options",
        metavar="REGEX",
        nargs="?",
        const="",
        help="the trace options, 'no' before those off",
    )
    add(
        "-f",
        dest="functions",
        metavar="GLOB",
        nargs="?",
        const="",
        help="the functions that can be traced, and how many they are; GLOB: only those that match",
    )
    add("--count", action="store_true", help="with -f: only how many they are")
    add("-B", dest="instances", action="store_true", help="the instances")
    add("-C", dest="clocks", action="store_true", help="the clocks; the current one is in brackets")
    add("-c", dest="compression", action="store_true", help="the compressions of a trace.dat")


def run(args: argparse.Namespace) -> int:
    """List what is asked for, of each process."""
    if args.file and not args.events:
        raise CommandError(f"list: -F, -l and -R need an event: -e REGEX (see 'funcgraph {NAME} --help')")
    if args.compression:
        print(_compressions(), end="")
        if not _needs_processes(args):
            return 0
    with Processes(args) as processes:
        processes.each(lambda process: processes.output.text(process.pid, _text(process, args)))
        return processes.status


def _compressions() -> str:
    from funcgraph import _tracedata

    return "Supported compression algorithms:\n" + "".join(f"\t{name}\n" for name in _tracedata.CODECS)


def _needs_processes(args: argparse.Namespace) -> bool:
    texts = (args.events, args.options, args.functions)
    return any(text is not None for text in texts) or any(
        (args.groups, args.tracers, args.instances, args.clocks)
    )


def _text(process: Process, args: argparse.Namespace) -> str:
    """Return what is asked for of one process."""
    top = process.instance()
    if not _needs_processes(args):
        return _everything(process)
    text = ""
    if args.events is not None:
        names = listing.event_names(process, args.events)
        text += listing.event_files(top, names, args.file, full=args.full) if args.file else _lines(names)
    if args.tracers:
        text += listing.tracers(process)
    if args.options is not None:
        text += _lines(listing.options(top, args.options))
    if args.functions is not None:
        names = listing.functions(process, args.functions)
        text += ("" if args.count else _lines(names)) + f"{plural(len(names), 'function')}\n"
    if args.instances:
        text += _lines(listing.instances(process)) or "No buffer instances defined\n"
    if args.clocks:
        text += listing.clocks(top)
    if args.groups:
        text += _lines(listing.groups(process))
    return text


def _everything(process: Process) -> str:
    """Return what is listed without an option, as trace-cmd does it."""
    return (
        f"event systems:\n{_lines(listing.groups(process))}\n"
        f"events:\n{_lines(listing.event_names(process, ''))}\n"
        f"tracers:\n{listing.tracers(process)}\n"
        f"options:\n{_lines(listing.options(process.instance(), ''))}"
    )


def _lines(names: Sequence[str]) -> str:
    return "".join(f"{name}\n" for name in names)
