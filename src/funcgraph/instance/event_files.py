"""The kernel's files of events, as text: `dynamic_events`, `error_log`, `events/GROUP/EVENT/filter`.

Documentation/trace/events.rst, fprobetrace.rst and histogram.rst have the syntax.
"""

from __future__ import annotations

from collections.abc import Iterator
from errno import EINVAL
from typing import TYPE_CHECKING

from funcgraph.events.errors import CommandError
from funcgraph.events.live import dynamic_events
from funcgraph.events.registry import FILES
from funcgraph.instance.events import EventFile, Events

if TYPE_CHECKING:
    from funcgraph.instance.state import State

__all__ = ["exists", "names", "read", "write"]

_FOLDER = "events/"
_LOG = "error_log"
_OF_AN_EVENT = ("enable", "filter", "hist", "id", "trigger")


def names(state: State) -> Iterator[str]:
    """Yield the names of the files that there are now."""
    yield from FILES
    yield _LOG
    for event in Events(state):
        yield from (f"{_FOLDER}{event}/{file}" for file in _OF_AN_EVENT)


def exists(state: State, name: str) -> bool:
    """Return whether there is a file of this name."""
    return name in FILES or name == _LOG or _find(state, name) is not None


def _find(state: State, name: str) -> tuple[EventFile, str] | None:
    """Return the event and the last part of the name, or None."""
    event, _, file = name.removeprefix(_FOLDER).rpartition("/")
    events = Events(state)
    if not name.startswith(_FOLDER) or file not in _OF_AN_EVENT or event not in list(events):
        return None
    return events[event], file


def read(state: State, name: str) -> str:
    """Return what a file holds."""
    if name in FILES:
        return dynamic_events.read(name)
    if name == _LOG:
        return dynamic_events.log.text()
    found = _find(state, name)
    assert found is not None
    event, file = found
    if file == "enable":
        return f"{event.enable:d}{'*' if event.has_triggers else ''}\n"
    text: str = getattr(event, file) if file != "id" else str(event.id)
    return text if file in ("trigger", "hist") else f"{text}\n"


def write(state: State, name: str, text: str, append: bool) -> None:
    """Write to a file: `echo TEXT > NAME`.

    Raises:
        OSError: with the kernel's number. What the kernel logs of it is in error_log.
    """
    if name in FILES:
        dynamic_events.write(name, text, append)
        return
    if name == _LOG:
        dynamic_events.log.clear()
        return
    found = _find(state, name)
    assert found is not None
    try:
        _write_of_event(*found, text, append)
    except CommandError as error:
        dynamic_events.log.add_error(error)
        raise OSError(error.errno, str(error), name) from error


def _write_of_event(event: EventFile, file: str, text: str, append: bool) -> None:
    if file == "enable":
        if text.removesuffix("\n") not in ("0", "1"):
            raise OSError(EINVAL, f"invalid enable {text!r}: must be 0 or 1")
        event.enable = text.startswith("1")
    elif file == "filter":
        event.filter = text
    elif file == "trigger":
        if not append:
            event.remove_histograms()
        event.trigger = text
    else:
        raise OSError(EINVAL, f"invalid write to {file}: it is read-only")
