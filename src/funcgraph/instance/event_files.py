"""The kernel's files of events, as text: `dynamic_events`, `error_log`, `set_event`, and the folder `events`.

Documentation/trace/events.rst, fprobetrace.rst and histogram.rst have the syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from funcgraph import _engine
from funcgraph.events.errors import CommandError
from funcgraph.events.files import FILES
from funcgraph.events.live import dynamic_events
from funcgraph.instance import event_set
from funcgraph.instance.events import EventFile, Events

if TYPE_CHECKING:
    from funcgraph.instance.state import State

__all__ = ["access", "exists", "is_of_process", "names", "pipe", "read", "write"]

_FOLDER = "events/"
_LOG = "error_log"
_SET = "set_event"
_OF_AN_EVENT = ("enable", "filter", "format", "hist", "id", "trigger")
_OF_SWITCHED = ("enable", "filter")  # only an event that can be switched off has these
_OF_A_GROUP = ("enable", "filter")
_OF_ALL = "enable"
_WRITTEN = ("enable", "filter", "trigger")
_AVAILABLE = "available_events"
_KPROBE_PROFILE = "kprobe_profile"
_PRINT_FORMAT = f"{_FOLDER}ftrace/print/format"  # of an event that instances have, too


#: Files of all events that can only be read -> their text.
_LISTS: dict[str, Callable[[Events], str]] = {
    _AVAILABLE: event_set.available_text,
    _KPROBE_PROFILE: event_set.kprobe_profile_text,
    "show_event_filters": event_set.filters_text,
    "show_event_triggers": event_set.triggers_text,
    f"{_FOLDER}header_event": event_set.header_event,
    f"{_FOLDER}header_page": event_set.header_page,
}


class _Found(NamedTuple):
    """A file of the folder.

    Attributes:
        events: the events that it is of.
        file: the last part of its name.
        is_single: it is the file of one event.
    """

    events: list[EventFile]
    file: str
    is_single: bool


def names(state: State, folder: str | None) -> Iterator[str]:
    """Yield the names of the files that there are now, whichever the folder."""
    yield from FILES
    yield from (_LOG, _SET, *_LISTS, f"{_FOLDER}{_OF_ALL}")
    events = Events(state)
    for group in event_set.groups(events):
        yield from (f"{_FOLDER}{group}/{file}" for file in _OF_A_GROUP)
    for event in events:
        yield from (f"{_FOLDER}{event}/{file}" for file in _of_event(events[event]))
    yield from (name for name in _own_formats() if name != _PRINT_FORMAT)


def exists(state: State, name: str) -> bool:
    """Return whether there is a file of this name."""
    return name in (*FILES, _LOG, _SET, *_LISTS) or _find(state, name) is not None or _is_own_format(name)


def access(name: str) -> str:
    """Return how a file can be used: "r" or "rw"."""
    return "rw" if name in (*FILES, _LOG, _SET) or name.rpartition("/")[2] in _WRITTEN else "r"


def is_of_process(name: str) -> bool:
    """Return whether a file is the same in each instance."""
    return name in (*FILES, _AVAILABLE, _KPROBE_PROFILE)


def pipe(state: State, name: str) -> None:
    """None of these files is a pipe."""


def _of_event(event: EventFile) -> list[str]:
    """Return the files of an event."""
    return [file for file in _OF_AN_EVENT if event.is_switched or file not in _OF_SWITCHED]


def _find(state: State, name: str) -> _Found | None:
    """Return which file of the folder a name is; None: there is none of that name."""
    if not name.startswith(_FOLDER):
        return None
    folder, _, file = name.removeprefix(_FOLDER).rpartition("/")
    events = Events(state)
    if folder in list(events):
        event = events[folder]
        return _Found([event], file, True) if file in _of_event(event) else None
    if folder and folder not in event_set.groups(events):
        return None
    if file not in (_OF_A_GROUP if folder else (_OF_ALL,)):
        return None
    return _Found(event_set.of_group(events, folder), file, False)


def read(state: State, name: str) -> str:
    """Return what a file holds."""
    if name in FILES:
        return dynamic_events.read(name)
    if name == _LOG:
        return dynamic_events.log.text()
    if name == _SET:
        return event_set.set_event_text(Events(state))
    if name in _LISTS:
        return _LISTS[name](Events(state))
    if _is_own_format(name):
        return _own_formats()[name]
    found = _find(state, name)
    assert found is not None
    if found.is_single:
        return _read_of_event(found.events[0], found.file)
    return event_set.GROUP_FILTER if found.file == "filter" else event_set.enable_text(found.events)


def _is_own_format(name: str) -> bool:
    return name.startswith(_FOLDER) and name.endswith("/format") and name in _own_formats()


def _own_formats() -> dict[str, str]:
    """Return the formats of ftrace's own records, which trace_pipe_raw has: file -> text."""
    formats: dict[str, str] = _engine.untraced(_load_own_formats)
    return formats


@cache
def _load_own_formats() -> dict[str, str]:
    from funcgraph.instance.dat_parts import own_formats

    return {f"{_FOLDER}{name}/format": one.text for name, one in own_formats().items()}


def _read_of_event(event: EventFile, file: str) -> str:
    if file == "enable":
        return f"{event.enable:d}{'*' if event.is_soft or event.is_base else ''}\n"
    text: str = getattr(event, file) if file != "id" else str(event.id)
    return f"{text}\n" if file in ("filter", "id") else text


def write(state: State, name: str, text: str, append: bool) -> None:
    """Write to a file: `echo TEXT > NAME`.

    Raises:
        OSError: with the kernel's number. What the kernel logs of it is in error_log.
    """
    if name in FILES:
        dynamic_events.write(name, text, append)
    elif name == _LOG:
        if not append:
            dynamic_events.log.clear()
    elif name == _SET:
        with state.lock:
            event_set.write_set_event(Events(state), text, append)
    else:
        found = _find(state, name)
        assert found is not None
        try:
            with state.lock:
                _write_found(found, text, append)
        except CommandError as error:
            dynamic_events.log.add_error(error)
            raise OSError(error.errno, str(error), name) from error


def _write_found(found: _Found, text: str, append: bool) -> None:
    if found.file == "enable":
        event_set.write_enable(found.events, text)
    elif not found.is_single:
        event_set.write_group_filter(found.events, text)
    elif found.file == "filter":
        found.events[0].filter = text
    else:
        if not append:
            found.events[0].remove_histograms()
        if text or append:  # `: > trigger` writes nothing
            found.events[0].write_trigger(text)
