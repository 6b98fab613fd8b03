"""Events that a recording asks for: `funcgraph record -e DEFINITION -f FILTER -R TRIGGER`.

In a recording's settings an event is a text: `DEFINITION` or the name of a static event, both also with
` if FILTER`, and a line for each of its triggers.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from funcgraph.definitions.definition import Definition
from funcgraph.definitions.event_name import is_identifier
from funcgraph.definitions.parse import parse_definition
from funcgraph.events import filter as event_filter
from funcgraph.events import static
from funcgraph.events.registry import AnyDefinition, Registry
from funcgraph.names import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from funcgraph.definitions.field import Field

__all__ = [
    "RecordingEvent",
    "Together",
    "filter_fields",
    "native_patterns",
    "parse",
    "redacted",
    "with_filter",
    "with_trigger",
]


class RecordingEvent(NamedTuple):
    """One event of a recording.

    Attributes:
        text: its definition as given, or its name.
        name: its group and its name.
        definition: what the definition means; None: a static event is asked for.
        filter: which hits are recorded; None: all.
        triggers: what its hits do besides.
        is_undeclared: no static event has the name yet; the program may declare it later. Its filter and its
            triggers are checked only then: here they are None and (), and `text` has everything.
    """

    text: str
    name: tuple[str, str]
    definition: Definition | None
    filter: event_filter.Filter | None
    triggers: tuple[str, ...]
    is_undeclared: bool = False


_IF = " if "


def _split(text: str) -> tuple[str, str]:
    """Return the definition and the filter; "": there is none. An `if` in a `["key"]` begins no filter."""
    at = text.find(_IF)
    while at >= 0 and text.count('"', 0, at) % 2:
        at = text.find(_IF, at + 1)
    return (text, "") if at < 0 else (text[:at], text[at + len(_IF) :])


def with_filter(text: str, filter: str) -> str:
    """Return the text of an event with a filter, which replaces the one that it had."""
    first, *triggers = text.split("\n")
    return "\n".join((f"{_split(first)[0]}{_IF}{filter}", *triggers))


def with_trigger(text: str, trigger: str) -> str:
    """Return the text of an event with one more trigger."""
    return f"{text}\n{trigger}"


def parse(text: str) -> RecordingEvent:
    """Return what the text of an event means.

    Raises:
        ValueError: it defines no event; or the filter or a trigger is none for its fields. The text has the
            place.
    """
    first, *lines = text.split("\n")
    line, condition = _split(first)
    if (undeclared := _undeclared(line)) is not None:
        return RecordingEvent(text, undeclared, None, None, (), is_undeclared=True)
    event = _static_event(line)
    if event is not None:
        definition, name, fields = None, (event.group, event.name), event.fields
        names = event_filter.Fields(fields)
    else:
        definition = _definition(line)
        name, fields = (definition.group, definition.event), definition.fields
        names = filter_fields(definition)
    found = event_filter.parse(condition, names) if condition else None
    triggers = tuple(trigger.strip() for trigger in lines if trigger.strip())
    if triggers:
        _check_triggers(triggers, name, fields, names)
    return RecordingEvent(line, name, definition, found, triggers)


def redacted(text: str, words: Sequence[str]) -> str:
    """Return the text of an event which records no value of such a name (redaction.py).

    An event that the program may declare later stays as it is.

    Args:
        text: as parse() takes it.
        words: texts as `--redact` takes them.

    Raises:
        ValueError: as parse(). RedactionError: as redaction.redact() and check_fields().
    """
    from funcgraph.events import redaction  # only now: few recordings need it

    request = parse(text)
    definition = request.definition
    if definition is None:
        event = None if request.is_undeclared else static.find(*request.name)
        if event is not None:
            redaction.check_fields(event.group, event.name, event.fields, words)
        return text
    other = redaction.redact(definition, words)
    return text if other is definition else other.text + text[len(request.text) :]


def native_patterns(texts: Iterable[str]) -> list[str]:
    """Return the patterns of the native functions, and of places in them, that events are on.

    Args:
        texts: of events. Names of events, and what defines none, are passed over.
    """
    patterns = []
    for text in texts:
        with suppress(ValueError):
            definition = parse(text).definition
            if definition is not None and definition.is_native:
                patterns.append(definition.pattern)
    return patterns


def _definition(line: str) -> Definition:
    definition = parse_definition(line, event_fields=static.names)
    if not isinstance(definition, Definition):
        raise ValueError("a synthetic event is generated by a trigger, which a recording does not have")
    return definition


def _check_triggers(
    triggers: Sequence[str], name: tuple[str, str], fields: Sequence[Field], names: event_filter.Fields
) -> None:
    from funcgraph.events import trigger  # with all of histograms: few recordings have triggers

    keys = [trigger.key_of(text) for text in triggers]
    for text, key in zip(triggers, keys, strict=True):
        if trigger.parse(text, *name, fields, names).hist:
            raise ValueError(f"{text}: a recording keeps no histograms; an instance in the program does")
        if keys.count(key) > 1:
            raise ValueError(f"{text}: an event has one trigger of that kind")


def _event_name(text: str) -> tuple[str, str] | None:
    """Return group and name of `py/raise` or `py:raise`, and ("", "raise") of `raise`; None: a definition."""
    word = text.strip()
    if not word.replace("_", "").replace("/", "").replace(":", "").isalnum() or word[1:2] == ":":
        return None
    group, _, name = word.replace(":", "/").rpartition("/")
    return group, name


def _undeclared(text: str) -> tuple[str, str] | None:
    """Return group and name of an event that the program may declare later; None: the text names no such."""
    found = _event_name(text)
    if found is None or static.find(*found) is not None or static.is_cpythons(found[0]):
        return None
    return found if all(map(is_identifier, found)) else None


def _static_event(text: str) -> static.StaticEvent | None:
    """Return the event of `py/raise`, `py:raise` or `raise`; None: the text is a definition.

    Raises:
        ValueError: it is the name of no event, or of one that is always recorded.
    """
    found = _event_name(text)
    if found is None:
        return None
    event = static.find(*found)
    if event is None:
        word = text.strip()
        every = "/".join(word.split(":"))
        known = [f"{one.group}/{one.name}" for one in static.static_events().values()]
        raise ValueError(f"no such event: {word!r}{did_you_mean(every, known)}")
    if (event.group, event.name) == static.PRINT:
        raise ValueError("ftrace/print needs no -e: a recording has the texts that the program writes")
    return event


def filter_fields(
    definition: Definition, functions: Callable[[str], Collection[int]] | None = None
) -> event_filter.Fields:
    """Return the names that a filter of the event can have.

    Args:
        functions: as event_filter.Fields has it.
    """
    places = ("__probe_func", "__probe_ret_ip") if definition.is_return else ("__probe_ip",)
    return event_filter.Fields(definition.fields, places, functions)


class Together:
    """The events of all instances of a recording: can one process have them all?"""

    def __init__(self) -> None:
        self._registry = Registry(_NoEngine(), event_fields=static.names)

    def add(self, text: str) -> None:
        """Add an event; the same definition may be there already.

        Raises:
            ValueError: as parse(); or it cannot be there beside those before it.
        """
        request = parse(text)
        if request.definition is None:
            return
        if all(definition.text != request.definition.text for definition in self._registry):
            self._registry.define(request.text)


class _NoEngine:
    """Makes no events: the table of dynamic events alone says what it would refuse."""

    def install(self, definition: AnyDefinition, *, is_pending: bool = False) -> None:
        """Accept it."""

    def remove(self, handle: None) -> None:
        """Have nothing to remove."""

    def is_busy(self, handle: None) -> bool:
        """Return that it is not."""
        return False
