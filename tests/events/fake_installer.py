"""An Installer without an engine: it knows the functions of the transcripts, and which events are in use."""

from __future__ import annotations

import os
from errno import EILSEQ, EINVAL, ENOENT

from funcgraph import _engine
from funcgraph.definitions.definition import Definition
from funcgraph.events.registry import AnyDefinition

#: Functions of the kernel that the transcripts use, with the parameters that BTF gives them.
FUNCTIONS = {
    "vfs_read": ["file", "buf", "count", "pos"],
    "vfs_write": ["file", "buf", "count", "pos"],
    "vfs_open": ["path", "file"],
    "ksys_read": ["fd", "buf", "count"],
    "kfree": ["object"],
}

#: Where instructions of vfs_read begin.
OFFSETS = {4, 5}
LINES = {42}

#: Static events; those without a group are tracepoints by their name alone, with their arguments.
STATIC = {
    ("", "sched_switch"): ["preempt", "prev", "next", "prev_state"],
    ("sched", "sched_switch"): ["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid"],
    ("sched", "sched_process_exec"): ["filename", "pid", "old_pid"],
    ("syscalls", "sys_enter_openat"): ["dfd", "filename", "flags", "mode"],
    ("syscalls", "sys_enter_read"): ["fd", "buf", "count"],
    ("kmem", "kmalloc"): ["call_site", "ptr", "bytes_req", "bytes_alloc"],
}


def parameters(symbol: str) -> list[str] | None:
    return FUNCTIONS.get(symbol)


def event_fields(group: str, event: str) -> list[str] | None:
    return STATIC.get((group, event))


class FakeInstaller:
    """Keeps what is installed, by handle, oldest first.

    Attributes:
        installed: handle -> definition.
        in_use: the events, "GROUP/EVENT", that are enabled or have a trigger.
    """

    def __init__(self) -> None:
        self.installed: dict[int, AnyDefinition] = {}
        self.in_use: set[str] = set()
        self._next = 0

    def install(self, definition: AnyDefinition, *, is_pending: bool = False) -> int:
        if isinstance(definition, Definition) and definition.kind in "fpr" and not definition.is_native:
            self._check(definition)
        self._next += 1
        self.installed[self._next] = definition
        return self._next

    def remove(self, handle: int) -> None:
        del self.installed[handle]

    def is_busy(self, handle: int) -> bool:
        definition = self.installed[handle]
        return f"{definition.group}/{definition.event}" in self.in_use

    def _check(self, definition: Definition) -> None:
        if not any(_engine.glob_match(definition.symbol, name) for name in FUNCTIONS):
            raise OSError(ENOENT, os.strerror(ENOENT))
        if definition.place is not None:
            kind, at = definition.place
            if kind == "line" and at not in LINES:
                raise OSError(EINVAL, "lines with code: 42")
            if kind == "offset" and at not in OFFSETS:
                raise OSError(EILSEQ, os.strerror(EILSEQ))
