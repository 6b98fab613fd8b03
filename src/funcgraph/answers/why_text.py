"""The answer of `funcgraph why`: one screen of text, and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from funcgraph.names import printable, shortened
from funcgraph.tracedata.links import NO_LINKS, Links
from funcgraph.tracedata.summary import duration_text

if TYPE_CHECKING:
    from funcgraph.answers.why import Group, Why
    from funcgraph.tracedata.call_parts import PartKind, PartSum, PartSums

_ROWS = 14
_BAR_WIDTH = 64

#: What a part is called, and its letter in the bar.
PART_TEXTS: dict[PartKind, tuple[str, str]] = {
    "own": ("o", "own code"),
    "callee": ("c", "in"),
    "native": ("n", "native"),
    "lock": ("L", "lock"),
    "sleep": ("S", "sleep"),
    "io": ("I", "I/O"),
    "gil": ("G", "GIL held by"),
    "suspended": ("A", "await"),
    "ready": ("R", "ready, the loop ran others"),
    "gc": ("g", "garbage collection"),
    "import": ("i", "imports"),
    "tracer": ("t", "tracer: wait for recorder"),
    "unknown": ("?", "unknown"),
}

#: What is said of what was not recorded.
MISSING = {
    "entries": "entries (--thresh): nearly all of it is unknown",
    "functions": "functions that were filtered out: in their callers' parts",
    "c_calls": "C functions: sleeps, locks and I/O are in 'own code' and 'in'",
    "gil": "waits for the GIL: in the part of what waited",
    "ready": "how long tasks were ready: in 'await'",
    "gc": "garbage collection: in the part of what ran then",
    "processor": "waits for a processor, which the kernel did not tell: in the part of what waited",
    "with": "'with lock' is in 'own code' before CPython 3.14 without -l 'sem_*wait:mod:libc'",
}


def why_lines(answer: Why, path: str, width: int, links: Links = NO_LINKS) -> Iterator[str]:
    """Yield the lines of the answer.

    Args:
        answer: the answer.
        path: the trace, for the command that shows the calls.
        width: columns of the terminal.
        links: makes links of the functions' names.
    """
    if answer.typical is None:
        yield from _one_title(answer)
        yield from _one_table(answer.slow.sums, width, links)
    else:
        yield from _two_titles(answer)
        yield from _two_tables(answer.slow.sums, answer.typical.sums, width, links)
    yield from _notes(answer)
    shown = " ".join(("funcgraph report -i", path, *answer.selection))
    yield f"{'the longest' if answer.typical else 'its calls'}: {shown}"


def _one_title(answer: Why) -> Iterator[str]:
    call = answer.call
    assert call is not None
    total = answer.slow.sums.total_ns
    yield f"{printable(str(call))} took {duration_text(total)} in {printable(call.task.name)}-{call.task.tid}"
    if call.is_open:
        yield "it did not end: these are its parts up to its last event"


def _one_table(sums: PartSums, width: int, links: Links) -> Iterator[str]:
    yield _bar(sums)
    yield f"  {'TIME':>10}  {'%':>6}  {'COUNT':>7}  WHAT"
    shown, rest = _split(sums.parts)
    for part in shown:
        text = f"  {duration_text(part.ns):>10}  {_percent(part.ns, sums.total_ns):>6}  {part.count:>7,}  "
        yield f"{text}{_named(part, width - len(text), links)}"
    if rest:
        ns = sum(part.ns for part in rest)
        yield f"  {duration_text(ns):>10}  {_percent(ns, sums.total_ns):>6}  {'':>7}  {len(rest)} more"
    yield f"  {duration_text(sums.total_ns):>10}  100.0%  {'':>7}  = all, to the nanosecond"


def _two_titles(answer: Why) -> Iterator[str]:
    slow, typical = answer.slow, answer.typical
    assert typical is not None
    yield f"{printable(answer.function)}: {answer.calls:,} calls"
    yield f"  slow:    {_range(slow)}  (the slowest tenth)"
    yield f"  typical: {_range(typical)}  (the fifth in the middle)"


def _range(group: Group) -> str:
    took = " to ".join(duration_text(ns) for ns in dict.fromkeys((group.least_ns, group.most_ns)))
    spread = "" if group.sums.calls == group.calls else f", of which {group.sums.calls:,} were looked at"
    return f"{group.calls:,} call{'' if group.calls == 1 else 's'} of {took}{spread}"


def _two_tables(slow: PartSums, typical: PartSums, width: int, links: Links) -> Iterator[str]:
    yield f"slow     {_bar(slow)}"
    yield f"typical  {_bar(typical)}"
    yield f"  {'SLOW':>10}  {'TYPICAL':>10}  {'DIFFERENCE':>11}  {'COUNT':>11}  WHAT, PER CALL"
    rows = paired_parts(slow, typical)
    for one, other in rows[:_ROWS]:
        part = one or other
        assert part is not None
        counts = f"{_count(per_call(one, slow, 'count'))} : {_count(per_call(other, typical, 'count'))}"
        text = f"{_figures(per_call(one, slow, 'ns'), per_call(other, typical, 'ns'))}  {counts:>11}  "
        yield f"{text}{_named(part, width - len(text), links)}"
    rest = rows[_ROWS:]
    if rest:
        own, others = (
            sum(per_call(row[side], sums, "ns") for row in rest) for side, sums in enumerate((slow, typical))
        )
        yield f"{_figures(own, others)}  {'':>11}  {len(rest)} more"
    totals = (sums.total_ns / max(sums.calls, 1) for sums in (slow, typical))
    yield f"{_figures(*totals)}  {'':>11}  = all of a call"


def _figures(slow: float, typical: float) -> str:
    difference = slow - typical
    sign = "-" if difference < 0 else "+"
    shown = f"{sign}{duration_text(abs(difference))}"
    return f"  {duration_text(slow):>10}  {duration_text(typical):>10}  {shown:>11}"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def per_call(part: PartSum | None, sums: PartSums, what: str) -> float:
    """Return a part's figure per call."""
    return getattr(part, what) / sums.calls if part is not None and sums.calls else 0.0


