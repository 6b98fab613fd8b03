"""Seccomp filters: whether a process would survive that funcgraph is started in it.

A filter may end the process at any system call. So a process with a filter is attached to only if the filter
is known to be harmless, or if the user says so.
"""

from __future__ import annotations

from funcgraph.attach.errors import AttachError
from funcgraph.attach.process import Process
from funcgraph.rights.proc_facts import read_status

__all__ = ["check_seccomp"]

_STRICT, _FILTER = 1, 2  # of `Seccomp` in proc(5)


def check_seccomp(process: Process, *, ignores_filter: bool) -> None:
    """Make sure that a process's seccomp does not end it.

    Whoever is in the same container has the container's filter too, and a process can only add filters, never
    remove one. So as many filters as ours are the same ones.

    Raises:
        AttachError: it may.
    """
    mode = process.number("Seccomp")
    if mode == _STRICT:
        raise AttachError(process.pid, "strict seccomp lets it make no system call that a new thread needs")
    if mode == _FILTER and not ignores_filter and not _is_ours(process):
        raise AttachError(
            process.pid,
            "it has a seccomp filter, which may kill it when funcgraph starts there:"
            f" 'funcgraph attach --ignore-seccomp {process.pid}' tries all the same",
        )


def _is_ours(process: Process) -> bool:
    """Return whether a process has no filter but those that this one has."""
    filters = process.number("Seccomp_filters")  # since Linux 5.11
    return filters > 0 and filters == int(read_status("self").get("Seccomp_filters", "0"))
