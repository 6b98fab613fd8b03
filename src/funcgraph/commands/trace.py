"""`funcgraph trace`: print calls of running processes as they come."""

from __future__ import annotations

import argparse
import os

from funcgraph.command_support.instance_flags import add_instance_flags, instance_requests, unmatched
from funcgraph.command_support.live import End, follow, temporary
from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.processes import Processes, add_processes
from funcgraph.steering.changes import Changes
from funcgraph.steering.configure import InstanceRequest, begin
from funcgraph.steering.folder import Process

NAME = "trace"
HELP = "print calls of running processes as they come"
TAKES_COMMAND = True
DESCRIPTION = """\
Trace running processes in an instance of its own, print the lines as they come, and remove the instance at
Ctrl-C or the end of COMMAND: nothing that others have set changes. Without -p and -e the tracer is
function_graph.

With -B it is that instance, which is removed in the end if this command has made it, and reset otherwise.

    funcgraph trace -P 4711 -l shop.pay --args"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.usage = "funcgraph trace [-P PID]... [OPTIONS] [-B NAME OPTIONS] [COMMAND...]"
    add_processes(parser)
    add_instance_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Trace until the end."""
    request = _only(instance_requests(args, tracer="function_graph"))

    def begin_one(process: Process) -> None:
        with Changes() as changes:
            begin(process, request, changes)
            changed.append(changes)
        for line in unmatched(process, request):
            processes.message(process, line)

    changed: list[Changes] = []
    with Processes(args, leave_nothing=True) as processes:
        with temporary(processes, request.name) as folders:
            try:
                if processes.each(begin_one):
                    follow(processes, folders.__getitem__, End(args.command).wait)
            finally:
                for changes in changed:
                    changes.take_back()  # the definitions of events, which are no instance's
        return processes.status


def _only(requests: list[InstanceRequest]) -> InstanceRequest:
    """Return the one instance that is asked for; without -B one of our own."""
    if len(requests) > 1 or requests[0].is_removed:
        raise CommandError(f"{NAME}: one instance at a time: one -B, with all options after it")
    requests[0].name = requests[0].name or f"{NAME}-{os.getpid()}"
    return requests[0]
