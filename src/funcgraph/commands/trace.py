"""`funcgraph trace`: print calls of running processes as they come."""

from __future__ import annotations

import argparse
import os

from funcgraph.commands._live import End, follow, temporary
from funcgraph.commands._processes import Processes, add_processes
from funcgraph.commands._wanted import add_wanted, wanted_of
from funcgraph.steering.changes import Changes
from funcgraph.steering.configure import begin
from funcgraph.steering.folder import Process

NAME = "trace"
HELP = "print calls of running processes as they come"
TAKES_COMMAND = True
DESCRIPTION = """\
Trace running processes in an instance of its own, print the lines as they come, and remove the instance at
Ctrl-C or the end of COMMAND: nothing that others have set changes. Without -p and -e the tracer is
function_graph.

    funcgraph trace -P 4711 -l shop.pay --args"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.usage = "funcgraph trace [-P PID]... [OPTIONS] [COMMAND...]"
    add_processes(parser)
    add_wanted(parser, instances=False)


def run(args: argparse.Namespace) -> int:
    """Trace until the end."""
    (wanted,) = wanted_of(args, tracer="function_graph")
    wanted.name = f"{NAME}-{os.getpid()}"

    def begin_one(process: Process) -> None:
        with Changes() as changes:
            begin(process, wanted, changes)
            changed.append(changes)

    changed: list[Changes] = []
    with Processes(args, leave_nothing=True) as processes:
        with temporary(processes, wanted.name) as folders:
            try:
                if processes.each(begin_one):
                    follow(processes, folders.__getitem__, End(args.command).wait)
            finally:
                for changes in changed:
                    changes.take_back()  # the definitions of events, which are no instance's
        return processes.status
