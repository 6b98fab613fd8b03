"""Calls grouped by their values, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from funcgraph.answers.facts import place_of
from funcgraph.answers.values import FunctionValues, Ranking, ValueField, ValueGroup, distribution
from funcgraph.names import printable, shortened
from funcgraph.tracedata.links import NO_LINKS, Links
from funcgraph.tracedata.summary import duration_text

WIDTH = 80
_LEAST_SHARE = 0.005  # that is shown
_RANKED = 4
_BARS = " ▁▂▃▄▅▆▇█"
_BAR_COLUMNS = 10
_REST = "(other values)"
_FIGURES = "{:>9} {:>7} {:>10} {:>10} {:>10} {:<10} "
_RANKINGS: tuple[Ranking, ...] = ("slow", "raise")
_EXPLANATION: dict[Ranking, str] = {
    "slow": "share of the variance of the time's logarithm that the value explains",
    "raise": "share of the uncertainty whether a call raises that the value removes",
}
_TITLE: dict[Ranking, str] = {
    "slow": "What separates slow calls from fast ones",
    "raise": "What separates calls that raise",
}


def values_lines(
    path: object,
    found: FunctionValues,
    *,
    by: str | None = None,
    count: int = 8,
    width: int = WIDTH,
    links: Links = NO_LINKS,
) -> Iterator[str]:
    """Yield the lines about one function.

    Args:
        path: the trace, for the commands that show the evidence.
        found: the function's values.
        by: the field whose values are listed; None: the one that explains most.
        count: so many values are listed.
        width: columns that a line with a value may have, at least 80.
        links: makes links of places.
    """
    yield _head(found)
    if place := place_of(found.function, links):
        yield f" {place}"  # a path may be long: the figures stay in a terminal's width
    for what in _RANKINGS:
        yield from _ranking(found, what, width)
    chosen = found.field(by) if by else best_field(found)
    if chosen is None:
        yield "no argument, result or exception of it is recorded"
        return
    yield ""
    yield from _table(chosen, count, width)
    group = max(chosen.groups, key=lambda group: group.max_ns)
    if group.timed:
        yield ""
        yield f"the slowest call, {duration_text(group.max_ns)}:"
        yield f"  {group.slowest.command(path)}"


def _head(found: FunctionValues) -> str:
    whole = found.all
    parts = [f"{whole.calls:,} call{'' if whole.calls == 1 else 's'}", duration_text(whole.total_ns)]
    if whole.timed:
        parts.append(f"mean {duration_text(whole.mean_ns)}, median {duration_text(whole.quantile_ns(0.5))}")
    if whole.raised:
        parts.append(f"{whole.raised:,} raised")
    return f"{printable(found.function.name)}: {', '.join(parts)}"


def best_field(found: FunctionValues) -> ValueField | None:
    """Return the field that explains most; None: nothing is recorded."""
    for what in _RANKINGS:
        for one in found.ranked(what):
            if one.share(what) or what == "raise":
                return one
    return found.fields[0] if found.fields else None


def _ranking(found: FunctionValues, what: Ranking, width: int) -> Iterator[str]:
    if what == "raise" and not 0 < found.all.raised < found.all.calls:
        return
    shares = [(one, one.share(what)) for one in found.ranked(what)]
    shown = [(one, share) for one, share in shares if share is not None and share >= _LEAST_SHARE]
    yield ""
    yield f"{_TITLE[what]}:"
    if not shown:
        yield "  nothing that is recorded does"
        return
    for one, share in shown[:_RANKED]:
        name = f"{one.name} (by size)" if one.by_size else one.name
        detail = (_slowest_text if what == "slow" else raising_text)(one, width - 60)
        yield shortened(f"  {100 * share:4.0f} %  {name:<20} {detail}".rstrip(), width)
    yield f"  ({_EXPLANATION[what]})"


def _slowest_text(one: ValueField, room: int) -> str:
    found = slowest_value(one)
    if found is None:
        return ""
    text, mean_ns, others_ns = found
    return f"{shortened(text, room)}: {duration_text(mean_ns)}, else {duration_text(others_ns)}"


def slowest_value(one: ValueField) -> tuple[str, float, float] | None:
    """Return the slowest value, the mean time of its calls and that of all others; None: there is none."""
    groups = [group for group in one.groups if group.timed]
    if len(groups) < 2:
        return None
    slow = max(groups, key=lambda group: group.log_sum / group.timed)
    calls = sum(group.timed for group in groups) - slow.timed
    total = sum(group.total_ns for group in groups) - slow.total_ns
    return slow.text or _REST, slow.mean_ns, total / calls


def raising_text(one: ValueField, room: int = 20) -> str:
    """Return which value raises most often, cut to so many columns, against all others."""
    groups = [group for group in one.groups if group.calls]
    worst = max(groups, key=lambda group: (group.raised / group.calls, group.raised))
    calls = sum(group.calls for group in groups) - worst.calls
    raised = sum(group.raised for group in groups) - worst.raised
    text = shortened(worst.text or _REST, room)
    return f"{text}: {worst.raised:,} of {worst.calls:,}, else {raised:,} of {calls:,}"


def _table(one: ValueField, count: int, width: int) -> Iterator[str]:
    what = "size" if one.by_size else "value"
    yield f"{len(one.groups):,} {what}{'' if len(one.groups) == 1 else 's'} of {one.name}:"
    yield _FIGURES.format("CALLS", "RAISED", "TOTAL", "MEAN", "P99", "TIMES") + "VALUE"
    shown = one.groups[:count]
    durations = distribution(shown, _BAR_COLUMNS)
    for group, counts in zip(shown, durations.counts, strict=True):
        figures = _FIGURES.format(
            f"{group.calls:,}",
            f"{group.raised:,}",
            duration_text(group.total_ns),
            duration_text(group.mean_ns),
            duration_text(group.quantile_ns(0.99)),
            _bars(counts),
        )
        yield figures + shortened(group.text or _REST, width - len(figures))
    if len(one.groups) > count:
        yield f"  and {len(one.groups) - count:,} more (-n {len(one.groups)})"
    if any(group.timed for group in shown):
        span = (duration_text(edge) for edge in (durations.least_ns, durations.most_ns))
        yield f"TIMES: calls by duration, {' to '.join(span)}"


def _bars(counts: Sequence[int]) -> str:
    """Return the distribution of durations as one line of bars."""
    most = max(counts) or 1
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // most)] for count in counts)


# ---- JSON


def values_json(found: FunctionValues) -> dict[str, Any]:
    """Return what is known of one function, as `funcgraph values --json` has it."""
    function = found.function
    return {
        "name": function.name,
        "file": function.file,
        "line": function.line,
        "open": found.open,
        **_group_json(found.all),
        "fields": [
            {
                "name": one.name,
                "kind": one.kind,
                "by_size": one.by_size,
                "slow_share": one.slow_share,
                "raise_share": one.raise_share,
                "values": [{"value": group.text or None, **_group_json(group)} for group in one.groups],
            }
            for one in found.fields
        ],
    }


def _group_json(group: ValueGroup) -> dict[str, Any]:
    return {
        "calls": group.calls,
        "raised": group.raised,
        "timed": group.timed,
        "total_ns": group.total_ns,
        "min_ns": group.min_ns,
        "mean_ns": group.mean_ns,
        "median_ns": group.quantile_ns(0.5),
        "p99_ns": group.quantile_ns(0.99),
        "max_ns": group.max_ns,
        "slowest": group.slowest.as_json(),
    }
