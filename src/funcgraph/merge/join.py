"""Writing one trace of several, with the times of all hosts on the line of the first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from funcgraph import _tracedata
from funcgraph.merge.clock_line import IDENTITY, Bound, ClockLine, fit
from funcgraph.merge.hosts import Host, Instant, clock_bounds, clock_offset_ns, host_of, jump_ns
from funcgraph.merge.messages import Ends, Match, message_bounds, message_ends
from funcgraph.merge.stamps import Exchange, stamp_bounds
from funcgraph.recorder.host import HostFacts
from funcgraph.session.output import check_output
from funcgraph.tracedata.description import TraceError
from funcgraph.tracedata.opened import Trace, open_trace
from funcgraph.version import installed_version

__all__ = ["MergeError", "Merged", "MergedHost", "merge"]

#: The clocks whose times are those of CLOCK_MONOTONIC, in ns.
_MONOTONIC = ("local", "global", "perf", "mono")


class MergeError(ValueError):
    """These traces cannot become one; the text says which and why. Nothing was written."""


class MergedHost(NamedTuple):
    """A host of a merged trace.

    Attributes:
        name: as its tasks are named in the trace.
        source: where its line comes from: "reference", "stamps", "messages", "clocks" (the real-time clocks).
        error_ns: its times may be so far off; None: not known.
        drift_ppm: how much slower its clock runs than the reference's, in parts in a million.
        jump_ns: by how much its real-time clock was set while it was recorded.
        slack_ns: by how much what is known of its clock contradicts itself.
        traces: the paths of its traces.
    """

    name: str
    source: str
    error_ns: int | None
    drift_ppm: float
    jump_ns: int
    slack_ns: int
    traces: tuple[str, ...]


class Merged(NamedTuple):
    """What merge() has written.

    Attributes:
        path: of the trace.
        records: how many it has.
        damaged: how many places of the parts could not be read; what was there is missing.
        hosts: the reference first.
        flaws: a line for each part that is not whole.
    """

    path: str
    records: int
    damaged: int
    hosts: tuple[MergedHost, ...]
    flaws: tuple[str, ...] = ()


class _Part(NamedTuple):
    path: str
    trace: Trace
    host: Host


class _Machine:
    """A host, its traces, and the line of its clock."""

    def __init__(self, name: str, boot_id: str, clocks: Sequence[Instant] = ()) -> None:
        self.name = name
        self.boot_id = boot_id
        self.clocks = list(clocks)
        self.parts: list[_Part] = []
        self.line: ClockLine = IDENTITY
        self.source = "reference"

    def add(self, part: _Part) -> None:
        self.parts.append(part)
        self.clocks += part.host.clocks

    def span_ns(self) -> tuple[int, int]:
        """Return when its recordings began and ended, on its CLOCK_MONOTONIC."""
        times = [clock.monotonic_ns for clock in self.clocks]
        ends = [task.last_ns for part in self.parts for task in part.trace.tasks]
        is_monotonic = all(part.trace.clock in _MONOTONIC for part in self.parts)
        return min(times), max(times + ends) if is_monotonic else max(times)

    def first_ns(self) -> int:
        """Return when it was first recorded, on the line of all; negative: before the first had booted."""
        return self.line.at(self.span_ns()[0])

    def ends(self, matches: Sequence[Match]) -> Ends:
        """Return its ends of messages."""
        for part in self.parts:
            if part.trace.clock not in _MONOTONIC:
                raise MergeError(f"{part.path}: messages cannot be matched on the clock {part.trace.clock!r}")
        return message_ends([part.trace for part in self.parts], matches)

    def summary(self) -> MergedHost:
        (begin, line), (end, line_end) = self.line.first, self.line.last
        drift = (line_end - line) / (end - begin) - 1 if end > begin else 0.0
        return MergedHost(
            self.name,
            self.source,
            self.line.error_ns,
            round(drift * 1e6, 3),
            jump_ns(self.clocks),
            self.line.slack_ns,
            tuple(part.path for part in self.parts),
        )


def merge(
    traces: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    stamps: Mapping[str, Sequence[Exchange]] | None = None,
    matches: Sequence[Match] = (),
    names: Mapping[str, str] | None = None,
    here: bool = False,
    strict: bool = False,
    progress: Callable[[float], object] | None = None,
) -> Merged:
    """Write one trace of several, from one host or many.

    The line of time is the first trace's CLOCK_MONOTONIC. How a host's clock becomes that is known from
    `stamps`; without them from messages that `matches` finds; without these from the real-time clocks, which
    each recording notes. Traces of one boot of one host have one clock.

    Args:
        traces: paths of .fg traces, complete or not.
        output: path of the trace, a .fg, which appears when it is whole; an existing file is replaced.
        stamps: host's name -> what was exchanged with the first trace's host: exchange().
        matches: which events are the two ends of a message.
        names: path -> name of its host, for hosts that call themselves alike.
        strict: refuse traces that are not whole.
        here: the line of time is the CLOCK_MONOTONIC of this process, and stamps were exchanged with it.
        progress: called now and then while the trace is written, with the share that is done, 0 to 1.

    Returns:
        What was written.

    Raises:
        MergeError: a trace does not say where it was recorded, was merged already, is given twice, is the
            output too, or with `strict` is not whole; names are not unique; stamps are of no host.
        TraceError: a file is no trace.
        OSError: a file cannot be read or written.

    Example:
        >>> merge(["web1.fg", "web2.fg"], "all.fg").hosts[1].error_ns
        214000
    """
    target = check_output(output)
    _check_paths([os.fspath(path) for path in traces], target)
    with ExitStack() as stack:
        parts = [_open(stack, os.fspath(path), names or {}) for path in traces]
        if not parts:
            raise MergeError("no traces to merge")
        if strict:
            _check_whole(parts)
        machines = _machines(parts)
        _find_lines(_here() if here else machines[0], machines, stamps or {}, matches)
        return _write(machines, target, progress)


def _check_paths(paths: Sequence[str], target: str) -> None:
    """Refuse to read a trace twice, or to write over one that is read."""
    places = [os.path.realpath(path) for path in paths]
    for number, (path, place) in enumerate(zip(paths, places, strict=True)):
        if place in places[:number]:
            raise MergeError(f"{path}: is given twice")
        if os.path.exists(target) and os.path.exists(place) and os.path.samefile(place, target):
            raise MergeError(f"{path}: is the output too")


def _open(stack: ExitStack, path: str, names: Mapping[str, str]) -> _Part:
    try:
        trace = stack.enter_context(open_trace(path))
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from None
    if "hosts" in trace.meta:
        raise MergeError(f"{path}: is a merged trace already; merge the traces that it is of")
    host = host_of(trace.meta)
    if host is None:
        raise MergeError(f"{path}: does not say on which host it was recorded, and when")
    return _Part(path, trace, host._replace(name=names.get(path, host.name)))


def _check_whole(parts: Sequence[_Part]) -> None:
    for part in parts:
        if part.trace.flaw is not None:
            raise MergeError(f"{part.path}: {part.trace.flaw.text}")


def _here() -> _Machine:
    host = host_of(HostFacts().facts())
    assert host is not None
    return _Machine(host.name, host.boot_id, host.clocks)


def _machines(parts: Sequence[_Part]) -> list[_Machine]:
    """Return the hosts, the first trace's first. One that was booted between two traces is two of them."""
    machines: dict[object, _Machine] = {}
    for number, part in enumerate(parts):
        name, boot_id, _ = part.host
        machines.setdefault((name, boot_id or number), _Machine(name, boot_id)).add(part)
    taken: dict[str, int] = {}
    for machine in machines.values():
        taken[machine.name] = taken.get(machine.name, 0) + 1
        if taken[machine.name] > 1:
            machine.name = f"{machine.name}#{taken[machine.name]}"
    return list(machines.values())


