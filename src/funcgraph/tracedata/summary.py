"""The figures of a trace's functions, as a table or as JSON. summary_figures.h defines each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from funcgraph.names import printable, shortened
from funcgraph.tracedata.description import EventType, Function, Task

if TYPE_CHECKING:
    from funcgraph.tracedata.links import Links


@dataclass(slots=True)
class FunctionSummary:
    """How often a function was called, and how long it ran.

    Attributes:
        function: the function; None stands for all that the trace does not name.
        calls: calls that began.
        resumes: how often suspended generators and coroutines were resumed.
        exceptions: calls that an exception ended.
        total_ns: time in which the function was running, with its callees. Recursion counts once; suspended
            time does not count.
        self_ns: time of all its calls without their traced callees.
        min_ns: the shortest call that ended: the sum of its stretches between suspends. 0 if none ended.
        max_ns: the longest call that ended.
        ended: calls that ended and whose whole time is known: those of min_ns and max_ns.
        ended_ns: the sum of their times. In recursion each call counts, so it may be more than total_ns.
        native_ns: that part of total_ns in which a native function was the innermost call. 0 if the trace has
            no native functions, or no others.
    """

    function: Function | None
    calls: int
    resumes: int
    exceptions: int
    total_ns: int
    self_ns: int
    min_ns: int
    max_ns: int
    ended: int
    ended_ns: int
    native_ns: int = 0

    @property
    def name(self) -> str:
        """`module.qualname`."""
        return self.function.name if self.function else "<unknown>"

    @property
    def avg_ns(self) -> float:
        """The mean of the calls that ended."""
        return self.ended_ns / self.ended if self.ended else 0.0

    def add(self, other: FunctionSummary) -> None:
        """Add the figures that the same function has under another index."""
        ended = [row for row in (self, other) if row.ended]
        self.min_ns = min((row.min_ns for row in ended), default=0)
        self.max_ns = max(self.max_ns, other.max_ns)
        self.calls += other.calls
        self.resumes += other.resumes
        self.exceptions += other.exceptions
        self.total_ns += other.total_ns
        self.self_ns += other.self_ns
        self.ended += other.ended
        self.ended_ns += other.ended_ns
        self.native_ns += other.native_ns


class EventSummary(NamedTuple):
    """How often an event of the program or its user was hit.

    Attributes:
        type: the event.
        hits: the records of it.
    """

    type: EventType
    hits: int

    @property
    def name(self) -> str:
        """`GROUP/EVENT`."""
        return f"{self.type.system}/{self.type.name}"


# --sort KEY: largest first, but names from a to z.
SORT_KEYS: dict[str, Callable[[FunctionSummary], Any]] = {
    "self": lambda row: -row.self_ns,
    "total": lambda row: -row.total_ns,
    "native": lambda row: -row.native_ns,
    "calls": lambda row: -row.calls,
    "resumes": lambda row: -row.resumes,
    "exceptions": lambda row: -row.exceptions,
    "min": lambda row: -row.min_ns,
    "avg": lambda row: -row.avg_ns,
    "max": lambda row: -row.max_ns,
    "name": lambda row: row.name,
}


FunctionKey = tuple[str, str, str, int] | None


def function_key(function: Function | None) -> FunctionKey:
    """Return what makes functions of a trace one function to the reader of its figures."""
    return (function.module, function.qualname, function.file, function.line) if function else None


def summary_rows(rows: Iterable[tuple[int, ...]], functions: Sequence[Function]) -> list[FunctionSummary]:
    """Return the reader's rows with their functions, one row for a function with several indexes."""
    merged: dict[FunctionKey, FunctionSummary] = {}
    for index, *figures in rows:
        function = _row_function(index, functions)
        key = function_key(function)
        row = FunctionSummary(function, *figures)
        if key in merged:
            merged[key].add(row)
        else:
            merged[key] = row
    return list(merged.values())


def _row_function(index: int, functions: Sequence[Function]) -> Function | None:
    """Return what a row of the reader is about: a function; None, all without a name; or all imports."""
    if index <= len(functions):
        return functions[index] if index < len(functions) else None
    from funcgraph.tracedata.imports import IMPORTS  # only now: few readers fold imports

    return IMPORTS


def sort_rows(rows: Iterable[FunctionSummary], key: str) -> list[FunctionSummary]:
    """Return the rows sorted by a key of SORT_KEYS, then by name."""
    return sorted(rows, key=lambda row: (SORT_KEYS[key](row), row.name))


def duration_text(ns: float) -> str:
    """Return a duration in a fitting unit: `812 ns`, `12.379 us`, `1.500 ms`, `73.002 s`."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns:.0f} ns"


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of figures: its heading, a text for each row, and one for the totals."""

    heading: str
    cells: list[str]
    total: str

    @property
    def lines(self) -> list[str]:
        """What stands below each other, as wide as the widest."""
        texts = [self.heading, *self.cells, self.total]
        width = max(map(len, texts))
        return [f"{text:>{width}}" for text in texts]

    @property
    def width(self) -> int:
        """Of the column and what separates it from the next one."""
        return max(map(len, (self.heading, *self.cells, self.total))) + len(_GAP)


_GAP = "  "
_LEAST_NAME = 30  # columns for names, if they are longer
#: What a narrow terminal goes without, first to last.
_LEFT_OUT = ("RESUMES", "EXCEPTIONS", "MIN", "MAX", "AVG", "NATIVE")


