"""`funcgraph set`: configure instances of running processes."""

from __future__ import annotations

import argparse

from funcgraph.command_support.instance_flags import add_instance_flags, instance_requests, report_unmatched
from funcgraph.command_support.live import run_command
from funcgraph.command_support.processes import Processes, add_processes
from funcgraph.steering.changes import Changes
from funcgraph.steering.configure import apply
from funcgraph.steering.folder import Process

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
    requests = instance_requests(args)

    def apply_all(process: Process) -> None:
        with Changes() as changes:
            for one in requests:
                apply(process, one, changes)
        for one in requests:
            report_unmatched(process, one)

    with Processes(args) as processes:
        processes.each(apply_all)
        if processes.living:
            run_command(args.command)
        return processes.status
