"""`funcgraph top`: which functions of running processes are called most and take most time, live."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

from funcgraph.command_support.instance_flags import add_filters
from funcgraph.command_support.live import End
from funcgraph.command_support.messages import CommandError
from funcgraph.command_support.processes import Processes, add_processes
from funcgraph.command_support.rate_watch import RateWatch, watched
from funcgraph.recorder.progress import plural
from funcgraph.steering.output import print_line
from funcgraph.steering.rates import KEYS, Rate, table
from funcgraph.steering.screen import Screen
from funcgraph.tracedata.pager import text_width

NAME = "top"
HELP = "show the busiest functions of running processes, live"
DESCRIPTION = """\
Show the calls and the own time per second of functions, from the function profiler in an instance of its own.
Own time is CPU time without counted callees: waiting does not count. Of several processes a function has one
row, with the sum.

Keys: c, t, a and n sort by calls, time, average and name; q quits. Without a terminal: as with -b.
-O graph-time adds the callees' time, -O sleep-time the waiting; the latter costs the program less."""

_HELP_LINE = f"sort by: {', '.join(f'{key} {name}' for key, (name, _) in KEYS.items())}; q quits"
_SLICE_S = 0.1  # the longest time for which neither a key nor the end is noticed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this command's flags."""
    add_processes(parser)
    add = parser.add_argument
    add(
        "-d", dest="delay_s", metavar="SECONDS", type=float, default=1.0, help="seconds between two pages (1)"
    )
    add("-b", dest="is_batch", action="store_true", help="batch mode: print page after page, take no keys")
    add("-n", dest="count", metavar="COUNT", type=int, help="end after so many pages")
    names = [name for name, _ in KEYS.values()]
    add(
        "-s",
        dest="key",
        metavar="KEY",
        choices=names,
        default="time",
        help=f"sort by {', '.join(names)} (time)",
    )
    add("--by-process", action="store_true", help="a row for each process that a function runs in")
    add("--rows", metavar="N", type=int, help="show at most so many functions (what fits; in batch mode all)")
    add_filters(parser, taken=("-n",))


def run(args: argparse.Namespace) -> int:
    """Show pages until the end."""
    if not 0 < args.delay_s < float("inf"):
        raise CommandError(f"-d {args.delay_s:g}: must be more than 0")
    for flag, value in (("-n", args.count), ("--rows", args.rows)):
        if value is not None and value < 1:
            raise CommandError(f"{flag} {value}: must be 1 or more")
    name = f"{NAME}-{os.getpid()}"
    with Processes(args, leave_nothing=True) as processes:
        with watched(processes, args, name, by_process=args.by_process) as watch:
            if watch is not None:
                top = _Top(watch, args)
                is_live = not args.is_batch and sys.stdout.isatty() and sys.stdin.isatty()
                (top.show if is_live else top.print)()
        return processes.status


class _Top:
    """The pages.

    Args:
        watch: watches the functions.
        args: the command's options.
    """

    def __init__(self, watch: RateWatch, args: argparse.Namespace) -> None:
        self._watch = watch
        self._processes = watch.processes
        self._args = args
        self._key = next(key for key, (name, _) in KEYS.items() if name == args.key)
        self._end = End()
        self._pids = args.by_process

    def print(self) -> None:
        """Print pages, with an empty line between two."""
        self._pages(self._print_page, self._end.wait)

    def show(self) -> None:
        """Show pages on the terminal, and take keys."""
        with Screen() as screen:
            found: list[Rate] = []

            def show_page(new: list[Rate]) -> None:
                found[:] = new
                self._show_page(screen, found)

            def wait(seconds: float) -> bool:
                key = screen.key(seconds)
                if key in KEYS:
                    self._key = key
                    self._show_page(screen, found)
                return key == "q" or self._end.wait(0)

            self._show_page(screen, found)
            self._pages(show_page, wait)

    def _pages(self, page: Callable[[list[Rate]], None], wait: Callable[[float], bool]) -> None:
        """Make a page every `delay_s`, until `wait` says that the end has come, or there are enough."""
        made = 0
        due = time.monotonic()
        while self._processes.living and (self._args.count is None or made < self._args.count):
            due = max(due + self._args.delay_s, time.monotonic())
            while (left_s := due - time.monotonic()) > 0:
                if wait(min(left_s, _SLICE_S)):
                    return
            page(self._watch.look())
            made += 1

    def _heading(self, found: list[Rate]) -> str:
        calls = sum(rate.calls_per_s for rate in found)
        return (
            f"funcgraph top {time.strftime('%H:%M:%S')}, {plural(len(self._processes.living), 'process')}, "
            f"{calls:,.0f} calls/s, by {KEYS[self._key][0]}"
        )

    def _print_page(self, found: list[Rate]) -> None:
        lines = table(
            found,
            self._key,
            pids=self._pids,
            time=self._watch.heading,
            rows=self._args.rows,
            width=text_width(),
        )
        for line in (self._heading(found), "", *lines, ""):
            print_line(line)

    def _show_page(self, screen: Screen, found: list[Rate]) -> None:
        width, height = screen.size
        rows = max(1, height - 3)
        rows = min(rows, self._args.rows or rows)
        lines = table(found, self._key, pids=self._pids, time=self._watch.heading, rows=rows, width=width)
        screen.show([self._heading(found), _HELP_LINE, *lines], heading=2)
