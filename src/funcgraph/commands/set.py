"""`funcgraph set`: configure instances of running processes."""

from __future__ import annotations

import argparse

from funcgraph.command_support.configuring import configure_all
from funcgraph.command_support.instance_flags import add_instance_flags, instance_requests
from funcgraph.command_support.processes import add_processes
from funcgraph.steering.configure import apply

NAME = "set"
HELP = "configure instances of running processes, and nothing else"
TAKES_COMMAND = True
DESCRIPTION = """\
Set what is given, and change nothing else: tracing_on, the buffer and all other settings stay.

Options before the first -B are for the top instance, those after a -B for that instance. With COMMAND, it
runs afterwards."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.usage = "funcgraph set [-P PID]... [OPTIONS] [-B NAME OPTIONS]... [COMMAND...]"
    add_processes(parser)
    add_instance_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Configure each instance of each process, or none of a process."""
    return configure_all(args, instance_requests(args), apply)
