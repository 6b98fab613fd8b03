"""A tool that raises, registered together with one that works."""

from __future__ import annotations

import shop
from latency import Latency

import funcgraph


def entry(trace: funcgraph.GraphEnt, ops: funcgraph.FgraphOps, regs: funcgraph.FtraceRegs) -> bool:
    return 10 / trace.depth > 2  # divides by zero: the outermost call has depth 0


def main() -> None:
    mistaken, latency = funcgraph.FgraphOps(entry, filter=["shop.*"], name="mistaken"), Latency("shop.*")
    with funcgraph.registered(mistaken, latency.ops):
        print("earned", shop.run())
    print(f"{mistaken.name}: enabled {mistaken.enabled}, errors {mistaken.errors}, {mistaken.last_error!r}")
    print(f"{latency.ops.name}: enabled {latency.ops.enabled}, {sum(map(sum, latency.calls.values()))} calls")


if __name__ == "__main__":
    main()
