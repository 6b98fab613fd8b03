"""What `start` and `set` have in common: each instance of each process is configured, then COMMAND runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from funcgraph.command_support.instance_flags import unmatched
from funcgraph.command_support.live import run_command
from funcgraph.command_support.plan_handover import plan_ahead
from funcgraph.command_support.processes import Processes
from funcgraph.steering.changes import Changes
from funcgraph.steering.configure import InstanceRequest
from funcgraph.steering.folder import Process

__all__ = ["configure_all"]


def configure_all(
    args: argparse.Namespace,
    requests: Sequence[InstanceRequest],
    change: Callable[[Process, InstanceRequest, Changes], None],
) -> int:
    """Configure each instance of each process, or none of a process; return the exit status.

    Args:
        args: with the processes and COMMAND.
        change: configures one instance.
    """

    patterns = [pattern for request in requests for pattern in map(str, request.items("filter"))]
    if events := [event.event for request in requests for event in request.events]:
        from funcgraph.events.recording_events import native_patterns  # only now: it imports much

        patterns += native_patterns(events)

    def configure(process: Process) -> None:
        for _ in plan_ahead(process.pid, patterns):
            pass  # it is in our cache, which a process of ours looks into
        with Changes() as changes:
            for request in requests:
                change(process, request, changes)
        for request in requests:
            for line in unmatched(process, request):
                processes.message(process, line)

    with Processes(args) as processes:
        processes.each(configure)
        if processes.living:
            run_command(args.command)
        return processes.status
