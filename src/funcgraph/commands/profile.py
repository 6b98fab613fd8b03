"""`funcgraph profile`: count and time the calls of functions of running processes."""

from __future__ import annotations

import argparse
import os

from funcgraph.command_support.instance_flags import add_filters, instance_requests, unmatched
from funcgraph.command_support.live import End, temporary
from funcgraph.command_support.processes import Processes, add_processes
from funcgraph.output_file import text_file
from funcgraph.steering.changes import Changes
from funcgraph.steering.configure import apply
from funcgraph.steering.folder import Process
from funcgraph.steering.output import Output
from funcgraph.steering.rates import STAT

NAME = "profile"
HELP = "count and time the calls of functions of running processes"
TAKES_COMMAND = True
DESCRIPTION = """\
Run the function profiler in an instance of its own until Ctrl-C or the end of COMMAND, and print what it has
counted: the kernel's trace_stat."""

_PAUSE_S = 0.05


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.usage = "funcgraph profile [-P PID]... [OPTIONS] [COMMAND...]"
    add_processes(parser)
    add_filters(parser)
    parser.add_argument("-o", dest="output", metavar="FILE", help="print into this file")


def run(args: argparse.Namespace) -> int:
    """Profile until the end."""
    (request,) = instance_requests(args)
    request.name = f"{NAME}-{os.getpid()}"

    def begin_one(process: Process) -> None:
        apply(process, request, Changes())
        process.instance(request.name).write("function_profile_enabled", "1")
        for line in unmatched(process, request):
            processes.message(process, line)

    def end_one(process: Process) -> str:
        folder = process.instance(request.name)
        folder.write("function_profile_enabled", "0")
        return folder.read(STAT)

    texts: dict[int, str] = {}
    with Processes(args, leave_nothing=True) as processes:
        with temporary(processes, request.name):
            if processes.each(begin_one):
                end = End(args.command)
                while processes.living and not end.wait(_PAUSE_S):
                    processes.each(lambda process: process.tree.stat(""))
                texts = {process.pid: text for process, text in processes.each(end_one).items()}
        _print(texts, args.output)
        return processes.status


def _print(texts: dict[int, str], path: str | None) -> None:
    if path is None:
        _print_to(Output(texts), texts)
        return
    with text_file(path) as file:
        _print_to(Output(texts, file), texts)


def _print_to(output: Output, texts: dict[int, str]) -> None:
    for pid, text in texts.items():
        output.text(pid, text)
    output.flush()
