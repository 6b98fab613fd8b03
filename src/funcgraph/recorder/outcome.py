"""The result of a recording as lines for a person: figures, losses, names that nearly match a pattern."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from funcgraph import _engine, _tracedata
from funcgraph.names import nearest_names
from funcgraph.recorder.progress import bytes_text, plural
from funcgraph.session.why import WHY_INSTANCES

if TYPE_CHECKING:
    from funcgraph.events.recording_events import RecordingEvent

__all__ = [
    "dumped",
    "figures",
    "looks_for_latency",
    "losses",
    "missing",
    "nothing_matched",
    "silent",
    "summary",
    "undeclared",
    "waits",
    "write_failure",
]


# Of each function that ran its name, with its module, and its module.
_Functions: TypeAlias = list[tuple[str, str]]


def figures(totals: dict[str, int]) -> str:
    """Return events, bytes and losses so far, for the progress line."""
    lost = totals["lost"] + totals["damaged"] + totals["overrun"]
    return f"{plural(totals['records'], 'event')}, {bytes_text(totals['bytes'])}, {lost:,} lost"


def dumped(reasons: str, figures: dict[str, int], path: str) -> str:
    """Return the line for a trace of what was kept in memory."""
    size = bytes_text(os.stat(path).st_size)
    return f"{reasons}: the latest {plural(figures['records'], 'event')}: {path} ({size})"


def summary(totals: dict[str, int], output: str, files: int = 1, keep: int = 1) -> str:
    """Return the line with the figures of a trace and its path; of several files, of all together.

    Args:
        files: how many were written, one after the other.
        keep: how many of them remain at most.
    """
    size = bytes_text(os.stat(output).st_size)
    if files > 1:
        rest = f", of which {keep} {'is' if keep == 1 else 'are'} kept" if keep < files else ""
        events = plural(totals["records"], "event")
        return f"{events} in {files} files{rest}, the newest: {output} ({size})"
    return (
        f"{plural(totals['records'], 'event')} of {plural(totals['functions'], 'function')} in "
        f"{plural(totals['tasks'], 'thread')} of {plural(totals['processes'], 'process')}: {output} ({size})"
    )


def losses(totals: dict[str, int]) -> list[str]:
    """Return a line for each kind of loss."""
    lines = []
    if totals["lost"]:
        lines.append(f"{plural(totals['lost'], 'event')} lost: the ring buffer was full (-b makes it larger)")
    if totals["damaged"]:
        lines.append(f"{plural(totals['damaged'], 'place')} damaged: the events there are missing")
    if totals["overrun"]:
        lines.append(f"{plural(totals['overrun'], 'call')} not traced: a shadow stack was full")
    if totals["cut"]:
        lines.append(f"symbols of {plural(totals['cut'], 'process')} cut at 64 MiB: names are missing there")
    return lines


_MISSING_REASONS = {
    errno.ENOENT: "the session's folder is not under their root directory",
    errno.ENOTDIR: "the session's folder is not under their root directory",
    errno.EACCES: "no permission for the session's folder",
    errno.EPERM: "no permission for the session's folder",
    errno.EMFILE: "no file descriptor was left",
    errno.ENFILE: "no file descriptor was left",
    errno.ENOSPC: "no room for a ring buffer",
    errno.EDQUOT: "no room for a ring buffer",
    errno.ENOMEM: "no memory for a ring buffer",
    errno.EFBIG: "their limit of a file's size is too small for a ring buffer",
}
_MOST_IDS = 5


def missing(processes: Sequence[tuple[int, int]], more: int) -> list[str]:
    """Return a line if forked processes could not be traced.

    Args:
        processes, more: as Session.missing() returns them.
    """
    if not processes and not more:
        return []
    reasons: dict[str, list[str]] = {}
    for pid, error in processes:
        text = _MISSING_REASONS.get(error) or (os.strerror(error) if error else "killed meanwhile")
        reasons.setdefault(text, []).append(str(pid))
    parts = []
    for text, ids in reasons.items():
        shown = ", ".join([*ids[:_MOST_IDS], *(["..."] if len(ids) > _MOST_IDS else [])])
        parts.append(f"{text} ({shown})")
    if more:
        parts.append(f"{more:,} more")
    return [f"{plural(len(processes) + more, 'forked process')} could not be traced: {'; '.join(parts)}"]


def waits(totals: dict[str, int]) -> list[str]:
    """Return a line if the program waited for the recorder."""
    if not totals["waits"]:
        return []
    times, seconds = plural(totals["waits"], "time"), totals["wait_ns"] / 1e9
    return [f"the program waited {times} for the recorder, {seconds:.3f} s in all (in no function's time)"]


def write_failure(error: OSError | MemoryError, path: str) -> str:
    """Return the line for an error in writing a trace to `path`, or to the file that the error names."""
    if isinstance(error, MemoryError):
        return f"{path}: the recorder is out of memory"
    reason = {
        errno.ENOSPC: "no space left on the device",
        errno.EDQUOT: "the disk quota is used up",
        errno.EFBIG: "the limit of a file's size is reached",
    }.get(error.errno or 0, error.strerror or str(error))
    return f"{path if error.filename is None else os.fsdecode(error.filename)}: {reason}"


def nothing_matched(patterns: Sequence[str], functions: _Functions) -> str:
    """Return the line for a recording that recorded no function.

    Args:
        patterns: the patterns that functions had to match; empty: no function ran at all.
        functions: those that ran, also before the recording began.
    """
    if not patterns or not functions:
        return "no traced function ran"
    unknown = _unknown(patterns, functions)
    if not unknown:
        return f"no function that matches {', '.join(patterns)} was called"
    names = [name for name, _ in functions]
    near = list(dict.fromkeys(name for pattern in unknown for name in nearest_names(pattern, names)))
    text = f"nothing matched {', '.join(unknown)}"
    return f"{text}; the nearest names that ran: {', '.join(near[:5])}" if near else text


def _unknown(patterns: Sequence[str], functions: _Functions) -> list[str]:
    """Return the patterns that no function matches."""
    return [pattern for pattern in patterns if not any(_tracedata.match_functions(pattern, functions))]


def looks_for_latency(settings: Mapping[str, Any]) -> bool:
    """Return whether a latency tracer ran: that it found nothing is a result."""
    return any(instance["tracer"] in _engine.LATENCY_TRACERS for instance in settings["instances"])


def silent(settings: Mapping[str, Any], records: Mapping[str, int], functions: _Functions) -> list[str]:
    """Return a line for each instance without records whose patterns match no function that was called, or
    whose latency tracer found no section.

    Args:
        settings: the recording's settings.
        records: instance -> number of its records.
        functions: those that ran.
    """
    lines = []
    for instance in settings["instances"]:
        if records.get(instance["name"]) or instance["name"] in WHY_INSTANCES:  # most programs have no waits
            continue
        if instance["tracer"] in _engine.LATENCY_TRACERS:
            reason = _no_section(instance["tracer"], instance["thresh_us"])
        else:
            reason = _no_call(instance, functions)
        which = f"instance '{instance['name']}'" if instance["name"] else "the top instance"
        lines += [f"{which}: {reason}"] if reason else []
    return lines


def _no_call(instance: Mapping[str, Any], functions: _Functions) -> str:
    if instance["tracer"] == "nop":
        events = _parsed(instance["events"])
        if undeclared := _undeclared(events):
            return undeclared
        # A static event that was never hit is no mistake.
        if not all(event.definition and event.definition.kind != "t" for event in events):
            return ""
        return _no_hit(events, functions)
    patterns = [*instance["filter"], *instance["graph"]]
    is_quick = instance["thresh_us"] and not _unknown(patterns, functions)  # no call took that long
    if not patterns or is_quick:
        return ""
    return nothing_matched(patterns, functions)


def undeclared(settings: Mapping[str, Any]) -> str:
    """Return why a recording has no hits of events that only the program can declare; "": it names none."""
    texts = [text for instance in settings["instances"] for text in instance["events"]]
    return _undeclared(_parsed(texts))


def _parsed(texts: Sequence[str]) -> list[RecordingEvent]:
    if not texts:
        return []
    from funcgraph.events import recording_events  # only now: most recordings have none

    return [recording_events.parse(text) for text in texts]


def _undeclared(events: Sequence[RecordingEvent]) -> str:
    names = ", ".join("/".join(event.name) for event in events if event.is_undeclared)
    return f"no hit of {names}: the program declares no such event, or never calls it" if names else ""


def _no_hit(events: Sequence[RecordingEvent], functions: _Functions) -> str:
    """Return why events have no hits; "": it is not known, as a filter may have refused them."""
    unknown, places = [], []
    for definition, condition in [(event.definition, event.filter) for event in events if event.definition]:
        if _unknown([definition.pattern], functions):
            unknown.append(definition.pattern if definition.is_native else definition.symbol)
        elif definition.place and condition is None:
            places.append(definition.target)
    if not events or len(unknown) + len(places) < len(events):
        return ""
    reached = [f"no call reached {', '.join(places)}, or there is no such place"] if places else []
    return "; ".join([*([nothing_matched(unknown, functions)] if unknown else []), *reached])


def _no_section(tracer: str, thresh_us: int) -> str:
    length = f" of {thresh_us} us or more" if thresh_us else ""
    unheard = "; it cannot hear uvloop" if tracer == "wakeup" else ""
    return f"{tracer} found no section{length}{unheard}"
