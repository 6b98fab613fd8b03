"""Definitions of events on other events: `e[:NAME] GROUP/EVENT ... [if FILTER]`.

Documentation/trace/eprobetrace.rst.
"""

from __future__ import annotations

from funcgraph.definitions import messages
from funcgraph.definitions.arguments import parse_arguments
from funcgraph.definitions.command import Command
from funcgraph.definitions.definition import Definition, EventFields
from funcgraph.definitions.event_name import base_event, given_name
from funcgraph.definitions.fetch_source import Scope

__all__ = ["parse_eprobe"]


def parse_eprobe(command: Command, event_fields: EventFields) -> Definition:
    """Return the definition that a command of kind `e` is.

    Args:
        command: the command, of two words or more.
        event_fields: knows the fields of events; an event of which it knows none does not exist.

    Raises:
        ProbeError: it is none.
    """
    words = command.words
    colon = words[0].find(":")
    group, event = given_name(command, colon + 1) if colon >= 0 else ("", "")
    base_group, base = base_event(command)
    condition = words.index("if", 2) if "if" in words[2:] else len(words)
    names = event_fields(base_group, base)
    if names is None:
        raise command.error(messages.BAD_ATTACH_EVENT, 1)
    if condition == len(words) - 1:
        raise command.error(messages.NO_EP_FILTER, condition + 1)
    fields, texts = parse_arguments(command, Scope("e", False, names), 2, condition)
    return Definition(
        "e",
        group or "eprobes",
        event or base,
        f"{base_group}.{base}",
        None,
        False,
        fields,
        texts,
        filter=" ".join(words[condition + 1 :]),
    )
