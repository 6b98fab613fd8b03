"""How many workers one collector serves: `python -m benchmarks.scale --workers 10000`.

The collector is the real one, and writes real files. The workers are simulated in its process: each has a
trace that grows by so many bytes a second, of chunks as a recorder writes them. So what is measured is the
collector's own work, without the network's: CPU time for each worker and second, and bytes a second.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import funcgraph
from funcgraph.cluster.collector import Collector
from funcgraph.cluster.worker import PIECE_BYTES, Piece


class SimulatedWorkers:
    """Workers whose traces are beginnings of one trace, longer from round to round.

    Args:
        trace: a .fg trace.
        count: of workers.
    """

    def __init__(self, trace: bytes, count: int) -> None:
        self._trace = trace
        self._names = [f"worker-{number}" for number in range(count)]
        self.length = 0  # of each trace so far

    def files(self, name: str) -> Mapping[str, Sequence[str]]:
        return {worker: [f"{worker}.fg"] for worker in self._names}

    def read(self, name: str, positions: Mapping[str, tuple[str, int]]) -> Mapping[str, Piece]:
        return {worker: self._piece(*one) for worker, one in positions.items() if one[1] < self.length}

    def _piece(self, file: str, offset: int) -> Piece:
        data = self._trace[offset : min(self.length, offset + PIECE_BYTES)]
        return Piece(file, data, self.length == len(self._trace) and len(data) < PIECE_BYTES)

    def forget(self, name: str, worker: str, file: str) -> None:
        pass

    def stamps(self) -> Mapping[str, int]:
        return {worker: time.monotonic_ns() for worker in self._names}


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def _trace(folder: Path, size: int) -> bytes:
    """Record a program until its trace has so many bytes; return them."""
    path = folder / "worker.fg"
    depth = 18
    while True:
        with funcgraph.record(path):
            fib(depth)
        if path.stat().st_size >= size:
            return path.read_bytes()[:size]
        depth += 1


def simulate(workers: int, rate: int, seconds: int) -> dict[str, float]:
    """Run a collector over simulated workers.

    Args:
        workers: how many.
        rate: bytes a second of each worker's trace.
        seconds: of simulated time; the collector pulls once for each.

    Returns:
        `cpu_us`: the collector's CPU time for each worker and second, in us; `rate`: bytes a second that it
        moves at full load; `workers`: so many keep one processor busy.
    """
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        simulated = SimulatedWorkers(_trace(Path(folder), rate * seconds), workers)
        collector = Collector(simulated, "scale", os.path.join(folder, "copies"))
        begin = time.process_time()
        for second in range(1, seconds + 1):
            simulated.length = rate * second
            collector.pull()
        cpu = time.process_time() - begin
    each = cpu / workers / seconds
    return {"cpu_us": each * 1e6, "rate": rate / each, "workers": 1 / each}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--rate", type=int, default=20_000, help="bytes a second of each worker's trace")
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    found = simulate(options.workers, options.rate, options.seconds)
    total = options.workers * options.rate
    print(f"{options.workers:,} workers of {options.rate:,} bytes a second: {total / 1e6:,.0f} MB a second")
    print(f"the collector's CPU time: {found['cpu_us']:.0f} us for each worker and second")
    print(f"one processor serves {found['workers']:,.0f} workers, {found['rate'] / 1e6:,.0f} MB a second")
    print(f"collectors: {-(-options.workers // max(int(found['workers'] * 0.7), 1))}, each 70 % busy")


if __name__ == "__main__":
    main()
