"""`funcgraph stop`: have running processes stop writing into their buffers."""

from __future__ import annotations

import argparse

from funcgraph.command_support.processes import Processes, add_instances, add_processes, folders
from funcgraph.steering.folder import Process

NAME = "stop"
HELP = "have running processes stop writing into their buffers"
DESCRIPTION = """\
Write 0 to tracing_on: what the buffer holds stays, and the tracer stays, as its cost does. 'funcgraph
restart' goes on; 'funcgraph reset' removes the tracer, too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    add_instances(parser, "stop")


def run(args: argparse.Namespace) -> int:
    """Write tracing_on of each instance."""

    def stop(process: Process) -> None:
        for folder in folders(process, args):
            folder.write("tracing_on", "0")

    with Processes(args) as processes:
        processes.each(stop)
        return processes.status
