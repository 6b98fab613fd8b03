"""Watching what functions of running processes do each second: the function profiler in an instance of its
own."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

from funcgraph.command_support.instance_flags import instance_requests, unmatched
from funcgraph.command_support.live import temporary
from funcgraph.command_support.processes import Processes
from funcgraph.steering.changes import Changes
from funcgraph.steering.configure import InstanceRequest, apply
from funcgraph.steering.folder import InstanceFolder, Process
from funcgraph.steering.rates import STAT, Counts, Rate, counts_of, rates, summed

__all__ = ["RateWatch", "watched"]

_OFF = ("graph-time", "sleep-time")  # what does not count unless -O says so: callees and waiting


class RateWatch:
    """What the functions did from look to look.

    Args:
        processes: whose functions.
        folders: the instance of each whose profiler counts.
        heading: of the time.
        by_process: do not add up what a function did in several processes.
    """

    def __init__(
        self,
        processes: Processes,
        folders: dict[Process, InstanceFolder],
        heading: str,
        *,
        by_process: bool = False,
    ) -> None:
        self.processes = processes
        self.heading = heading
        self._folders = folders
        self._by_process = by_process
        self._before: dict[int, tuple[float, dict[str, Counts]]] = {}
        self.look()

    def look(self) -> list[Rate]:
        """Return what the functions did since the last look."""

        def look(process: Process) -> list[Rate]:
            text = self._folders[process].read(STAT)
            now, counts = time.monotonic(), counts_of(text)
            then, before = self._before.get(process.pid, (0.0, None))
            self._before[process.pid] = now, counts
            return [] if before is None else rates(process.pid, before, counts, now - then)

        found = [rate for its in self.processes.each(look).values() for rate in its]
        return found if self._by_process else summed(found)


@contextmanager
def watched(
    processes: Processes, args: argparse.Namespace, name: str, *, by_process: bool = False
) -> Iterator[RateWatch | None]:
    """Count in an instance of this name in each process, until the block ends; None: none of them has it."""
    (request,) = instance_requests(args)
    request.name = name

    def begin_one(process: Process) -> None:
        for option in _OFF:
            process.instance(name).write(f"options/{option}", "0")
        apply(process, request, Changes())
        process.instance(name).write("function_profile_enabled", "1")
        for line in unmatched(process, request):
            processes.message(process, line)

    with temporary(processes, name) as folders:
        begun = processes.each(begin_one)
        yield RateWatch(processes, folders, _heading(request), by_process=by_process) if begun else None


def _heading(request: InstanceRequest) -> str:
    is_own = "graph-time" not in request.items("options")
    return "own ms/s" if is_own else "ms/s"
