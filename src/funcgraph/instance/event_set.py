"""Several events of an instance at once: `available_events`, `set_event`, `enable` and `filter` of a group.

Documentation/trace/events.rst, sections 2.1, 2.2 and 5.3.
"""

from __future__ import annotations

from collections.abc import Collection
from errno import EINVAL
from typing import TYPE_CHECKING

from funcgraph import _engine
from funcgraph.events import filter as event_filter
from funcgraph.names import did_you_mean

if TYPE_CHECKING:
    from funcgraph.instance.events import EventFile, Events

__all__ = [
    "GROUP_FILTER",
    "available_text",
    "chosen",
    "enable_text",
    "filters_text",
    "groups",
    "header_event",
    "header_page",
    "kprobe_profile_text",
    "of_group",
    "set_event_text",
    "triggers_text",
    "write_enable",
    "write_group_filter",
    "write_set_event",
]

#: What the file `filter` of a group holds, whatever was written to it.
GROUP_FILTER = (
    "### global filter ###\n"
    "# Use this to set filters for multiple events.\n"
    "# Only events with the given fields will be affected.\n"
    "# If no events are modified, an error message will be displayed here\n"
)


#: Events of this group are records of the tracer itself, which nobody switches on or off.
_INTERNAL = "ftrace"


def _switched(events: Events) -> list[str]:
    return [name for name in events if not name.startswith(f"{_INTERNAL}/")]


def groups(events: Events) -> list[str]:
    """Return the names of the groups, in the order of their oldest events."""
    return list(dict.fromkeys(name.partition("/")[0] for name in _switched(events)))


def of_group(events: Events, group: str) -> list[EventFile]:
    """Return the events of a group that can be switched on; "": all."""
    return [events[name] for name in _switched(events) if group in ("", name.partition("/")[0])]


def available_text(events: Events) -> str:
    """Return what `available_events` holds: GROUP:EVENT of each."""
    return "".join(f"{name.replace('/', ':')}\n" for name in _switched(events))


def set_event_text(events: Events) -> str:
    """Return what `set_event` holds: GROUP:EVENT of those that the instance wants something of."""
    names = [name for name in _switched(events) if _is_on(events[name])]
    return "".join(f"{name.replace('/', ':')}\n" for name in names)


def filters_text(events: Events) -> str:
    """Return what `show_event_filters` holds: a line for each event with a filter."""
    return "".join(_shown(name, events[name].filter) for name in events if events[name].filter != "none")


def triggers_text(events: Events) -> str:
    """Return what `show_event_triggers` holds: a line for each trigger."""
    lines = [(name, line) for name in events for line in events[name].trigger.splitlines()]
    return "".join(_shown(name, line) for name, line in lines if not line.startswith("#"))


def _shown(name: str, text: str) -> str:
    return f"{name.replace('/', ':'):<31} {text}\n"


def header_event(events: Events) -> str:
    """Return what `header_event` holds, whatever events there are."""
    return _header("header_event")


def header_page(events: Events) -> str:
    """Return what `header_page` holds, whatever events there are."""
    return _header("header_page")


def _header(name: str) -> str:
    return _engine.untraced(_header_text, name)


def _header_text(name: str) -> str:
    from funcgraph import _tracedata

    text: str = getattr(_tracedata, name)()
    return text


def _is_on(event: EventFile) -> bool:
    return event.enable or event.is_soft


# ---- enable


def enable_text(events: Collection[EventFile]) -> str:
    """Return what `enable` of several events holds: 0, 1, or X if some are on."""
    states = {_is_on(event) for event in events}
    return "X\n" if len(states) > 1 else f"{True in states:d}\n"


def write_enable(events: Collection[EventFile], text: str) -> None:
    """Switch all of these on ("1") or off ("0"), or none if that fails.

    Raises:
        OSError: EINVAL: another text. Others: as EventFile.enable.
    """
    if text.removesuffix("\n") not in ("0", "1"):
        raise OSError(EINVAL, f"invalid enable {text!r}: must be 0 or 1")
    on = text.startswith("1")
    _switch({event.name: on for event in events}, events)


def _switch(states: dict[str, bool], events: Collection[EventFile]) -> None:
    """Switch events on or off by name. If one cannot be switched, the others are as before."""
    changed = []
    try:
        for event in events:
            if event.enable != states[event.name]:
                event.enable = states[event.name]
                changed.append(event)
    except BaseException:
        for event in changed:
            event.enable = not states[event.name]
        raise


# ---- set_event


def write_set_event(events: Events, text: str, append: bool) -> None:
    """Switch the events on that words name, and those off that words with `!` name.

    Args:
        events: all events.
        text: words: `GROUP:EVENT`, `EVENT`, `GROUP`, `GROUP:`, `:EVENT`; each part may be a glob.
        append: events that are on stay on.

    Raises:
        OSError: EINVAL: a word names no event; nothing has changed.
    """
    names = _switched(events)
    on = {name for name in names if events[name].enable} if append else set()
    for word in text.split():
        found = chosen(names, word.removeprefix("!"))
        if not found:
            known = [name.replace("/", ":") for name in names]
            raise OSError(EINVAL, f"no event {word!r}: must be GROUP:EVENT{did_you_mean(word, known)}")
        if word.startswith("!"):
            on.difference_update(found)
        else:
            on.update(found)
    _switch({name: name in on for name in names}, of_group(events, ""))


def chosen(names: list[str], word: str) -> list[str]:
    """Return the events that a word of set_event names.

    Raises:
        OSError: EINVAL: it names a module.
    """
    if word.count(":mod:") or word.endswith(":mod"):
        raise OSError(EINVAL, f"no event {word!r}: events belong to no module here")
    group, colon, event = word.replace("/", ":").partition(":")
    if ":" in event or not word:
        return []
    match = _engine.glob_match
    if not colon:  # an event's name, or a group's
        return [name for name in names if any(match(word, part) for part in name.split("/"))]
    both = f"{group or '*'}/{event or '*'}"
    return [name for name in names if all(map(match, both.split("/"), name.split("/")))]


# ---- filter


def write_group_filter(events: Collection[EventFile], text: str) -> None:
    """Give a filter to those of a group's events that have its fields; the others keep theirs.

    Raises:
        FilterError: it is none for any of them; nothing has changed.
    """
    fields = {event.name: event.filter_fields for event in events}
    able = fields if event_filter.clears(text) else event_filter.parse_for_each(text, fields)
    for event in events:
        if event.name in able:
            event.filter = text


def kprobe_profile_text(events: Events) -> str:
    """Return the hits and the missed hits of each probe at a place: the kernel's kprobe_profile."""
    from funcgraph.events import live

    found = live.events()
    counts = {}
    lines = []
    for definition in live.dynamic_events:
        if definition.kind in "pr":
            key = (definition.group, definition.event)
            if key not in counts:
                counts[key] = iter(found[key].engine.probe_counts())
            hits, missed = next(counts[key])
            lines.append(f"  {definition.event:<44} {hits:15} {missed:15}\n")
    return "".join(lines)
