"""A tool that measures each function's own time: without the functions that it calls."""

from __future__ import annotations

from collections import defaultdict

import funcgraph

BOUNDS_NS = {"< 10 us": 10_000, "< 100 us": 100_000, "< 1 ms": 1_000_000, "< 10 ms": 10_000_000}
COLUMNS = [*BOUNDS_NS, "longer"]


class Latency:
    """Counts the calls of each function by their own time."""

    def __init__(self, *patterns: str) -> None:
        self.calls: dict[str, list[int]] = defaultdict(lambda: [0] * len(COLUMNS))
        self.ops = funcgraph.FgraphOps(self._entry, self._return, filter=patterns, name="latency")

    def _entry(self, trace: funcgraph.GraphEnt, ops: funcgraph.FgraphOps, regs: funcgraph.FtraceRegs) -> bool:
        ops.reserve_data(8)  # zeroed: the time spent in callees
        return True

    def _return(
        self, trace: funcgraph.GraphRet, ops: funcgraph.FgraphOps, regs: funcgraph.FtraceRegs
    ) -> None:
        took_ns = trace.rettime_ns - trace.calltime_ns
        inner, outer = ops.retrieve_data(), ops.retrieve_parent_data(1)
        if outer is not None:
            outer.cast("Q")[0] += took_ns
        if inner is not None:
            self._count(trace.func.name, took_ns - inner.cast("Q")[0])

    def _count(self, name: str, own_ns: int) -> None:
        column = sum(own_ns >= bound for bound in BOUNDS_NS.values())
        self.calls[name][column] += 1

    def report(self) -> str:
        lines = [f"{'own time':<16}" + "".join(f"{column:>10}" for column in COLUMNS)]
        for name, counts in sorted(self.calls.items()):
            lines.append(f"{name:<16}" + "".join(f"{count or '.':>10}" for count in counts))
        return "\n".join(lines)
