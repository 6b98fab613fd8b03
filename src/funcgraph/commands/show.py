"""`funcgraph show`: print what the buffers of running processes hold, or one of their files."""

from __future__ import annotations

import argparse

from funcgraph.command_support.live import End, follow
from funcgraph.command_support.parser import Common
from funcgraph.command_support.processes import ALL_USERS, Processes, add_processes, lane_file, named_folders
from funcgraph.settings.table import BY_NAME
from funcgraph.steering.events import choose, folder_of
from funcgraph.steering.folder import InstanceFolder, Process
from funcgraph.steering.pipe import TRACE_PIPE

NAME = "show"
HELP = "print what running processes have traced, or one of their files"
DESCRIPTION = """\
Print the file 'trace': what the buffer holds, which stays.

With an option of the last group, print that file instead."""

#: trace-cmd's options for single files -> the file.
_FILES = {
    "--tracing_on": BY_NAME["tracing_on"].file,
    "--current_tracer": BY_NAME["tracer"].file,
    "--buffer_size": BY_NAME["buffer_kb"].file,
    "--buffer_total_size": BY_NAME["buffer_total_kb"].file,
    "--buffer_subbuf_size": "buffer_subbuf_size_kb",
    "--ftrace_filter": BY_NAME["filter"].file,
    "--ftrace_notrace": BY_NAME["notrace"].file,
    "--ftrace_pid": BY_NAME["tids"].file,
    "--graph_function": BY_NAME["graph"].file,
    "--graph_notrace": BY_NAME["graph_notrace"].file,
    "--cpumask": "tracing_cpumask",
    "--max_latency": BY_NAME["max_latency_us"].file,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    parser.usage = "funcgraph show [-P PID]... [OPTIONS]"
    add_processes(parser, ALL_USERS)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-p",
        dest="file",
        action="store_const",
        const=TRACE_PIPE,
        help=Common("print the lines as they come, and take them out of the buffer, until Ctrl-C"),
    )
    which.add_argument(
        "-s",
        dest="file",
        action="store_const",
        const="snapshot",
        help=Common("print the snapshot, not the buffer"),
    )
    parser.add_argument("-c", dest="lane", metavar="N", type=int, help=Common("only lane N, as per_cpu/cpuN"))
    parser.add_argument("-f", dest="path", action="store_true", help="print the path of the file first")
    parser.add_argument("-B", dest="instance", metavar="NAME", default="", help=Common("of this instance"))
    one = parser.add_argument_group("one file")
    for flag, file in _FILES.items():
        one.add_argument(flag, dest="files", action="append_const", const=file, help=f"print {file}")
    one.add_argument("--hist", metavar="EVENT", help=Common("print the histograms of an event"))
    one.add_argument("--trigger", metavar="EVENT", help="print the triggers of an event")
    parser.set_defaults(files=[], file="trace")


def run(args: argparse.Namespace) -> int:
    """Print the file of each process."""
    with Processes(args) as processes:
        if args.file == TRACE_PIPE and not (args.files or args.hist or args.trigger):
            _follow(processes, args)
        else:
            processes.each(lambda process: _show(processes, process, args))
        return processes.status


def _folder(process: Process, args: argparse.Namespace) -> InstanceFolder:
    return named_folders(process, [args.instance])[0]


def _show(processes: Processes, process: Process, args: argparse.Namespace) -> None:
    folder = _folder(process, args)
    for file in _files(folder, args):
        _show_path(processes, folder, file, args)
        processes.output.text(process.pid, folder.read(file))


def _show_path(processes: Processes, folder: InstanceFolder, file: str, args: argparse.Namespace) -> None:
    if args.path:
        processes.output.text(folder.process.pid, f"{folder.process.pid}/{folder.path(file)}")


def _files(folder: InstanceFolder, args: argparse.Namespace) -> list[str]:
    """Return the files that are asked for."""
    if args.files:
        return list(args.files)
    if args.hist or args.trigger:
        names = choose(args.hist or args.trigger, folder.event_names())
        return [f"{folder_of(name)}/{'hist' if args.hist else 'trigger'}" for name in names]
    return [lane_file(folder, args.file, args.lane)]


def _follow(processes: Processes, args: argparse.Namespace) -> None:
    folders = {process: _folder(process, args) for process in processes.each(lambda one: _folder(one, args))}
    for folder in folders.values():
        (file,) = _files(folder, args)
        _show_path(processes, folder, file, args)
    if folders:
        follow(processes, folders.__getitem__, End().wait, file=file, stop=False)
