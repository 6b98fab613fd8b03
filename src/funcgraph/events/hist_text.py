"""The text of an event's file `hist`, as the kernel prints it."""

from __future__ import annotations

from collections.abc import Sequence

from funcgraph.events.hist_plan import sum_of
from funcgraph.events.hist_rows import Extreme, Held, Key, Row, Taken, columns, sorted_rows
from funcgraph.events.hist_spec import Expression, FieldRef, HistSpec
from funcgraph.names import printable

__all__ = ["Names", "hist_file", "hist_text"]

_TEXT_COLUMNS = 50
_SAVED_COLUMNS = 32
_GRAPH_COLUMNS = 20
_U64 = 1 << 64


class Names:
    """What numbers in a histogram stand for. A subclass knows more than this one."""

    def function(self, function: int) -> str:
        """Return the name of a function by its id."""
        return f"function#{function}"

    def address(self, function: int) -> int:
        """Return the address that stands for a function."""
        return function

    def symbol(self, address: int) -> str:
        """Return the name of what is at an address, with the offset for `.sym-offset`; "": not known."""
        del address
        return ""

    def syscall(self, number: int) -> str:
        """Return the name of a system call, with `sys_`; "": not known."""
        del number
        return ""


def hist_file(texts: Sequence[str]) -> str:
    """Return what the file holds for the histograms of an event, in the order in which they were set."""
    return "\n\n".join(texts)


def hist_text(
    spec: HistSpec,
    rows: Sequence[Row],
    dropped: int = 0,
    *,
    is_paused: bool = False,
    names: Names | None = None,
    taken: Taken | None = None,
) -> str:
    """Return the text of one histogram.

    Args:
        spec: its trigger.
        rows: in the order in which they came.
        dropped: how many hits did not fit.
        is_paused: it does not count now.
        names: of functions and so on.
        taken: what a snapshot() action did.
    """
    printer = _Printer(spec, rows, names or Names())
    lines = [
        *("# event histogram", "#", f"# trigger info: {spec.info(is_paused)}", "#", ""),
        *(printer.row(row) for row in sorted_rows(spec, rows)),
        "",
        *(printer.taken(taken) if taken else ()),
        *("Totals:", f"    Hits: {sum(row.hitcount for row in rows)}"),
        *(f"    Entries: {len(rows)}", f"    Dropped: {dropped}", ""),
    ]
    return "\n".join(lines)


class _Printer:
    def __init__(self, spec: HistSpec, rows: Sequence[Row], names: Names) -> None:
        self._spec = spec
        self._names = names
        values = columns(spec, rows)
        self._totals = [sum(column) for column in values]
        self._most = [max(column, default=0) for column in values]
        self._sums = [sum_of(spec, place) for place in range(len(spec.values))]

    def row(self, row: Row) -> str:
        text = self._keys(row)
        if self._spec.has_hitcount:
            text += f" hitcount: {row.hitcount:10}"
        for place, (value, which) in enumerate(zip(self._spec.values, self._sums, strict=True)):
            text += "  " + self._sum(value, place, row.hitcount if which is None else row.sums[which])
        return "\n".join([text, *map(_extreme, row.extremes)])

    def taken(self, taken: Taken) -> list[str]:
        value = f"\ttriggering value {{ {taken.action} }}: {taken.value!r:>10}"
        return [
            "Snapshot taken (see tracing/snapshot).  Details:",
            f"{value}\ttriggered by event with key: {self._keys(taken.row)}",
            "",
        ]

    # ---- keys

    def _keys(self, row: Row) -> str:
        parts = []
        for expression, key in zip(self._spec.keys, row.keys, strict=True):
            if isinstance(key, tuple) and not isinstance(key, Held):
                functions = "".join(f"         {self._names.function(function)}\n" for function in key)
                parts.append(f"{expression.text}:\n{functions}")
            else:
                parts.append(f"{expression.name}: {self._key(expression, key, row)}")
        # Also where a stack is not the last key.
        end = "}" if any(part.endswith("\n") for part in parts) else " }"
        return "{ " + ", ".join(parts) + end

    def _key(self, expression: Expression, key: Key, row: Row) -> str:
        if isinstance(key, float):
            return f"{key!r:>10}"
        if isinstance(key, int):
            modifier = expression.modifier if isinstance(expression, FieldRef) else ""
            return self._number(expression, key, modifier, row)
        if isinstance(key, bytes):
            return f"{key!r:<{_TEXT_COLUMNS}}"
        return f"{printable(key.text if isinstance(key, Held) else str(key)):<{_TEXT_COLUMNS}}"

    def _number(self, expression: Expression, key: int, modifier: str, row: Row) -> str:
        if modifier == "hex":
            return f"{key % _U64:x}"
        if modifier == "log2":
            return f"~ 2^{key:<2}"
        if modifier == "buckets":
            assert isinstance(expression, FieldRef)
            end = key + expression.bucket - 1
            return f"~ {key}-{end if end < 0 else end % _U64}"
        if modifier == "execname":
            return f"{row.comm:<16}[{key:10}]"
        if modifier == "syscall":
            return f"{self._names.syscall(key) or 'unknown_syscall':<30}[{key:3}]"
        is_function = isinstance(expression, FieldRef) and expression.type == "symbol"
        address = self._names.address(key) if is_function else key % _U64
        if modifier in ("sym", "sym-offset"):
            name = self._names.function(key) if is_function else self._names.symbol(address)
            if is_function and modifier == "sym-offset":
                name += "+0x0"  # a field has a function, never a place inside of one
            return f"[{address:x}] {name or hex(address):<{45 if modifier == 'sym' else 55}}"
        return f"{address if is_function else key:10}"

    # ---- values

    def _sum(self, value: Expression, place: int, number: int | float) -> str:
        modifier = value.modifier if isinstance(value, FieldRef) else ""
        if modifier == "percent":
            return f"{value.name} (%): {_percent(number, self._totals[place])}"
        if modifier == "graph":
            return f"{value.name}: {_graph(number, self._most[place])}"
        if isinstance(number, float):
            return f"{value.name}: {number!r:>10}"
        shown = f"{number % _U64:10x}" if modifier == "hex" else f"{number:10}"
        return f"{value.name}: {shown}"


def _share(number: int | float, whole: int | float, parts: int) -> int:
    """Return how many of the parts of the whole a number is, cut; 0: there is no such share."""
    if number <= 0 or whole <= 0 or number != number or whole != whole or whole == float("inf"):
        return 0
    if isinstance(number, int) and isinstance(whole, int):
        return number * parts // whole
    return int(number / whole * parts)


def _percent(number: int | float, total: int | float) -> str:
    share = _share(number, total, 10000)
    return f"{share // 100:3}.{share % 100:02}"


def _graph(number: int | float, most: int | float) -> str:
    return f"{'#' * min(_share(number, most, _GRAPH_COLUMNS), _GRAPH_COLUMNS):<{_GRAPH_COLUMNS}}"


def _extreme(extreme: Extreme) -> str:
    saved = "".join(f"  {name}: {_saved(value)}" for name, value in extreme.saved)
    return f"\t{extreme.label}: {extreme.value!r:>10}{saved}"


def _saved(value: Key) -> str:
    if isinstance(value, int | float):
        return f"{value!r:>10}"
    text = printable(
        value.text if isinstance(value, Held) else value if isinstance(value, str) else repr(value)
    )
    return f"{text:<{_SAVED_COLUMNS}}"
