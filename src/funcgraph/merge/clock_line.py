"""The straight line from one host's clock to another's, by bounds of their difference.

What is known of two clocks are bounds: a message cannot arrive before it was sent, and a clock that is
synchronised is off by no more than it says. Each bound is a half plane in the plane of all lines (offset,
drift). What is left of that plane is a polygon, and all lines in it are possible: its middle is taken, and
its width is how far off that may be. (Duda, Harrus, Haddad and Bernard, "Estimating global time in
distributed systems", ICDCS 1987, bound clocks of different hosts in this way.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["IDENTITY", "Bound", "ClockLine", "fit"]

#: Quartz and a kernel that slews a clock together differ by less: adjtimex(2) slews by 500 parts in a
#: million, and crystals are off by some 100.
_MAX_DRIFT = 1e-3
_FIRST_SLACK_NS = 1.0
#: In a recording as short as this no drift is seen.
_SHORT_NS = 10_000_000


class Bound(NamedTuple):
    """What is known of the difference between two clocks at one time.

    Attributes:
        host_ns: the time on the host's clock.
        low_ns, high_ns: the reference's clock is ahead by at least and at most so much; infinite: not known.
    """

    host_ns: int
    low_ns: float
    high_ns: float


class ClockLine(NamedTuple):
    """How times of a host become times of the reference.

    Attributes:
        first, last: two instants: (time of the host, time of the reference), in ns.
        error_ns: between these two, the line is off by at most so much; None: not known.
        slack_ns: 0, or by how much the bounds contradict one another: a clock jumped, or what they come from
            is wrong.
    """

    first: tuple[int, int]
    last: tuple[int, int]
    error_ns: int | None
    slack_ns: int = 0

    def at(self, host_ns: int) -> int:
        """Return the reference's time at a time of the host, in ns."""
        (begin, line), (end, line_end) = self.first, self.last
        if begin == end:
            return line + host_ns - begin
        return line + round((host_ns - begin) * (line_end - line) / (end - begin))


#: The line of a clock to itself.
IDENTITY = ClockLine((0, 0), (0, 0), 0)

# A line: what the reference is ahead at the middle of time, in ns; and the drift, in ns each ns.
_Line = tuple[float, float]


def fit(bounds: Sequence[Bound], begin_ns: int, end_ns: int) -> ClockLine | None:
    """Return the line that bounds leave for a host's recording.

    Args:
        bounds: in any order.
        begin_ns, end_ns: of the recording, on the host's clock.

    Returns:
        The line; None if nothing bounds it on both sides.
    """
    if not any(math.isfinite(bound.low_ns) for bound in bounds) or not any(
        math.isfinite(bound.high_ns) for bound in bounds
    ):
        return None
    origin_ns = (begin_ns + end_ns) // 2
    some = next(bound for bound in bounds if math.isfinite(bound.low_ns))
    base_ns = round(some.low_ns)  # so that what is calculated with is small, and floats are exact enough
    planes = [plane for bound in bounds for plane in _planes(bound, origin_ns, base_ns)]
    polygon, slack_ns = _feasible(planes)
    ends = [begin_ns - origin_ns, (end_ns if end_ns - begin_ns >= _SHORT_NS else begin_ns) - origin_ns]
    ranges = [_range(polygon, time) for time in ends]
    first, last = [
        (origin_ns + time, origin_ns + time + base_ns + round((low + high) / 2))
        for time, (low, high) in zip(ends, ranges, strict=True)
    ]
    error_ns = math.ceil(max((high - low) / 2 for low, high in ranges) + slack_ns)
    return ClockLine(first, last, error_ns, math.ceil(slack_ns))


# a * offset + b * drift >= c, of a line's offset and drift
_Plane = tuple[float, float, float]


def _planes(bound: Bound, origin_ns: int, base_ns: int) -> list[_Plane]:
    time = float(bound.host_ns - origin_ns)
    planes = []
    if math.isfinite(bound.low_ns):
        planes.append((1.0, time, float(bound.low_ns - base_ns)))
    if math.isfinite(bound.high_ns):
        planes.append((-1.0, -time, -float(bound.high_ns - base_ns)))
    return planes


def _feasible(planes: Sequence[_Plane]) -> tuple[list[_Line], float]:
    """Return the polygon of all lines that the planes allow, and the slack without which there is none."""
    slack = 0.0
    # Around all lines that may be left, and no larger than that: floats have 53 bits.
    wide = max(abs(c) + _MAX_DRIFT * abs(b) for _, b, c in planes) + 1.0
    while True:
        polygon = _clip_all([(a, b, c - slack) for a, b, c in planes], wide + slack)
        if polygon:
            return polygon, slack
        slack = slack * 2 or _FIRST_SLACK_NS


def _clip_all(planes: Sequence[_Plane], wide: float) -> list[_Line]:
    polygon: list[_Line] = [
        (-wide, -_MAX_DRIFT),
        (wide, -_MAX_DRIFT),
        (wide, _MAX_DRIFT),
        (-wide, _MAX_DRIFT),
    ]
    for plane in planes:
        polygon = _clip(polygon, plane)
    return polygon


def _clip(polygon: list[_Line], plane: _Plane) -> list[_Line]:
    """Return the part of a convex polygon that is in a half plane (Sutherland and Hodgman, 1974)."""
    a, b, c = plane
    inside: list[_Line] = []
    for at, corner in enumerate(polygon):
        before = polygon[at - 1]
        depth_before, depth = a * before[0] + b * before[1] - c, a * corner[0] + b * corner[1] - c
        if (depth_before >= 0) != (depth >= 0):
            part = depth_before / (depth_before - depth)
            offset = before[0] + part * (corner[0] - before[0])
            inside.append((offset, before[1] + part * (corner[1] - before[1])))
        if depth >= 0:
            inside.append(corner)
    return inside


def _range(polygon: Sequence[_Line], time: float) -> tuple[float, float]:
    values = [offset + drift * time for offset, drift in polygon]
    return min(values), max(values)