def _find_lines(
    reference: _Machine,
    machines: Sequence[_Machine],
    stamps: Mapping[str, Sequence[Exchange]],
    matches: Sequence[Match],
) -> None:
    others = [machine for machine in machines if machine is not reference]
    if unknown := sorted(set(stamps).difference(machine.name for machine in others)):
        known = ", ".join(machine.name for machine in others) or "none"
        raise MergeError(f"stamps of {unknown[0]!r}, which is no host but the first; those are: {known}")
    # One machine under two names has the reference's line.
    found = [m for m in others if m.boot_id and m.boot_id == reference.boot_id]
    left = [machine for machine in others if machine not in found]
    for machine in list(left):
        line = fit(list(stamp_bounds(stamps.get(machine.name, ()))), *machine.span_ns())
        if line is not None:
            machine.line, machine.source = line, "stamps"
            left.remove(machine)
            found.append(machine)
    if matches:
        left = _find_lines_by_messages(reference, found, left, matches)
    for machine in left:
        line = fit(list(clock_bounds(machine.clocks, reference.clocks)), *machine.span_ns())
        machine.line, machine.source = line or _unbounded(machine, reference), "clocks"


def _find_lines_by_messages(
    reference: _Machine, known: Sequence[_Machine], others: Sequence[_Machine], matches: Sequence[Match]
) -> list[_Machine]:
    """Find the lines that messages tell, from host to host: the most exact one first.

    The messages of a host with each host whose line is known bound its own line. Where these bound it on one
    side only, the real-time clocks do on the other.

    Returns:
        The hosts without messages.
    """
    left = list(others)
    ends = {machine.name: machine.ends(matches) for machine in (*known, *left)}
    placed = [(reference.ends(matches), IDENTITY), *((ends[m.name], m.line) for m in known)]
    bounds: dict[str, list[Bound]] = {machine.name: [] for machine in left}
    while left:
        for machine in left:
            for its_ends, its_line in placed:
                bounds[machine.name] += message_bounds(ends[machine.name], its_ends, its_line)
        found = _most_exact([(machine, fit(bounds[machine.name], *machine.span_ns())) for machine in left])
        if found is None:
            clocks = {m.name: list(clock_bounds(m.clocks, reference.clocks)) for m in left}
            mixed = [(m, [*bounds[m.name], *clocks[m.name]]) for m in left if bounds[m.name]]
            found = _most_exact([(machine, fit(both, *machine.span_ns())) for machine, both in mixed])
        if found is None:
            return left
        machine, machine.line = found
        machine.source = "messages"
        left.remove(machine)
        placed = [(ends[machine.name], machine.line)]
    return left