def paired_parts(slow: PartSums, typical: PartSums) -> list[tuple[PartSum | None, PartSum | None]]:
    """Return the parts of both, those with the largest difference of a call's time first."""
    sides = [{_key(part): part for part in sums.parts} for sums in (slow, typical)]
    rows = [(sides[0].get(key), sides[1].get(key)) for key in {**sides[0], **sides[1]}]
    return sorted(rows, key=lambda row: -abs(per_call(row[0], slow, "ns") - per_call(row[1], typical, "ns")))


def _key(part: PartSum) -> tuple[str, str, str]:
    return part.kind, part.function.name if part.function else "", part.label


def _split(parts: Sequence[PartSum]) -> tuple[Sequence[PartSum], Sequence[PartSum]]:
    return (parts, ()) if len(parts) <= _ROWS else (parts[: _ROWS - 1], parts[_ROWS - 1 :])


def _bar(sums: PartSums) -> str:
    """Return the bar: a letter for each of its shares, so many that it has its whole width."""
    if not sums.total_ns:
        return ""
    by_kind: dict[PartKind, int] = {}
    for part in sums.parts:
        by_kind[part.kind] = by_kind.get(part.kind, 0) + part.ns
    text, before = "", 0
    for kind, ns in sorted(by_kind.items(), key=lambda item: -item[1]):
        before += ns
        text += PART_TEXTS[kind][0] * (round(_BAR_WIDTH * before / sums.total_ns) - len(text))
    return f"[{text}]"


def _percent(ns: int, total_ns: int) -> str:
    return f"{100 * ns / total_ns:.1f}%" if total_ns else ""


def _named(part: PartSum, width: int, links: Links) -> str:
    letter, text = PART_TEXTS[part.kind]
    name = part.label
    if part.function is not None:
        name = part.function.name
    elif part.kind == "suspended":
        name = "what was not recorded as a call"
    elif part.kind == "callee":
        name = "functions without a name"
    if not name:
        return f"{letter} {text}"
    room = max(width - len(letter) - len(text) - 2, 12)
    return f"{letter} {text} {links.function(_fitting(printable(name), room), part.function)}"


def _fitting(name: str, room: int) -> str:
    return f"{name[: room - 2]}.." if " " in name and len(name) > room else shortened(name, room)


def _notes(answer: Why) -> Iterator[str]:
    for place in answer.others:
        yield f"another function of the same name is left out{place}"
    if answer.unfinished:
        yield f"{answer.unfinished:,} more calls began before the trace or did not end: --nth shows each"
    if answer.lost:
        yield f"{answer.lost:,} records were lost in the trace: around them time is unknown"
    if answer.processor_wait_ns is not None:
        yield processor_wait_text(answer)
    if answer.missing:
        yield "not recorded, so in other parts (record --why):"
        for word in answer.missing:
            yield f"  {MISSING[word]}"


def processor_wait_text(answer: Why) -> str:
    """Return how much of the calls' time their threads can have been ready to run without a processor; "": it
    is not known."""
    ns, sums = answer.processor_wait_ns, answer.slow.sums
    if ns is None:
        return ""
    what = "waits for a processor:"
    if not ns:
        return f"{what} none in the recording"
    if ns >= sums.total_ns or sums.calls < answer.slow.calls:
        return f"{what} at most {duration_text(ns)}, which is all in the recording"
    of = "it" if answer.call is not None else "slow calls"
    share = _percent(ns, sums.total_ns)
    return f"{what} at most {share} of {of} ({duration_text(ns)} in the recording)"


# ---- JSON


def why_json(answer: Why) -> dict[str, Any]:
    """Return the answer as JSON has it: times in nanoseconds."""
    call = answer.call
    return {
        "function": answer.function,
        "calls": answer.calls,
        "others": [place.strip(" ()") for place in answer.others],
        "unfinished": answer.unfinished,
        "call": None if call is None else call.as_json(),
        "slow": _group_json(answer.slow),
        "typical": None if answer.typical is None else _group_json(answer.typical),
        "missing": list(answer.missing),
        "processor_wait_ns": answer.processor_wait_ns,
        "lost": answer.lost,
        "longest": answer.longest.as_json(),
        "selection": list(answer.selection),
    }


def _group_json(group: Group) -> dict[str, Any]:
    sums = group.sums
    return {
        "calls": group.calls,
        "looked_at": sums.calls,
        "open": sums.open,
        "least_ns": group.least_ns,
        "most_ns": group.most_ns,
        "total_ns": sums.total_ns,
        "parts": [
            {
                "kind": part.kind,
                "function": None if part.function is None else part.function.name,
                "held_by": part.label or None,
                "ns": part.ns,
                "count": part.count,
            }
            for part in sums.parts
        ],
    }
