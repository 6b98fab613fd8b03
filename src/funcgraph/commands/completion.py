"""`funcgraph completion`: print the script with which a shell completes funcgraph's command lines."""

from __future__ import annotations

import argparse

from funcgraph.command_support.messages import CommandError
from funcgraph.steering.output import print_line
from funcgraph.steering.processes import python_processes

NAME = "completion"
HELP = "print a script that completes command lines in a shell"
DESCRIPTION = """\
Print a script with which bash, zsh or fish completes funcgraph's commands, their options and values,
traces, and the ids of Python processes. Have the shell read it when it starts:
eval "$(funcgraph completion bash)"."""
TAKES_TABLE = True

_SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("shell", metavar="SHELL", nargs="?", choices=_SHELLS, help="bash, zsh or fish")
    parser.add_argument(
        "--pids", action="store_true", help="print the ids of Python processes, as the scripts ask for them"
    )


def run(args: argparse.Namespace) -> int:
    """Print a script, or ids of processes; return the exit status."""
    if args.pids == bool(args.shell):
        raise CommandError(f"give one of {', '.join(_SHELLS)} or --pids")
    if args.pids:
        for pid in python_processes():
            print_line(str(pid))
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
