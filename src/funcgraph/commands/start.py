"""`funcgraph start`: have running processes trace into their buffers."""

from __future__ import annotations

import argparse

from funcgraph.command_support.configuring import configure_all
from funcgraph.command_support.instance_flags import add_instance_flags, instance_requests
from funcgraph.command_support.processes import add_processes
from funcgraph.steering.configure import begin

NAME = "start"
HELP = "have running processes trace into their buffers"
TAKES_COMMAND = True
DESCRIPTION = """\
Start tracing in running processes, and return: 'funcgraph show' prints what they have traced, 'funcgraph
stop' ends it, 'funcgraph reset' makes them as before. What an instance traced before is stopped, and its
buffer emptied; filters and options that are not given stay.

Options before the first -B are for the top instance, those after a -B for that instance. Without -p and -e
the tracer is function_graph. With COMMAND, it runs while they trace, and they go on after it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.usage = "funcgraph start [-P PID]... [OPTIONS] [-B NAME OPTIONS]... [COMMAND...]"
    add_processes(parser)
    add_instance_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Start each instance of each process, or none of a process."""
    return configure_all(args, instance_requests(args, tracer="function_graph"), begin)