def _most_exact(lines: Sequence[tuple[_Machine, ClockLine | None]]) -> tuple[_Machine, ClockLine] | None:
    known = [(machine, line) for machine, line in lines if line is not None and line.error_ns is not None]
    return min(known, key=lambda found: found[1].error_ns or 0, default=None)


def _unbounded(machine: _Machine, reference: _Machine) -> ClockLine:
    """Return the line by real-time clocks of which nobody knows how far they are off."""
    begin_ns, _ = machine.span_ns()
    at = (begin_ns, begin_ns + clock_offset_ns(machine.clocks, reference.clocks))
    return ClockLine(at, at, None)


def _write(machines: Sequence[_Machine], output: str, progress: Callable[[float], object] | None) -> Merged:
    hosts = tuple(machine.summary() for machine in machines)
    is_named = len(machines) > 1
    shift = max(0, -min(machine.first_ns() for machine in machines))
    with ExitStack() as stack:
        parts = []
        for number, machine in enumerate(machines):
            name = machine.name if is_named else None
            line = machine.line
            for part in machine.parts:
                fd = os.open(part.path, os.O_RDONLY | os.O_CLOEXEC)
                stack.callback(os.close, fd)
                (begin, at), (end, at_end) = line.first, line.last
                parts.append((fd, name, number, begin, at + shift, end, at_end + shift, line.error_ns))
        try:
            description = json.dumps(_meta(machines, hosts))
            records, damaged = _tracedata.join(tuple(parts), description, output, progress)
        except ValueError as error:
            raise MergeError(str(error)) from None
    flaws = [
        f"{part.path}: {part.trace.flaw.text}"
        for machine in machines
        for part in machine.parts
        if part.trace.flaw is not None
    ]
    return Merged(output, records, damaged, hosts, tuple(flaws))


def _meta(machines: Sequence[_Machine], hosts: Sequence[MergedHost]) -> dict[str, Any]:
    """Return the trace's own description: what was recorded where."""
    instances: dict[str, Any] = {}
    for machine in machines:
        for part in machine.parts:
            for name, recorded in part.trace.meta.get("instances", {}).items():
                instances.setdefault(_buffer(machine.name if len(machines) > 1 else "", name), recorded)
    first = machines[0].parts[0].trace.meta
    common: dict[str, Any] = {name: first[name] for name in ("tracer", "options") if name in first}
    return {
        **common,
        "funcgraph": installed_version(),
        "instances": instances,
        "hosts": [host._asdict() for host in hosts],
    }


def _buffer(host: str, instance: str) -> str:
    """Return the name of a buffer of a merged trace, as lanes.c makes it."""
    return f"{host}/{instance}" if host and instance else host or instance
