"""What a process has: events, tracers, trace options, functions, instances, clocks. trace-cmd's `list`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from errno import EPROTO

from funcgraph import _engine
from funcgraph.steering import events
from funcgraph.steering.folder import InstanceFolder, Process
from funcgraph.steering.stat import option_words

__all__ = [
    "EVENT_FILES",
    "clocks",
    "event_files",
    "event_names",
    "function_names",
    "functions",
    "groups",
    "instances",
    "options",
    "tracers",
]

_GLOB = frozenset("*?[")
#: Which file of an event `list -e` shows with -F, -l and -R.
EVENT_FILES = {"format": "format", "filter": "filter", "trigger": "trigger"}


def event_names(process: Process, expression: str) -> list[str]:
    """Return the events that `list -e` lists. Raises NoEventError for what is no expression."""
    names = process.instance().event_names()
    return events.matching(expression, names) if expression else names


def event_files(folder: InstanceFolder, names: Iterable[str], file: str, *, full: bool) -> str:
    """Return a file of each event as trace-cmd prints it.

    Args:
        file: one of EVENT_FILES.
        full: of a format also the line `print fmt`.
    """
    parts = []
    for name in names:
        text = folder.read(f"{events.folder_of(name)}/{file}")
        if file != EVENT_FILES["format"]:
            parts.append(f"{name}\n{text}\n")
            continue
        if not full:
            text = text.partition("print fmt")[0]
        parts.append(f"system: {name.partition(':')[0]}\n{text}")
    return "".join(parts)


def groups(process: Process) -> list[str]:
    """Return the groups of events."""
    return list(dict.fromkeys(name.partition(":")[0] for name in process.instance().event_names()))


def tracers(process: Process) -> str:
    """Return the tracers in one line."""
    return process.instance().read("available_tracers")


def options(folder: InstanceFolder, expression: str) -> list[str]:
    """Return the trace options whose names match a regular expression, "no" before those that are off.

    Raises:
        NoEventError: it is no expression.
    """
    words = option_words(folder)
    try:
        matcher = re.compile(expression, re.IGNORECASE)
    except re.error as error:
        raise events.NoEventError(f"invalid expression {expression!r}: {error}") from None
    return [word for word in words if matcher.search(word.removeprefix("no"))]


def function_names(process: Process) -> list[str]:
    """Return the functions that can be traced, without making the top instance, whose file has them too."""
    names: list[str] = []
    last = ""
    limit = process.tree.answer_limit(f"the list of functions of process {process.pid}")
    while part := process.tree.call("functions_after", name=last):
        assert isinstance(part, list)  # answers.py has checked it
        if part[0] <= last or part != sorted(part):
            raise OSError(EPROTO, "it answered nonsense: names of functions that are not in order")
        limit.take(sum(map(len, part)))
        names += part
        last = names[-1]
    return names


def functions(process: Process, pattern: str) -> list[str]:
    """Return the functions that can be traced and match a pattern.

    Args:
        pattern: a glob; without `*`, `?` and `[`: the functions that have it somewhere in their names, as
            trace-cmd does it. "": all.
    """
    names = process.instance().read("available_filter_functions").splitlines()
    return [name for name in names if _engine.glob_match(glob_of(pattern), name)]


def glob_of(pattern: str) -> str:
    """Return the glob that a pattern of names stands for: itself, or what has it somewhere. "": all."""
    return pattern if _GLOB.intersection(pattern) else f"*{pattern}*"


def instances(process: Process) -> list[str]:
    """Return the instances besides the top one."""
    return process.instances()


def clocks(folder: InstanceFolder) -> str:
    """Return the clocks in one line, the current one in brackets."""
    return folder.read("trace_clock")
