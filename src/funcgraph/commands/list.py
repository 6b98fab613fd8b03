"""`funcgraph list`: the events, tracers, options, functions, instances and clocks of running processes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing

from funcgraph.command_support.messages import CommandError, print_message, process_error_text
from funcgraph.command_support.parser import Common
from funcgraph.command_support.processes import ALL_USERS, Processes, add_processes, chosen
from funcgraph.recorder.progress import plural
from funcgraph.steering import listing
from funcgraph.steering.folder import Process
from funcgraph.steering.output import Output

NAME = "list"
HELP = "list events, tracers, options, functions, ... of running processes"
DESCRIPTION = """\
List what running processes have. Without an option: the groups of events, the events, the tracers and the
trace options."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser, ALL_USERS)
    add = parser.add_argument
    add(
        "-e",
        dest="events",
        metavar="REGEX",
        nargs="?",
        const="",
        help=Common("the events, or those that match"),
    )
    files = parser.add_mutually_exclusive_group()
    for flag, file, text in (
        ("-F", "format", "with -e REGEX: the fields of the events"),
        ("-l", "filter", "with -e REGEX: the filters of the events"),
        ("-R", "trigger", "with -e REGEX: the triggers of the events"),
    ):
        files.add_argument(flag, dest="file", action="store_const", const=file, help=text)
    add("--full", action="store_true", help="with -F: the line 'print fmt', too")
    add("-s", dest="groups", action="store_true", help="the groups of events")
    add("-t", "-p", dest="tracers", action="store_true", help=Common("the tracers"))
    add(
        "-o",
        dest="options",
        metavar="REGEX",
        nargs="?",
        const="",
        help=Common("the trace options, 'no' before those off"),
    )
    add(
        "-f",
        dest="functions",
        metavar="GLOB",
        nargs="?",
        const="",
        help=Common("the functions that can be traced, and how many they are; GLOB: only those that match"),
    )
    add("--count", action="store_true", help="with -f: only how many they are")
    add(
        "--native",
        metavar="GLOB",
        nargs="?",
        const="",
        help=Common(
            "with -f: the functions of libraries and of the program, as 'malloc [libc]'; GLOB:mod:OBJECT: "
            "those of one object"
        ),
    )
    add("--why", action="store_true", help="with --native: those that cannot be hooked, and why")
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
    if args.why and args.native is None:
        raise CommandError(f"list: --why needs --native (see 'funcgraph {NAME} --help')")
    if args.native is not None:
        return _list_native(args)
    with Processes(args) as processes:
        processes.each(lambda process: processes.output.text(process.pid, _text(process, args)))
        return processes.status


def _list_native(args: argparse.Namespace) -> int:
    """List native functions. Their process is looked at from outside, and need not answer."""
    from funcgraph.command_support.native import native_functions
    from funcgraph.native.objects import Planner
    from funcgraph.native.reasons import Reason

    if args.functions is None:
        raise CommandError(f"list: --native needs -f (see 'funcgraph {NAME} --help')")
    pids, failed = chosen(args), 0
    output = Output(pids)
    with closing(Planner()) as planner:
        for pid in pids:
            lines = []
            try:
                for name, entry in native_functions(planner, pid, args.native or args.functions):
                    if args.why == (entry.reason is not Reason.HOOKABLE):
                        lines.append(f"{name}: {entry.reason.text}" if args.why else name)
            except OSError as error:
                failed += 1
                print_message(process_error_text(pid, error))
                continue
            output.text(pid, ("" if args.count else _lines(lines)) + plural(len(lines), "function"))
    return 0 if not failed else 1 if failed < len(pids) else 2


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
