"""The rows of the files of events: `dynamic_events`, `error_log`, `set_event`, and the folder `events`.

Documentation/trace/events.rst, fprobetrace.rst and histogram.rst have the syntax.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from errno import E2BIG, EDOM, EEXIST, EILSEQ, ENOENT, ENOSPC, EOPNOTSUPP, EPERM, ESRCH
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from funcgraph import _engine
from funcgraph.definitions.errors import CommandError
from funcgraph.events.files import FILES
from funcgraph.events.live import dynamic_events
from funcgraph.instance import event_set
from funcgraph.instance.control_files.control_file import BoundFile, ControlFile, File, NamedFiles, Row
from funcgraph.instance.events import EventFile, Events

if TYPE_CHECKING:
    from funcgraph.instance.state import State

__all__ = ["EVENT_FILES"]

_FOLDER = "events/"
_PRINT_FORMAT = f"{_FOLDER}ftrace/print/format"  # of an event that instances have, too
_DEFINITION_ERRORS = (E2BIG, EEXIST, EILSEQ, ENOENT, EOPNOTSUPP)
_FILTER_ERRORS = (ENOENT, EPERM, ESRCH)  # the kernel's numbers for parentheses and quotes
# EOPNOTSUPP: a static event that this CPython does not tell. EPERM: a field of it is redacted.
_ENABLE_ERRORS = (ENOSPC, EOPNOTSUPP, EPERM)


# ---- files about all events


def _list_row(file: str) -> ControlFile[State]:
    """Return the row of a file that lists dynamic events."""
    return ControlFile(
        file,
        lambda state: dynamic_events.read(file),
        lambda state, text, append: dynamic_events.write(file, text, append),
        writes="lines",
        is_of_process=True,
        errors=_DEFINITION_ERRORS,
        notes="of several lines those that are right are done",
    )


def _write_log(state: State, text: str, append: bool) -> None:
    """Empty the log, whatever the text."""
    if not append:
        dynamic_events.log.clear()


def _write_set_event(state: State, text: str, append: bool) -> None:
    with state.lock:
        event_set.write_set_event(Events(state), text, append)


def _row(
    name: str, read: Callable[[Events], str], *, is_of_process: bool = False, notes: str = ""
) -> ControlFile[State]:
    """Return the row of a file about all events that is read-only."""
    return ControlFile(name, lambda state: read(Events(state)), is_of_process=is_of_process, notes=notes)


def _write_all_enable(state: State, text: str, append: bool) -> None:
    _write_enable(_EventGroup(state, f"{_FOLDER}enable", event_set.of_group(Events(state), "")), text, append)


_NAMED = NamedFiles(
    *map(_list_row, FILES),
    ControlFile("error_log", lambda state: dynamic_events.log.text(), _write_log, writes="empty"),
    ControlFile(
        "set_event",
        lambda state: event_set.set_event_text(Events(state)),
        _write_set_event,
        writes="list",
        errors=_ENABLE_ERRORS,
    ),
    _row("available_events", event_set.available_text, is_of_process=True),
    _row(
        "kprobe_profile",
        event_set.kprobe_profile_text,
        is_of_process=True,
        notes="hits and missed hits of each `p` and `r`, since it was defined",
    ),
    _row("show_event_filters", event_set.filters_text),
    _row("show_event_triggers", event_set.triggers_text),
    _row(f"{_FOLDER}header_event", event_set.header_event, notes="of `trace_pipe_raw`"),
    _row(f"{_FOLDER}header_page", event_set.header_page, notes="of `trace_pipe_raw`"),
    ControlFile(
        f"{_FOLDER}enable",
        lambda state: event_set.enable_text(event_set.of_group(Events(state), "")),
        _write_all_enable,
        errors=_ENABLE_ERRORS,
    ),
)


# ---- files of a group of events, and of one event


class _EventGroup(NamedTuple):
    """The events that a file of the folder is about.

    Attributes:
        state: their instance's.
        name: the file's name, for errors.
        events: the events.
    """

    state: State
    name: str
    events: list[EventFile]


class _OneEvent(NamedTuple):
    """The event that a file of the folder is about; the attributes are those of _EventGroup."""

    state: State
    name: str
    event: EventFile


def _changed(group: _EventGroup | _OneEvent, change: Callable[[], None]) -> None:
    """Change events, with the log that the kernel keeps of what is refused."""
    try:
        with group.state.lock:
            change()
    except CommandError as error:
        dynamic_events.log.add_error(error)
        raise OSError(error.errno, str(error), group.name) from error


def _write_enable(group: _EventGroup, text: str, append: bool) -> None:
    _changed(group, lambda: event_set.write_enable(group.events, text))


def _write_group_filter(group: _EventGroup, text: str, append: bool) -> None:
    _changed(group, lambda: event_set.write_group_filter(group.events, text))


def _read_one_enable(one: _OneEvent) -> str:
    return f"{one.event.enable:d}{'*' if one.event.is_soft or one.event.is_base else ''}\n"


def _write_one_enable(one: _OneEvent, text: str, append: bool) -> None:
    _changed(one, lambda: event_set.write_enable([one.event], text))


def _write_filter(one: _OneEvent, text: str, append: bool) -> None:
    def change() -> None:
        one.event.filter = text

    _changed(one, change)


def _write_trigger(one: _OneEvent, text: str, append: bool) -> None:
    def change() -> None:
        if not append:
            one.event.remove_histograms()
        if text or append:  # `: > trigger` writes nothing
            one.event.write_trigger(text)

    _changed(one, change)


_GROUP_ROWS: tuple[ControlFile[_EventGroup], ...] = (
    ControlFile(
        f"{_FOLDER}GROUP/enable",
        lambda group: event_set.enable_text(group.events),
        _write_enable,
        errors=_ENABLE_ERRORS,
    ),
    ControlFile(
        f"{_FOLDER}GROUP/filter",
        lambda group: event_set.GROUP_FILTER,
        _write_group_filter,
        errors=_FILTER_ERRORS,
    ),
)
_SWITCHED = ("enable", "filter")  # only an event that can be switched off has these
_EVENT_ROWS: tuple[ControlFile[_OneEvent], ...] = (
    ControlFile(
        f"{_FOLDER}GROUP/EVENT/enable",
        _read_one_enable,
        _write_one_enable,
        errors=_ENABLE_ERRORS,
    ),
    ControlFile(
        f"{_FOLDER}GROUP/EVENT/filter",
        lambda one: f"{one.event.filter}\n",
        _write_filter,
        errors=_FILTER_ERRORS,
    ),
    ControlFile(f"{_FOLDER}GROUP/EVENT/format", lambda one: one.event.format),
    ControlFile(f"{_FOLDER}GROUP/EVENT/hist", lambda one: one.event.hist),
    ControlFile(f"{_FOLDER}GROUP/EVENT/id", lambda one: f"{one.event.id}\n", notes="the type of its records"),
    ControlFile(
        f"{_FOLDER}GROUP/EVENT/trigger",
        lambda one: one.event.trigger,
        _write_trigger,
        writes="list",
        errors=(EDOM, EEXIST, ENOSPC, *_FILTER_ERRORS),
    ),
)
_OWN_FORMAT: ControlFile[str] = ControlFile(
    f"{_FOLDER}ftrace/RECORD/format",
    lambda name: _own_formats()[name],
    notes="the formats of the tracers' records, which `trace_pipe_raw` has",
)


def _last(name: str) -> str:
    return name.rpartition("/")[2]


class _EventFiles:
    """The files of events: a FileGroup."""

    folder = _FOLDER

    def __init__(self) -> None:
        self._of_group = {_last(row.name): row for row in _GROUP_ROWS}
        self._of_event = {_last(row.name): row for row in _EVENT_ROWS}

    def rows(self) -> Iterable[Row]:
        return (*_NAMED.rows(), *_GROUP_ROWS, *_EVENT_ROWS, _OWN_FORMAT)

    def names(self, state: State, folder: str | None) -> Iterator[str]:
        """Yield the names of the files that there are now, whichever the folder."""
        yield from _NAMED.names(state, folder)
        events = Events(state)
        for group in event_set.groups(events):
            yield from (f"{_FOLDER}{group}/{file}" for file in self._of_group)
        for event in events:
            yield from (f"{_FOLDER}{event}/{file}" for file in self._of(events[event]))
        yield from (name for name in _own_formats() if name != _PRINT_FORMAT)

    def _of(self, event: EventFile) -> list[str]:
        """Return the files of an event."""
        return [file for file in self._of_event if event.is_switched or file not in _SWITCHED]

    def find(self, state: State, name: str) -> File | None:
        named = _NAMED.find(state, name)
        if named is not None or not name.startswith(_FOLDER):
            return named
        folder, _, file = name.removeprefix(_FOLDER).rpartition("/")
        if file == "format" and name in _own_formats():
            return BoundFile(_OWN_FORMAT, name, name)
        events = Events(state)
        if folder in list(events):
            one = _OneEvent(state, name, events[folder])
            return BoundFile(self._of_event[file], one, name) if file in self._of(one.event) else None
        if file not in self._of_group or folder not in event_set.groups(events):
            return None
        group = _EventGroup(state, name, event_set.of_group(events, folder))
        return BoundFile(self._of_group[file], group, name)


def _own_formats() -> dict[str, str]:
    """Return the formats of ftrace's own records, which trace_pipe_raw has: file -> text."""
    return _engine.untraced(_load_own_formats)


@cache
def _load_own_formats() -> dict[str, str]:
    from funcgraph.buffer.dat_parts import own_formats

    return {f"{_FOLDER}{name}/format": one.text for name, one in own_formats().items()}


EVENT_FILES = _EventFiles()
