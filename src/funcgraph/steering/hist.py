"""Histograms of a running process's events: showing, setting up, pausing, emptying, removing them."""

from __future__ import annotations

from funcgraph.steering.events import choose, folder_of, triggers_in
from funcgraph.steering.folder import InstanceFolder

__all__ = ["COMMANDS", "command", "event_of", "histograms", "remove", "set_up", "text_of"]

_HIST = "hist:"
#: What can be done with a histogram that is there -> the kernel's word for it.
COMMANDS = {"pause": "pause", "continue": "continue", "clear": "clear"}


def event_of(folder: InstanceFolder, word: str) -> str:
    """Return the one event, GROUP:EVENT, that a word names.

    Raises:
        NoEventError: it names none, or several.
    """
    names = choose(word, folder.event_names())
    if len(names) > 1:
        raise ValueError(
            f"{word!r} names {len(names)} events, {names[0]} and {names[1]} among them: give one"
        )
    return names[0]


def histograms(folder: InstanceFolder, event: str) -> list[str]:
    """Return the histogram triggers of an event as they can be written again."""
    triggers = triggers_in(folder.read(f"{folder_of(event)}/trigger"))
    return [trigger for trigger in triggers if trigger.startswith(_HIST)]


def text_of(folder: InstanceFolder, event: str | None) -> str:
    """Return the histograms of an event, or of all events that have one."""
    if event is not None:
        return folder.read(f"{folder_of(event)}/hist")
    lines = folder.read("show_event_triggers").splitlines()
    events = dict.fromkeys(name for name, text in map(_split, lines) if text.startswith(_HIST))
    return "".join(folder.read(f"{folder_of(name)}/hist") for name in events)


def _split(line: str) -> tuple[str, str]:
    name, _, text = line.partition(" ")
    return name, text.strip()


def set_up(folder: InstanceFolder, event: str, trigger: str) -> None:
    """Give an event one more histogram: `keys=amount:sort=hitcount`, with or without "hist:" before it."""
    folder.write(f"{folder_of(event)}/trigger", _with_kind(trigger), append=True)


def remove(folder: InstanceFolder, event: str, trigger: str | None) -> None:
    """Remove a histogram of an event, or all that it has."""
    texts = histograms(folder, event) if trigger is None else [_with_kind(trigger)]
    for text in reversed(texts):
        folder.write(f"{folder_of(event)}/trigger", f"!{text}", append=True)


def command(folder: InstanceFolder, event: str, name: str) -> None:
    """Do one of COMMANDS with all histograms of an event."""
    for text in histograms(folder, event):
        body, space, condition = text.partition(" if ")
        folder.write(f"{folder_of(event)}/trigger", f"{body}:{COMMANDS[name]}{space}{condition}", append=True)


def _with_kind(trigger: str) -> str:
    return trigger if trigger.startswith(_HIST) else f"{_HIST}{trigger}"
