"""Events from the start of a program: `kprobe_event`, `trace_event` and `trace_trigger` of the variable
FUNCGRAPH.

Documentation/admin-guide/kernel-parameters.txt has their syntax. Functions that an event is on may be defined
later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from errno import EINVAL
from typing import TYPE_CHECKING

from funcgraph.definitions.errors import ProbeError
from funcgraph.events import live, recording_events, trigger
from funcgraph.instance import event_set

if TYPE_CHECKING:
    from funcgraph.definitions.definition import Definition
    from funcgraph.instance.instance import Instance

__all__ = ["PARSERS", "start"]


def _definitions(value: str) -> list[str]:
    """Return the definitions in a text: `;` between two, `,` for the blanks in them, but not in quotes."""
    lines = [_blanks_for_commas(text).strip() for text in _outside_quotes(value, ";")]
    if "" in lines:
        raise ValueError("no definition between two semicolons")
    for line in lines:
        try:
            if recording_events.parse(line).is_undeclared:
                raise ValueError(f"no such event: {line!r}")
        except ProbeError as error:
            raise ValueError(f"{line!r}, column {error.caret + 1}: {error.message}") from None
        except ValueError as error:
            raise ValueError(" ".join(str(error).split())) from None
    return lines


def _outside_quotes(text: str, separator: str) -> list[str]:
    """Split a text at separators that are not in double quotes."""
    parts = [""]
    is_quoted = False
    for character in text:
        if character == '"':
            is_quoted = not is_quoted
        if character == separator and not is_quoted:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _blanks_for_commas(text: str) -> str:
    return " ".join(_outside_quotes(text, ","))


def _words(value: str) -> list[str]:
    words = value.split(",")
    if "" in words:
        raise ValueError("no text between two commas")
    return words


# `EVENT.TRIGGER`, where a comma ends the one before: `hist:keys=a,b` has commas of its own.
_TRIGGER = re.compile(rf"(?:^|,)([\w:/*?-]+)\.(?=(?:{'|'.join(trigger.KINDS)})\b)")


def _triggers(value: str) -> list[tuple[str, str]]:
    """Return event and trigger of each `EVENT.TRIGGER[ if FILTER]`, with commas between them."""
    _, *parts = _TRIGGER.split(value)
    if not _TRIGGER.match(value):
        kinds = ", ".join(trigger.KINDS)
        raise ValueError(f"must be EVENT.TRIGGER, where the trigger begins with one of {kinds}")
    return list(zip(parts[::2], parts[1::2], strict=True))


#: Setting -> what makes a list of its value, or raises ValueError.
PARSERS: Mapping[str, Callable[[str], list[str] | list[tuple[str, str]]]] = {
    "events": _definitions,
    "enabled_events": _words,
    "event_triggers": _triggers,
}


def start(
    instance: Instance,
    definitions: list[str],
    enabled: list[str],
    triggers: list[tuple[str, str]],
    made: list[Definition],
) -> None:
    """Have an instance record what it is to record of events.

    Args:
        definitions: what is to be defined and recorded.
        enabled: words of set_event.
        triggers: event and trigger of each.
        made: gets the definitions that are made.

    Raises:
        OSError, ValueError: an event cannot be made, or there is none of a name.
    """
    events = instance.events
    for text in definitions:
        event = recording_events.parse(text)
        if definition := live.define(event):
            made.append(definition)
        file = events["/".join(event.name)]
        if event.filter:
            file.filter = event.filter.text
        file.enable = True
    for name, text in triggers:
        chosen = event_set.chosen(list(events), name)
        if not chosen:
            raise OSError(EINVAL, f"trace_trigger: no event {name!r}")
        for one in chosen:
            events[one].trigger = text
    if enabled:
        event_set.write_set_event(events, " ".join(enabled), append=True)
