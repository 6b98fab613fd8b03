"""Times of a selection: from the text that a person gives to the trace's clock."""

from __future__ import annotations

import re
from typing import NamedTuple

from funcgraph.tracedata.description import SelectionError

_SECONDS = re.compile(r"([+-]?)(\d{1,12})(?:\.(\d{1,9}))?", re.ASCII)
_NUMBER = re.compile(r"([+-]?)(\d{1,20})", re.ASCII)
_NS = 10**9
_PRINTED_DIGITS = 6  # of a second, in a report
_MAX = 2**64 - 1

# FG_TRACE_CLOCKS in trace_clock.h: those whose times are no nanoseconds.
COUNTING_CLOCKS = ("counter", "uptime", "x86-tsc")
# Those of which many events of a thread have the same time.
COARSE_CLOCKS = ("uptime",)


class TimeScale(NamedTuple):
    """The times of a trace.

    Attributes:
        clock: the kernel's name of its clock.
        first, last: times of its first and last event.
        rounds: a report of it rounds times to microseconds.
        truncates: a report of it has times whose rest below a microsecond is cut off.
    """

    clock: str
    first: int
    last: int
    rounds: bool
    truncates: bool


def select_times(scale: TimeScale, begin: str | None, end: str | None) -> tuple[int, int]:
    """Return the first and the last time that two texts mean. A time stands for all that print so.

    Raises:
        SelectionError: one is no time, or the first is later than the last.
    """
    first = 0 if begin is None else _time(scale, "--from", begin)[0]
    last = _MAX if end is None else _time(scale, "--to", end)[1]
    if first > last:
        raise SelectionError(f"--from {begin} is later than --to {end}")
    return first, last


def exact_time(clock: str, time: int) -> str:
    """Return the text with which a selection takes exactly this time of a trace's clock."""
    if clock in COUNTING_CLOCKS:
        return str(time)
    return f"{time // _NS}.{time % _NS:09}"


def _time(scale: TimeScale, flag: str, text: str) -> tuple[int, int]:
    """Return the first and the last time that print as `text`."""
    counts = scale.clock in COUNTING_CLOCKS
    match = (_NUMBER if counts else _SECONDS).fullmatch(text.strip())
    if not match:
        unit = f"a number, as the clock '{scale.clock}' counts" if counts else "seconds, as 12.345678"
        raise SelectionError(
            f"{flag} '{text}': must be {unit}; +N: after the first event; -N: before the last"
        )
    sign, whole = match[1], match[2]
    fraction = "" if counts else match[3] or ""
    number = int(whole) if counts else int(whole) * _NS + int(fraction.ljust(9, "0"))
    if sign:
        number = scale.first + number if sign == "+" else scale.last - number
    is_printed = not sign and not counts and len(fraction) <= _PRINTED_DIGITS
    below = 500 if is_printed and scale.rounds else 0
    above = (999 if scale.truncates else 499) if is_printed else 0
    return min(max(number - below, 0), _MAX), min(max(number + above, 0), _MAX)
