"""Events of a process by the names that trace-cmd's -e takes, and the definitions that funcgraph's takes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from errno import EOPNOTSUPP
from typing import NamedTuple

from funcgraph._engine import glob_match
from funcgraph.definitions.messages import SAME_PROBE
from funcgraph.names import did_you_mean
from funcgraph.steering.changes import Changes
from funcgraph.steering.folder import InstanceFolder

__all__ = ["EventRequest", "NoEventError", "choose", "configure", "folder_of", "matching", "triggers_in"]

#: A line of dynamic_events: its kind, and its group and name where they are given.
_DEFINITION = re.compile(r"[fprtes]\d*:(?:(?P<group>\w+)/)?(?P<event>\w+)\s")
_UNNAMED_DEFINITION = re.compile(r"[fprte]\d*\s+\S")


class NoEventError(ValueError):
    """A word names no event of the process."""


class EventRequest(NamedTuple):
    """What one `-e` asks for, with what follows it.

    Attributes:
        event: names of events, or a definition of one.
        filters: `-f`: which hits are recorded; the last one counts.
        triggers: `-R`: what hits do besides.
        is_off: after `-v`: the events are switched off.
    """

    event: str
    filters: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    is_off: bool = False


def choose(word: str, names: Iterable[str]) -> list[str]:
    """Return the events, GROUP:EVENT, that a word of `-e` names, as trace-cmd reads it.

    Args:
        word: `GROUP:EVENT` or `GROUP/EVENT`, a GROUP, an EVENT, "all"; each part may be a glob.
        names: all events.

    Raises:
        NoEventError: it names none.
    """
    names = list(names)
    if word == "all":
        return names
    group, colon, event = word.replace("/", ":").partition(":")
    found = []
    for name in names:
        its_group, _, its_event = name.partition(":")
        if colon:
            is_named = glob_match(group or "*", its_group) and glob_match(event or "*", its_event)
        else:
            is_named = glob_match(word, its_group) or glob_match(word, its_event)
        if is_named:
            found.append(name)
    if not found:
        known = [*names, *(name.partition(":")[2] for name in names)]
        raise NoEventError(f"no such event: {word!r}{did_you_mean(word.replace('/', ':'), known)}")
    return found


def matching(expression: str, names: Iterable[str]) -> list[str]:
    """Return the events that a regular expression of `list -e` matches, as trace-cmd reads it.

    Before a ":" it is for groups, after it for events; without one it is for either. Letters match
    whatever their case.

    Raises:
        NoEventError: it is no expression.
    """
    group, colon, event = expression.partition(":")
    try:
        of_group = re.compile(group, re.IGNORECASE)
        of_event = re.compile(event, re.IGNORECASE) if event else None
    except re.error as error:
        raise NoEventError(f"invalid expression {expression!r}: {error}") from None
    found = []
    for name in names:
        its_group, _, its_event = name.partition(":")
        if of_event is not None:
            is_named = bool(of_group.search(its_group) and of_event.search(its_event))
        else:
            is_named = bool(of_group.search(its_group) or (not colon and of_group.search(its_event)))
        if is_named:
            found.append(name)
    return found


def folder_of(name: str) -> str:
    """Return the folder of the event GROUP:EVENT in an instance."""
    return f"events/{name.replace(':', '/', 1)}"


def triggers_in(text: str) -> list[str]:
    """Return the triggers in the file `trigger` of an event, each as it can be written again.

    A histogram reads with its state behind it. Without a trigger the file holds a comment.
    """
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [line.removesuffix(" [active]").removesuffix(" [paused]") for line in lines]


def configure(folder: InstanceFolder, request: EventRequest, changes: Changes) -> None:
    """Switch events on or off, with their filters and triggers.

    Raises:
        NoEventError: there is no such event.
        OSError: as the process's files.
    """
    if _DEFINITION.match(request.event) or _UNNAMED_DEFINITION.match(request.event):
        names = [_define(folder, request.event, changes)]
    else:
        names = choose(request.event, folder.event_names())
    refusals = []
    for name in names:
        event = folder_of(name)
        if request.filters:
            changes.write(folder, f"{event}/filter", request.filters[-1])
        for trigger in request.triggers:
            changes.append(folder, f"{event}/trigger", trigger, f"!{trigger}")
        try:
            changes.write(folder, f"{event}/enable", "0" if request.is_off else "1")
        except OSError as error:
            if error.errno != EOPNOTSUPP:  # this Python does not tell it, but perhaps others of the group
                raise
            refusals.append(error)
    if len(refusals) == len(names):
        raise refusals[0]


def _define(folder: InstanceFolder, line: str, changes: Changes) -> str:
    """Define a dynamic event in the process, unless it has the same one; return its GROUP:EVENT."""
    top = folder.process.instance()
    before = top.read("dynamic_events").splitlines()
    try:
        top.write("dynamic_events", line, append=True)
    except OSError as error:
        name = _name_in(line)
        known = [known for known in map(_name_in, before) if known.endswith(name)]
        # Some kinds have EINVAL for it, as in the kernel: the text tells.
        if SAME_PROBE.text not in str(error) or not name or not known:
            raise
        return known[0]
    new = [defined for defined in top.read("dynamic_events").splitlines() if defined not in before]
    name = _name_in(new[0]) if new else ""
    if not name:
        raise NoEventError(f"the process did not define the event {line!r}")
    changes.undo_with(top, "dynamic_events", f"-:{name.replace(':', '/')}")
    return name


def _name_in(line: str) -> str:
    """Return GROUP:EVENT of a definition, ":EVENT" if it has no group; "": it has no name either."""
    found = _DEFINITION.match(f"{line} ")
    return f"{found['group'] or ''}:{found['event']}" if found else ""
