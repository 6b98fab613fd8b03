"""From a line of dynamic_events to a definition, whatever its kind."""

from __future__ import annotations

from funcgraph.definitions import messages
from funcgraph.definitions.command import Command, split_words
from funcgraph.definitions.definition import COMPONENTS, Definition, EventFields, Parameters
from funcgraph.definitions.eprobe_definition import parse_eprobe
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.fprobe_definition import parse_fprobe
from funcgraph.definitions.kprobe_definition import parse_kprobe
from funcgraph.definitions.synthetic_definition import SyntheticDefinition, parse_dynamic_synthetic

__all__ = ["command_of", "parse_definition"]


def parse_definition(
    line: str, parameters: Parameters | None = None, event_fields: EventFields | None = None
) -> Definition | SyntheticDefinition:
    """Return the definition that a line of dynamic_events is.

        >>> parse_definition("f:shop/order shop.place item=cart.items[0].name:string", {}.get).text
        'f:shop/order shop.place item=cart.items[0].name:string'

    The syntax is that of Documentation/trace/fprobetrace.rst, kprobetrace.rst, eprobetrace.rst and
    histogram.rst ("Synthetic Events"); docs/reference/events.md describes it.

    Args:
        line: the line, without a comment and a newline.
        parameters: returns the names of a function's parameters, given its name, or None if they are not
            known: then `$arg*` is refused, and any name is taken.
        event_fields: returns the names of an event's fields, given its group and its name, or None if there
            is no such event.

    Raises:
        ProbeError: the line defines no event.
    """
    kind, words = line[:1], split_words(line)
    parameters, event_fields = parameters or _nothing, event_fields or _nothing
    if line[:2] == "s:":
        return parse_dynamic_synthetic(line)
    if kind not in COMPONENTS or kind == "s" or len(words) < 2 or _is_uprobe(kind, words[1]):
        raise _no_kind(line)
    command = Command(COMPONENTS[kind], words)
    if kind in "pr":
        return parse_kprobe(command, parameters)
    if kind == "e":
        return parse_eprobe(command, event_fields)
    return parse_fprobe(command, parameters, event_fields)


def command_of(line: str) -> Command:
    """Return the command that a line with a definition is, to point at a word of it."""
    return Command(COMPONENTS[line[0]], split_words(line))


def _nothing(*_: str) -> None:
    """Know no function and no event."""


def _is_uprobe(kind: str, target: str) -> bool:
    """Return whether a `p` or `r` is one on a program's file, `/bin/sh:0x1615`: Python has none."""
    return kind in "pr" and "/" in target and ":" in target


def _no_kind(line: str) -> ProbeError:
    hint = "Kinds: f p r t e s, each as KIND:GROUP/NAME TARGET ARGUMENTS; -:GROUP/NAME deletes."
    return ProbeError(messages.NO_MATCHING_TYPE, "dynevent", line.rstrip("\n"), hint=hint)
