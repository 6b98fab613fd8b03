"""What led to calls, for an exported page: what scheduled a callback, created a task, started a thread.

What awaits a call the page knows by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from funcgraph.tracedata.call_index import Lane
from funcgraph.view.export_runs import RunLane
from funcgraph.view.flows import (
    MOST_HANDLES_READ,
    Link,
    callbacks,
    creation,
    handle_calls,
    thread_start,
)
from funcgraph.view.served import Served

__all__ = ["Links", "links_of"]

_MOST_CALLBACKS = 50_000
_MOST_TASKS = 300  # for each, some events are read


class Links(NamedTuple):
    """What led to calls of a page.

    Attributes:
        rows: by kind: lane and begin of the call, then lane, begin and function of what led to it, and when
            in that. Of a task or a thread the call is what begins there.
        is_cut: there are more callbacks.
    """

    rows: dict[str, list[list[int]]]
    is_cut: bool

    def remarks(self) -> Iterator[str]:
        """Yield what is not there."""
        if self.is_cut:
            count = len(self.rows["scheduled"])
            yield f"what scheduled a callback is in it for the first {count:,} callbacks alone"


def links_of(
    served: Served,
    lanes: Sequence[Lane],
    runs: Iterable[RunLane],
    part: tuple[int, int],
) -> Links:
    """Return what led to the callbacks, tasks and threads of a page.

    Args:
        served: the trace.
        lanes: those of the page's threads.
        runs: its lanes of tasks.
        part: begin and end, on the trace's clock.
    """
    places = {lane.number: place for place, lane in enumerate(lanes)}

    def source(link: Link) -> list[int] | None:
        return _source(served, places, part, link)

    rows: dict[str, list[list[int]]] = {"scheduled": [], "created": [], "started": []}
    is_cut = handle_calls(served) > MOST_HANDLES_READ
    for run, link in callbacks(served, part):
        if len(rows["scheduled"]) >= _MOST_CALLBACKS:
            is_cut = True
            break
        if run.lane in places and (led := source(link)):
            rows["scheduled"].append([places[run.lane], max(run.begin_ns - part[0], 0), *led])
    tasks = [one for one in runs if one.lane.root.kind == "coroutine"][:_MOST_TASKS]
    for one in tasks:
        if (created := creation(served, one.lane)) and (led := source(created)):
            rows["created"].append([one.row["number"], 0, *led])
    for place, lane in enumerate(lanes):
        if (start := thread_start(served, lane)) and (led := source(start)):
            rows["started"].append([place, 0, *led])
    return Links(rows, is_cut)


def _source(served: Served, places: Mapping[int, int], part: tuple[int, int], link: Link) -> list[int] | None:
    """Return where the page has what led to a call; None: it is not in the part."""
    span = link.source
    if span.lane not in places or span.end_ns < part[0] or span.begin_ns >= part[1]:
        return None
    begin_ns, time_ns = (min(max(time, part[0]), part[1]) - part[0] for time in (span.begin_ns, link.time_ns))
    return [places[span.lane], begin_ns, served.number_or_unknown(span.function), time_ns]
