"""Matched messages: what one host sent and another received, by events with the same value in a field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from funcgraph.merge.clock_line import IDENTITY, Bound, ClockLine
from funcgraph.tracedata.events import Event
from funcgraph.tracedata.opened import Trace

__all__ = ["Ends", "Match", "message_bounds", "message_ends"]


class Match(NamedTuple):
    """Which events are the two ends of a message: those whose fields have the same value.

    Attributes:
        sent: "GROUP/EVENT" of the sender; sent_field: the field.
        received: "GROUP/EVENT" of the receiver; received_field: the field.
    """

    sent: str
    sent_field: str
    received: str
    received_field: str

    @classmethod
    def parse(cls, text: str) -> Match:
        """Return what "GROUP/EVENT.FIELD=GROUP/EVENT.FIELD" means: the sender's, then the receiver's.

        Raises:
            ValueError: it means nothing.
        """
        words = [side.rpartition(".") for side in text.split("=")]
        if len(words) != 2 or not all(name.count("/") == 1 and field for name, _, field in words):
            raise ValueError(f"a match is SEND_GROUP/EVENT.FIELD=RECEIVE_GROUP/EVENT.FIELD, not {text!r}")
        (sent, _, sent_field), (received, _, received_field) = words
        return cls(sent, sent_field, received, received_field)


class Ends(NamedTuple):
    """The messages of a host: value -> time on its clock, in ns. A value that came twice is not there."""

    sent: dict[object, int]
    received: dict[object, int]


def message_ends(traces: Sequence[Trace], matches: Sequence[Match]) -> Ends:
    """Return the ends of messages in the traces of one host."""
    sent: dict[object, list[int]] = defaultdict(list)
    received: dict[object, list[int]] = defaultdict(list)
    for trace in traces:
        for event, name in _named_events(trace):
            for number, match in enumerate(matches):
                if name == match.sent and match.sent_field in event.fields:
                    sent[number, event.fields[match.sent_field]].append(event.time_ns)
                if name == match.received and match.received_field in event.fields:
                    received[number, event.fields[match.received_field]].append(event.time_ns)
    return Ends(_once(sent), _once(received))


def _named_events(trace: Trace) -> Iterator[tuple[Event, str]]:
    for event in trace.events():
        if event.kind == "event" and event.type is not None:
            yield event, f"{event.type.system}/{event.type.name}"


def _once(times: dict[object, list[int]]) -> dict[object, int]:
    return {value: found[0] for value, found in times.items() if len(found) == 1}


def message_bounds(host: Ends, other: Ends, line: ClockLine = IDENTITY) -> Iterator[Bound]:
    """Yield what the messages between two hosts say of one's clock: none arrived before it was sent.

    Args:
        host: the messages of the host whose line is looked for.
        other: those of one whose line is known.
        line: that line.
    """
    if line.error_ns is None:
        return
    for value, sent_ns in host.sent.items():
        if value in other.received:
            latest_ns = line.at(other.received[value]) + line.error_ns
            yield Bound(sent_ns, -float("inf"), latest_ns - sent_ns)
    for value, received_ns in host.received.items():
        if value in other.sent:
            earliest_ns = line.at(other.sent[value]) - line.error_ns
            yield Bound(received_ns, earliest_ns - received_ns, float("inf"))
