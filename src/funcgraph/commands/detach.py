"""`funcgraph detach`: end funcgraph in running processes."""

from __future__ import annotations

import argparse

from funcgraph.commands import process_error_text, say
from funcgraph.control.client import NotServedError, connect

NAME = "detach"
HELP = "end funcgraph in running processes: no hooks, threads, files"
DESCRIPTION = """\
End funcgraph in running processes: hooks, instances, threads, descriptors, files and mappings are gone. Only
the loaded module stays. It can be attached again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's arguments."""
    parser.add_argument("pids", metavar="PID", nargs="+", type=int, help="a process")


def run(args: argparse.Namespace) -> int:
    """Detach from each; the exit status is 2 if one could not be detached from."""
    status = 0
    for pid in args.pids:
        try:
            with connect(pid) as process:
                process.call("detach")
        except NotServedError:
            print(f"process {pid}: is not attached")
        except OSError as error:
            say(process_error_text(pid, error))
            status = 2
        else:
            print(f"process {pid}: detached", flush=True)
    return status