def summary_table(
    rows: Sequence[FunctionSummary],
    width: int | None = None,
    sort: str = "self",
    count: int | None = None,
    links: Links | None = None,
) -> str:
    """Return the rows as a table that ends with a line of totals.

    Args:
        width: so long may a line be: there are fewer columns, as a last line says, and names without their
            middle; None: any.
        sort: the key that the rows are sorted by: its column is always there.
        count: so many rows are shown, the first ones; None: all. The totals are those of all.
        links: makes links of the functions' names; None: there are none.
    """
    names = ["FUNCTION", *(printable(row.name) for row in rows[:count])]
    names.append(_counted(rows, len(names) - 1))
    columns = _columns(rows, count)
    if width is None:
        return _table([column.lines for column in columns], _linked(names, rows, links))
    least = min(_LEAST_NAME, max(map(len, names)))
    left_out: list[str] = []
    for heading in _LEFT_OUT:
        if sum(column.width for column in columns) + least > width and heading != sort.upper():
            columns = [column for column in columns if column.heading != heading]
            left_out.append(heading)
    room = width - sum(column.width for column in columns)
    shown = _linked([shortened(name, room) for name in names], rows, links)
    table = _table([column.lines for column in columns], shown)
    return table + (f"a wider terminal, or a file, also has {', '.join(left_out)}\n" if left_out else "")


def _linked(names: Sequence[str], rows: Sequence[FunctionSummary], links: Links | None) -> Sequence[str]:
    """Return the last column with links: between its heading and the totals there is a name for each row."""
    if links is None:
        return names
    head, *shown, total = names
    linked = (links.function(name, row.function) for name, row in zip(shown, rows, strict=False))
    return [head, *linked, total]


def _table(columns: Sequence[Sequence[str]], names: Sequence[str]) -> str:
    return "".join(f"{_GAP.join(line)}\n" for line in zip(*columns, names, strict=True))


def _columns(rows: Sequence[FunctionSummary], count: int | None) -> list[_Column]:
    counts: dict[str, Sequence[int]] = {
        "CALLS": [row.calls for row in rows],
        "RESUMES": [row.resumes for row in rows],
        "EXCEPTIONS": [row.exceptions for row in rows],
    }
    times: dict[str, Sequence[float]] = {
        "SELF": [row.self_ns for row in rows],
        "TOTAL": [row.total_ns for row in rows],
        **({"NATIVE": [row.native_ns for row in rows]} if _has_native(rows) else {}),
        "MIN": [row.min_ns for row in rows],
        "AVG": [row.avg_ns for row in rows],
        "MAX": [row.max_ns for row in rows],
    }
    columns = [
        _Column(heading, [f"{number:,}" for number in column[:count]], f"{sum(column):,}")
        for heading, column in counts.items()
    ]
    for heading, values in times.items():
        total = duration_text(sum(values)) if heading == "SELF" else ""
        columns.append(_Column(heading, [duration_text(ns) for ns in values[:count]], total))
    return columns


def _has_native(rows: Iterable[FunctionSummary]) -> bool:
    return any(row.native_ns for row in rows)


def _counted(rows: Sequence[FunctionSummary], shown: int) -> str:
    """Return what the totals are of: `353 functions`, `5 of 353 functions`."""
    count = f"{len(rows):,} function{'' if len(rows) == 1 else 's'}"
    return count if shown == len(rows) else f"{shown:,} of {count}"


def event_table(events: Iterable[EventSummary], width: int | None = None) -> str:
    """Return how often events were hit as a table, the most frequent first; "": there are none.

    Args:
        width: so long may a line be; None: any.
    """
    rows = sorted(events, key=lambda event: (-event.hits, event.name))
    if not rows:
        return ""
    column = _Column("HITS", [f"{event.hits:,}" for event in rows], "")
    names = ["EVENT", *(printable(event.name) for event in rows)]
    if width is not None:
        names = [shortened(name, width - column.width) for name in names]
    return _table([column.lines[:-1]], names)


def summary_json(
    rows: Iterable[FunctionSummary],
    events: Iterable[EventSummary],
    tasks: Iterable[Task],
    lost: int,
    overrun: int,
) -> dict[str, Any]:
    """Return the rows as the object that `funcgraph summary --json` prints."""
    rows = list(rows)
    has_native = _has_native(rows)
    return {
        "functions": [
            {
                "name": row.name,
                "module": row.function.module if row.function else "",
                "file": row.function.file if row.function else "",
                "line": row.function.line if row.function else 0,
                "calls": row.calls,
                "resumes": row.resumes,
                "exceptions": row.exceptions,
                "total_ns": row.total_ns,
                "self_ns": row.self_ns,
                **({"native_ns": row.native_ns} if has_native else {}),
                "min_ns": row.min_ns,
                "max_ns": row.max_ns,
            }
            for row in rows
        ],
        "events": [{"name": event.name, "hits": event.hits} for event in events],
        "tasks": [
            {
                "pid": task.pid,
                "tid": task.tid,
                "name": task.name,
                "process": task.process,
                "first_ns": task.first_ns,
                "last_ns": task.last_ns,
                "records": task.records,
                "cpu_ns": task.cpu_ns,
                "ready_ns": task.ready_ns,
            }
            for task in tasks
        ],
        "lost": lost,
        "overrun": overrun,
    }
