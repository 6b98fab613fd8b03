"""funcgraph tui: look at a trace, or at running processes, in the terminal."""

from __future__ import annotations

import argparse
import io
import os
import sys
from contextlib import ExitStack, redirect_stderr
from importlib.util import find_spec
from tempfile import TemporaryFile

from funcgraph.command_support.instance_flags import add_filters
from funcgraph.command_support.live import End
from funcgraph.command_support.live_recording import live_recording
from funcgraph.command_support.messages import CommandError, print_message
from funcgraph.command_support.processes import Processes, add_processes
from funcgraph.command_support.rate_watch import RateWatch, watched
from funcgraph.command_support.trace import add_strict_argument, check_flaw, default_trace, open_as
from funcgraph.recorder.progress import plural
from funcgraph.steering.configure import STEERED
from funcgraph.steering.rates import Rate

NAME = "tui"
HELP = "look at a trace, or at running processes, in the terminal"
DESCRIPTION = """\
Look at a trace in the terminal (pip install 'funcgraph[tui]'): the table of functions, the call tree, callers
and callees, the text in the kernel's layout, single calls with arguments and results. Keys are as those of
less and vim; ? shows them.

With -P running processes are shown: calls and own time of each function, every second. Tree, callers, text
and calls are of a recording, which begins when one of them is shown first. The processes go on untraced
afterwards."""

_MISSING = "tui needs textual: pip install 'funcgraph[tui]'"
_NO_TERMINAL = "tui needs a terminal: 'funcgraph report', 'summary' and 'top -b' print without one"
_SIZE = "16M"  # of the newest events on disk, and as much again
_ONLY_LIVE = "options that choose functions of running processes, and --children, need -P"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.usage = "funcgraph tui [TRACE]\n       funcgraph tui -P PID [OPTIONS]"
    add = parser.add_argument
    add(
        "file",
        metavar="TRACE",
        nargs="?",
        help="the trace (default: trace.fg, or trace.dat if only that is there)",
    )
    add_strict_argument(parser)
    add_processes(parser, without="a trace is shown")
    add(
        "-d",
        dest="delay_s",
        metavar="SECONDS",
        type=float,
        default=1.0,
        help="with -P: seconds between looks (1)",
    )
    add_filters(parser)


def run(args: argparse.Namespace) -> int:
    """Show the trace or the processes until `q`."""
    if args.processes and args.file is not None:
        raise CommandError(f"{args.file}: a trace or -P, not both")
    if (args.children or args.requests) and not args.processes:
        raise CommandError(_ONLY_LIVE)
    if not 0 < args.delay_s < float("inf"):
        raise CommandError(f"-d {args.delay_s:g}: must be more than 0")
    if find_spec("textual") is None:
        raise CommandError(_MISSING)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(_NO_TERMINAL)
    return _run_live(args) if args.processes else _run_trace(args)


def _run_trace(args: argparse.Namespace) -> int:
    from funcgraph.tui.trace_viewer import TraceViewer  # only now: it needs the extra
    from funcgraph.view.served import Served

    path = args.file or default_trace()
    served = open_as(lambda name: Served(0, name), path)
    check_flaw(path, served.trace.flaw, args)
    served.start()
    TraceViewer(served).run()
    return 0


def _run_live(args: argparse.Namespace) -> int:
    errors = io.StringIO()
    with Processes(args, leave_nothing=True) as processes:
        with watched(processes, args, f"{NAME}-{os.getpid()}") as watch:
            if watch is not None:
                _show(watch, args, errors)
        for line in errors.getvalue().splitlines():
            print_message(line.removeprefix("funcgraph: "))
        return processes.status


def _show(watch: RateWatch, args: argparse.Namespace, errors: io.StringIO) -> None:
    """Show the processes until `q`, a signal, or until no process is left. What is said of processes
    meanwhile is kept: it would be in the middle of the table."""
    from funcgraph.tui.live_viewer import LiveViewer, RecordingError  # only now: it needs the extra
    from funcgraph.view.live_files import LiveFiles
    from funcgraph.view.served import Served

    processes = watch.processes
    end = End()

    def look() -> list[Rate] | None:
        with redirect_stderr(errors):
            rates = watch.look()
        return rates if processes.living else None

    def record() -> Served:
        messages = recording.enter_context(TemporaryFile())
        pids = [str(process.pid) for process in processes.living]
        try:
            files = recording.enter_context(live_recording(pids, _filters(args), _SIZE, messages))
        except CommandError:
            messages.seek(0)
            lines = messages.read().decode("utf-8", "backslashreplace").splitlines()
            raise RecordingError(lines[-1].removeprefix("funcgraph: ") if lines else "no reason") from None
        served = Served(0, name, None, LiveFiles(files.output))
        served.start()
        return served

    pids = [process.pid for process in processes.living]
    name = f"process {pids[0]}" if len(pids) == 1 else plural(len(pids), "process")
    with ExitStack() as recording:
        LiveViewer(name, watch.heading, look, lambda: end.wait(0), args.delay_s, record).run()


def _filters(args: argparse.Namespace) -> list[str]:
    """Return the options that choose functions, as `funcgraph record` takes them."""
    words = []
    for request in args.requests or ():
        for setting in STEERED:
            values = request.settings.get(setting.name, [])
            words += [word for value in values for word in (setting.flag, str(value))]
    return words
