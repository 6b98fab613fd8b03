"""`funcgraph extract`: write what the buffers of running processes hold to trace files."""

from __future__ import annotations

import argparse
import os

from funcgraph.command_support.processes import Processes, add_instances, add_processes, folders
from funcgraph.session.output import DEFAULT_OUTPUT
from funcgraph.steering.folder import Process
from funcgraph.steering.saved import path_for, save

NAME = "extract"
HELP = "write what the buffers of running processes hold to trace files"
DESCRIPTION = """\
Write what the buffer holds to a trace, which 'funcgraph report' and the other commands read. The buffer
stays, and tracing goes on. Each instance of each process gets a file of its own: with several processes
FILE.fg becomes FILE.PID.fg, with several instances FILE.NAME.fg."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    add_instances(parser, "extract")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="FILE",
        default=DEFAULT_OUTPUT,
        help=f"the trace ({DEFAULT_OUTPUT}); NAME.dat is a trace.dat, for trace-cmd and KernelShark",
    )
    parser.add_argument(
        "-s", dest="snapshot", action="store_true", help="extract the snapshot, not the buffer"
    )


def run(args: argparse.Namespace) -> int:
    """Write a file for each instance of each process, and print its name."""

    def extract(process: Process) -> None:
        instances = folders(process, args)
        for folder in instances:
            path = path_for(args.output, folder, processes=count, instances=len(instances))
            save(folder, os.path.abspath(path), snapshot=args.snapshot)
            processes.output.text(process.pid, path)

    with Processes(args) as processes:
        count = processes.count
        processes.each(extract)
        return processes.status
