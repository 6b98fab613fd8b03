"""Starts an instance of a recording in the traced process.

Every traced process imports this module, so it imports the engine when it is needed.
"""

import sys

from funcgraph.session.options import engine_keywords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["directories", "start", "stop"]

# The sessions that this process has joined, oldest first.
directories: "dict[str, None]" = {}


def start(
    directory: str,
    settings: "dict[str, Any]",
    instance: "dict[str, Any]",
    *,
    after_site: bool = False,
) -> int:
    """Start an instance and return its handle, for _engine.stop().

    Of a latency tracer the instance gets a text for each section that is kept. It records no calls, and the
    threshold is that of sections.

    Args:
        directory: the session's directory.
        settings: the recording's settings (options.py).
        instance: the settings of the instance.
        after_site: record only after the site module's start-up work.

    Raises:
        ValueError, OSError, RuntimeError: as _engine.start() and _engine.latency_start().
    """
    from funcgraph import _engine

    directories[directory] = None
    keywords = engine_keywords(settings, instance)
    tracer, thresh_us = keywords["tracer"], keywords["thresh_us"]
    is_latency = tracer in _engine.LATENCY_TRACERS
    if is_latency:
        keywords |= {"tracer": "nop", "thresh_us": 0}
    handle = _engine.start(directory, after_site=after_site, **keywords)
    try:
        if is_latency:
            _engine.latency_start(tracer, 0, 0, handle)
            _engine.latency_set_thresh(tracer, thresh_us * 1000)
        if instance["events"]:
            _start_events(handle, instance["events"])
    except BaseException:
        stop([handle])
        raise
    return handle


def stop(handles: "list[int]") -> None:
    """Stop instances, and delete the events that were defined for them. The list is empty then."""
    engine = sys.modules["funcgraph._engine"]  # an import would be recorded
    stopped = list(handles)
    while handles:
        try:
            engine.stop(handles.pop())
        except ValueError:
            pass  # the recorder stopped it: no space left
    if live := sys.modules.get("funcgraph.events.live"):
        live.stop(stopped)


def _start_events(handle: int, texts: "list[str]") -> None:
    """Have the instance record these events. Imported only by recordings that have some."""
    from funcgraph.events import asked, live

    for text in texts:
        live.start(handle, asked.parse(text))
