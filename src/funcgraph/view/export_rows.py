"""The spans of a selection, as an exported page has them: exact if they fit, else the short ones in cells.

embedded_trace.js reads what `packed_rows` writes.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from funcgraph.tracedata.call_index import CallIndex, Lane, SpanColumns

__all__ = ["CELL", "Row", "numbered_depths", "packed_columns", "packed_rows", "rows_of_lanes"]

CELL = len(SpanColumns.ENDS)
_OPEN = SpanColumns.ENDS.index("open")
_STEP = 16  # between levels of cells, FG_INDEX_STEP
_MAX_PIXELS = 2**32 - 1
_READ_SPANS = 32_768  # half of FG_DETAIL_MAX_SPANS: so much is read from the file at once


class Row(NamedTuple):
    """A span or a cell of a lane, in the order in which they are written.

    Attributes:
        depth: how many calls it was made from.
        begin_ns, end_ns: relative to the begin of the selection, within it.
        function: its number.
        ended: index in SpanColumns.ENDS; CELL.
        resumed: whether it began with a resume.
        busy_ns, count: of a cell: how long its spans took together, and how many there are.
    """

    depth: int
    begin_ns: int
    end_ns: int
    function: int
    ended: int
    resumed: int
    busy_ns: int
    count: int  # type: ignore[assignment]  # not the method of tuples


def rows_of_lanes(
    index: CallIndex, lanes: Sequence[Lane], part: tuple[int, int], most: int
) -> tuple[list[list[Row]], int]:
    """Return the rows of each lane, about `most` together, and how short spans in cells are; 0: none are.

    Args:
        index: has them.
        lanes: which ones.
        part: begin and end, on the trace's clock.
        most: so many rows, unless there are more long spans than that.
    """
    pixel_ns = _STEP ** max(0, _digits((part[1] - part[0]) // 4096))
    found = [_columns(index, lane, part, pixel_ns) for lane in lanes]
    while pixel_ns > 1:
        finer = [_columns(index, lane, part, pixel_ns // _STEP) for lane in lanes]
        if sum(map(len, finer)) > most:
            break
        found, pixel_ns = finer, pixel_ns // _STEP
    if pixel_ns == 1 and _count(found) <= most:
        made = [list(_exact(index, lane, part, columns)) for lane, columns in zip(lanes, found, strict=True)]
    else:
        made = [list(_rows(columns, part)) for columns in found]
    for rows in made:
        rows.sort()
    has_cells = any(row.ended == CELL for rows in made for row in rows)
    return made, max(pixel_ns, index.resolution_ns) if has_cells else 0


def numbered_depths(rows: Sequence[Row], functions: Collection[int]) -> list[Row]:
    """Return the rows of some functions, with depths among these."""
    made: list[Row] = []
    around: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.begin_ns, row.depth)):
        while around and (around[-1].depth >= row.depth or around[-1].end_ns <= row.begin_ns):
            around.pop()
        if row.function in functions:
            made.append(row._replace(depth=len(around)))
            around.append(row)
    made.sort()
    return made


def packed_rows(rows: Sequence[Row]) -> tuple[list[tuple[int, int]], bytes]:
    """Return how many rows each depth has, and the columns of all rows."""
    levels: list[tuple[int, int]] = []
    begins: list[int] = []
    before = 0
    for row in rows:
        if not levels or levels[-1][0] != row.depth:
            levels.append((row.depth, 0))
            before = 0
        levels[-1] = (row.depth, levels[-1][1] + 1)
        begins.append(row.begin_ns - before)
        before = row.begin_ns
    cells = [row for row in rows if row.ended == CELL]
    data = packed_columns(
        begins,
        (row.end_ns - row.begin_ns for row in rows),
        (row.function for row in rows),
        (row.ended | row.resumed << 7 for row in rows),
        (row.busy_ns for row in cells),
        (row.count for row in cells),
    )
    return levels, data


def packed_columns(*columns: Iterable[int]) -> bytes:
    """Return columns of numbers one after the other, as embedded_trace.js reads them."""
    return b"".join(map(_packed, columns))


def _packed(numbers: Iterable[int]) -> bytes:
    """Return the width of numbers in bytes, then their lowest bytes, the next ones, and so on: what is alike
    is together, for compression."""
    column = array("Q", numbers)
    width = (max(column, default=0).bit_length() + 7) // 8
    data = column.tobytes()
    return bytes([width]) + b"".join(data[plane::8] for plane in range(width))


def _columns(index: CallIndex, lane: Lane, part: tuple[int, int], pixel_ns: int) -> SpanColumns:
    pixels = min(max((part[1] - part[0]) // pixel_ns, 1), _MAX_PIXELS)
    return index.spans(lane, *part, pixels)


def _count(columns: Iterable[SpanColumns]) -> int:
    return sum(sum(rows.count) for rows in columns)


def _exact(index: CallIndex, lane: Lane, part: tuple[int, int], columns: SpanColumns) -> Iterable[Row]:
    """Yield rows without cells, as far as the trace's file has what the index lacks: shorter parts are asked
    for until so little is in each that it is read."""
    spans, cells = [], 0
    for row, count in zip(_rows(columns, part), columns.count, strict=False):
        spans.append(row)
        cells += count if row.ended == CELL else 0
    middle = (part[0] + part[1]) // 2
    if cells <= _READ_SPANS or middle == part[0]:  # there are none, or they are nowhere
        yield from spans
        return
    for half in ((part[0], middle), (middle, part[1])):
        shift = half[0] - part[0]
        for row in _exact(index, lane, half, _columns(index, lane, half, 1)):
            if not (shift and row.begin_ns == 0 and row.ended != CELL):
                yield row._replace(begin_ns=row.begin_ns + shift, end_ns=row.end_ns + shift)


def _rows(columns: SpanColumns, part: tuple[int, int]) -> Iterable[Row]:
    """Yield rows, cut at the ends of the part."""
    begin_ns, end_ns = part
    table = zip(
        columns.depth,
        columns.begin_ns,
        columns.end_ns,
        columns.function,
        columns.ended,
        columns.resumed,
        columns.busy_ns,
        columns.count,
        strict=True,
    )
    for depth, begin, end, function, ended, resumed, busy, count in table:
        first, last = max(begin, begin_ns) - begin_ns, min(end, end_ns) - begin_ns
        if ended == CELL:
            yield Row(depth, first, max(last, first + 1), function, CELL, 0, busy, count)
            continue
        how = _OPEN if end > end_ns else ended
        yield Row(depth, first, last, function, how, int(resumed or begin < begin_ns), busy, count)


def _digits(number: int) -> int:
    """Return the number of digits to the base of levels, less one."""
    digits = 0
    while number >= _STEP:
        number //= _STEP
        digits += 1
    return digits
