"""`funcgraph completion`: print the script with which a shell completes funcgraph's command lines."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable

from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.trace import default_trace
from funcgraph.steering.output import print_line
from funcgraph.steering.processes import python_processes
from funcgraph.tracedata.description import TraceError
from funcgraph.tracedata.trace_file import TraceFile

NAME = "completion"
HELP = "print a script that completes command lines in a shell"
DESCRIPTION = """\
Print a script with which bash, zsh or fish completes funcgraph's commands, their options and values,
traces, the ids of Python processes, and functions: those of the process after -P, if it has a control
socket, or those of the trace. Have the shell read it when it starts:
eval "$(funcgraph completion bash)"."""
TAKES_TABLE = True

_SHELLS = ("bash", "zsh", "fish")
#: What a shell takes as it is, as the scripts do.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)
_MOST = 200  # names; of more a person sees the next part of each
_WAIT_S = 2.0  # for a process that does not answer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("shell", metavar="SHELL", nargs="?", choices=_SHELLS, help="bash, zsh or fish")
    parser.add_argument(
        "--pids", action="store_true", help="print the ids of Python processes, as the scripts ask for them"
    )
    parser.add_argument(
        "--functions",
        metavar="BEGIN",
        help="print the functions whose names begin so, as the scripts ask for them",
    )
    parser.add_argument(
        "--of", metavar="PID|FILE", help="with --functions: the process, or the trace (default: trace.fg)"
    )


def run(args: argparse.Namespace) -> int:
    """Print a script, ids of processes, or functions; return the exit status."""
    if [bool(args.shell), args.pids, args.functions is not None].count(True) != 1:
        raise CommandError(f"give one of {', '.join(_SHELLS)}, --pids or --functions")
    if args.pids:
        for pid in python_processes():
            print_line(str(pid))
        return 0
    if args.functions is not None:
        for name in _shown(_functions(args.of or default_trace()), args.functions):
            print_line(name)
        return 0
    from funcgraph.command_support.completion import words_of
    from funcgraph.command_support.shells import SCRIPTS

    table = args.table()
    words = {
        command.NAME: words_of(parser, runs_command=getattr(command, "TAKES_COMMAND", False))
        for command, parser in table
    }
    helps = {command.NAME: command.HELP for command, _ in table}
    for line in SCRIPTS[args.shell](words, helps).splitlines():
        print_line(line)
    return 0


def _functions(of: str) -> Iterable[str]:
    """Return the functions of a process or trace; nobody is told why there are none."""
    try:
        if not of.isdecimal():
            return [] if not os.path.isfile(of) else [function.name for function in TraceFile(of).functions]
        from funcgraph.control.client import connect
        from funcgraph.steering.folder import Process
        from funcgraph.steering.listing import function_names

        with connect(int(of), _WAIT_S) as connection:
            return function_names(Process(int(of), connection))
    except (OSError, TraceError):
        return []


def _shown(names: Iterable[str], begin: str) -> list[str]:
    """Return the names that begin so; of too many the beginnings up to the next `.`, which end with it."""
    found = {name for name in names if name.startswith(begin) and _NAME.fullmatch(name)}
    if len(found) > _MOST:
        parts = {name[: name.find(".", len(begin)) + 1] or name for name in found}
        found = parts if len(parts) > 1 else found
    return sorted(found)[:_MOST]
