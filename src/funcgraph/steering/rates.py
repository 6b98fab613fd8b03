"""Calls and time per second of functions: the differences of what the function profiler counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from funcgraph.names import shortened

__all__ = ["KEYS", "SEVERAL", "STAT", "Counts", "Rate", "counts_of", "rates", "summed", "table"]

#: The file with what the profiler of an instance counts.
STAT = "trace_stat/function0"

_TIME = re.compile(r"[0-9]{1,19}(\.[0-9]{1,9})?")


class Counts(NamedTuple):
    """What a function has come to.

    Attributes:
        calls: how many of its calls began.
        time_us: the time of those that ended.
    """

    calls: int
    time_us: float


SEVERAL = 0


class Rate(NamedTuple):
    """What a function did between two looks.

    Attributes:
        pid: its process; SEVERAL: it is the sum of more than one.
        name: "module.qualname".
        calls_per_s: calls that began, for each second.
        ms_per_s: milliseconds in calls that ended, for each second. More than 1000 in several threads.
        average_us: the time of a call.
    """

    pid: int
    name: str
    calls_per_s: float
    ms_per_s: float
    average_us: float


#: The letter that sorts by a column -> its name, and what to sort by.
KEYS: dict[str, tuple[str, Callable[[Rate], tuple[str | float, ...]]]] = {
    "c": ("calls", lambda rate: (-rate.calls_per_s, rate.name)),
    "t": ("time", lambda rate: (-rate.ms_per_s, -rate.calls_per_s, rate.name)),
    "a": ("average", lambda rate: (-rate.average_us, rate.name)),
    "n": ("name", lambda rate: (rate.name, rate.pid)),
}


def counts_of(text: str) -> dict[str, Counts]:
    """Return the functions in the text of trace_stat; those of one name are counted together."""
    found: dict[str, Counts] = {}
    for line in text.splitlines():
        row = _row(line)
        if row:
            name, counts = row
            calls, time_us = found.get(name, Counts(0, 0.0))
            found[name] = Counts(calls + counts.calls, time_us + counts.time_us)
    return found


def _row(line: str) -> tuple[str, Counts] | None:
    """Return a line of trace_stat, `NAME CALLS TIME us AVERAGE us VARIANCE us`; None: it is a heading."""
    words = line.rsplit(maxsplit=7)
    if len(words) != 8 or words[3::2] != ["us", "us", "us"]:
        return None
    name, calls, time_us = words[0].strip(), words[1], words[2]
    if not (calls.isascii() and calls.isdecimal() and len(calls) < 20 and _TIME.fullmatch(time_us)):
        return None
    return name, Counts(int(calls), float(time_us))


def rates(pid: int, before: dict[str, Counts], now: dict[str, Counts], seconds: float) -> list[Rate]:
    """Return what the functions of a process did between two looks, without those that did nothing."""
    found = []
    for name, counts in now.items():
        earlier = before.get(name, Counts(0, 0.0))
        calls, time_us = counts.calls - earlier.calls, counts.time_us - earlier.time_us
        if calls > 0 or time_us > 0:
            average_us = time_us / calls if calls > 0 else time_us
            found.append(Rate(pid, name, calls / seconds, time_us / 1000 / seconds, average_us))
    return found


def summed(found: Iterable[Rate]) -> list[Rate]:
    """Return one row for each name, with what the function did in all processes."""
    together: dict[str, list[Rate]] = {}
    for rate in found:
        together.setdefault(rate.name, []).append(rate)
    return [_sum(rates) if len(rates) > 1 else rates[0] for rates in together.values()]


def _sum(rates: Sequence[Rate]) -> Rate:
    calls_per_s = sum(rate.calls_per_s for rate in rates)
    ms_per_s = sum(rate.ms_per_s for rate in rates)
    average_us = 1000 * ms_per_s / calls_per_s if calls_per_s else sum(rate.average_us for rate in rates)
    return Rate(SEVERAL, rates[0].name, calls_per_s, ms_per_s, average_us)


def table(
    found: Iterable[Rate],
    key: str,
    *,
    pids: bool,
    time: str = "ms/s",
    rows: int | None = None,
    width: int | None = None,
) -> list[str]:
    """Return the lines of a table with its heading.

    Args:
        key: one of KEYS.
        pids: with a column for the process.
        time: the heading of the time for each second.
        rows: at most so many functions; None: all.
        width: so long may a line be: a longer name loses its middle; None: any.
    """
    ordered = sorted(found, key=KEYS[key][1])
    first = f"{'pid':>8} " if pids else ""
    lines = [first + " ".join(f"{word:>11}" for word in ("calls/s", time, "avg us")) + "  function"]
    for rate in ordered[:rows]:
        first = f"{rate.pid:8} " if pids else ""
        figures = f"{rate.calls_per_s:11.1f} {rate.ms_per_s:11.3f} {rate.average_us:11.3f}"
        begin = f"{first}{figures}  "
        lines.append(begin + (rate.name if width is None else shortened(rate.name, width - len(begin))))
    return lines
