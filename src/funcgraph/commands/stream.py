"""`funcgraph stream`: trace running processes and print the lines as they come, then reset them."""

from __future__ import annotations

import argparse

from funcgraph.commands import CommandError
from funcgraph.commands._live import End, follow
from funcgraph.commands._processes import Processes, add_processes
from funcgraph.commands._wanted import add_wanted, wanted_of
from funcgraph.steering.changes import Changes
from funcgraph.steering.configure import Wanted, begin
from funcgraph.steering.folder import Process
from funcgraph.steering.reset import reset

NAME = "stream"
HELP = "trace running processes, print the lines as they come, and reset them"
TAKES_COMMAND = True
DESCRIPTION = """\
Do as 'funcgraph start', print the lines as they come until Ctrl-C or the end of COMMAND, and then do as
'funcgraph reset'. With -B it is that instance, which is removed in the end if this command has made it.
'funcgraph trace' does the same in an instance of its own, and changes nothing that others have set."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.usage = "funcgraph stream [-P PID]... [OPTIONS] [-B NAME OPTIONS] [COMMAND...]"
    add_processes(parser)
    add_wanted(parser)


def run(args: argparse.Namespace) -> int:
    """Trace until the end."""
    wanted = wanted_of(args, tracer="function_graph")
    if len(wanted) > 1:
        raise CommandError("stream: one instance at a time: one -B, with all options after it")
    with Processes(args, leave_nothing=True) as processes:
        _stream(processes, wanted[0], args.command)
        return processes.status


def _stream(processes: Processes, wanted: Wanted, command: list[str]) -> None:
    made: set[Process] = set()

    def begin_one(process: Process) -> None:
        is_new = not process.instance(wanted.name).exists()
        with Changes() as changes:
            begin(process, wanted, changes)
        if is_new:
            made.add(process)

    def end_one(process: Process) -> None:
        folder = process.instance(wanted.name)
        if process in made:
            folder.remove()
        else:
            reset(folder)

    processes.each(begin_one)
    begun = processes.living
    if not begun:
        return
    try:
        follow(processes, lambda process: process.instance(wanted.name), End(command).wait)
    finally:
        processes.each(end_one)
