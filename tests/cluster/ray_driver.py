"""A Ray driver: `ray_driver.py SCENARIO FOLDER` records its job and prints, as JSON, what the test asks.

It has a process of its own: importing Ray brings uvloop along, which other tests look for.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray

import funcgraph.ray as fg_ray


def order(number: int) -> tuple[int, int]:
    import shop

    return shop.order(number), os.getpid()


@contextmanager
def job(folder: Path) -> Iterator[fg_ray.Record]:
    record = fg_ray.Record(filter=["shop.*"], folder=str(folder / "node"))
    env = record.runtime_env(env_vars={"PYTHONPATH": str(Path(__file__).parent)})
    (folder / "node").mkdir()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=env)
    yield record
    ray.shutdown()


def several_workers() -> dict[str, Any]:
    remote: Any = ray.remote(order)
    results = ray.get([remote.remote(number) for number in range(40)])
    return {"values": [value for value, _ in results], "pids": sorted({pid for _, pid in results})}


def killed_worker() -> dict[str, Any]:
    remote: Any = ray.remote(max_retries=0)(order)
    value, pid = ray.get(remote.remote(5000))
    os.kill(pid, signal.SIGKILL)
    other, _ = ray.get(ray.remote(max_retries=5)(order).remote(7))
    return {"values": [value, other]}


SCENARIOS: dict[str, Callable[[], dict[str, Any]]] = {
    "several_workers": several_workers,
    "killed_worker": killed_worker,
}


def main() -> None:
    scenario, folder = sys.argv[1], Path(sys.argv[2])
    with job(folder) as record:
        reported = SCENARIOS[scenario]()
        collected = record.collect(folder / "job.fg")
    assert collected.merged is not None
    print(json.dumps({**reported, "missing": collected.missing, "path": collected.merged.path}))


if __name__ == "__main__":
    main()
