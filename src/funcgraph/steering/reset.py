"""Undoing what others set in an instance: trace-cmd's `reset`."""

from __future__ import annotations

import re
from collections.abc import Collection

from funcgraph.settings.table import BY_NAME, OPTIONS, PATTERNS, SETTINGS, THREADS
from funcgraph.steering.events import folder_of, triggers_in
from funcgraph.steering.folder import InstanceFolder, Process

__all__ = ["DYNAMIC_EVENTS", "reset", "reset_dynamic_events"]

#: What `reset -k` takes, as trace-cmd has it -> the kinds of lines of dynamic_events.
DYNAMIC_EVENTS = {
    "fprobe": "f",
    "tprobe": "t",
    "kprobe": "p",
    "kretprobe": "r",
    "eprobe": "e",
    "synth": "s",
    "all": "ftpres",
}

_COUNT = re.compile(r":count=\d+$")


def reset(folder: InstanceFolder, buffer_kb: int | None = None) -> None:
    """Bring an instance back to what a new one is: no tracer, no event, no filter, the options of a new
    instance, an empty buffer of its first size; it may record.

    Args:
        buffer_kb: the size of its buffer in KiB; None: that of a new instance.
    """
    folder.write("tracing_on", "0")
    folder.write("current_tracer", "nop")
    folder.write("function_profile_enabled", "0")
    _reset_events(folder)
    for setting in SETTINGS:
        if setting.file and setting.kind in (PATTERNS, THREADS):
            folder.write(setting.file, "")
    _remove_commands(folder)
    for option in OPTIONS.values():
        folder.write(f"options/{option.name}", f"{option.initial:d}")
    _reset_numbers(folder, buffer_kb)
    folder.write("snapshot", "0")
    folder.write("trace", "")
    folder.write("tracing_on", "1")


def _reset_numbers(folder: InstanceFolder, buffer_kb: int | None) -> None:
    """Reset what has one value: those of a new instance."""
    folder.write("trace_clock", str(BY_NAME["clock"].initial))
    for name in ("max_graph_depth", "thresh_us", "values", "string_size", "redact", "max_latency_us"):
        folder.write(BY_NAME[name].file, str(BY_NAME[name].initial))
    size = BY_NAME["buffer_kb"]
    folder.write(size.file, str(size.initial if buffer_kb is None else max(buffer_kb, size.least)))


def _reset_events(folder: InstanceFolder) -> None:
    """Switch all events off, and remove their filters and triggers."""
    folder.write("set_event", "")
    filtered = _named(folder.read("show_event_filters"))
    triggered = _named(folder.read("show_event_triggers"))
    for name in filtered:
        folder.write(f"{folder_of(name)}/filter", "0")
    # A trigger that another one refers to can go only after that one: several rounds.
    while triggered:
        left = [name for name in triggered if not _remove_triggers(folder, f"{folder_of(name)}/trigger")]
        if left == triggered:
            _remove_triggers(folder, f"{folder_of(left[0])}/trigger", is_last_try=True)
        triggered = left


def _named(text: str) -> list[str]:
    """Return the GROUP:EVENT at the beginning of each line, each once."""
    return list(dict.fromkeys(line.split()[0] for line in text.splitlines() if line.strip()))


def _remove_triggers(folder: InstanceFolder, file: str, *, is_last_try: bool = False) -> bool:
    """Remove the triggers of an event, the newest first; return whether none is left."""
    for trigger in reversed(triggers_in(folder.read(file))):
        try:
            folder.write(file, f"!{trigger}", append=True)
        except OSError:
            if is_last_try:
                raise
            return False
    return True


def _remove_commands(folder: InstanceFolder) -> None:
    """Remove the function commands, which emptying the list of patterns leaves."""
    for line in folder.read("set_ftrace_filter").splitlines():
        if line and not line.startswith("#"):
            command = _COUNT.sub(":0", line.removesuffix(":unlimited"))
            folder.write("set_ftrace_filter", f"!{command}", append=True)


def reset_dynamic_events(process: Process, kept_kinds: Collection[str]) -> None:
    """Delete the dynamic events of a process.

    Args:
        kept_kinds: names of DYNAMIC_EVENTS whose events stay.
    """
    kinds = {kind for name in kept_kinds for kind in DYNAMIC_EVENTS[name]}
    top = process.instance()
    lines = [
        line for line in top.read("dynamic_events").splitlines() if line.strip() and line[0] not in kinds
    ]
    for line in reversed(lines):
        head = line.split()[0]
        top.write("dynamic_events", f"-:{head.partition(':')[2]}", append=True)
