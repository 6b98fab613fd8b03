"""A Ray job of several worker processes: one trace of all of them."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import funcgraph

ray = pytest.importorskip("ray")

import funcgraph.ray as fg_ray  # noqa: E402

pytestmark = pytest.mark.timeout(240)

SHOP = str(Path(__file__).parent)


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[fg_ray.Record]:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    record = fg_ray.Record(filter=["shop.*"], folder=str(tmp_path / "node"))
    env = record.runtime_env(env_vars={"PYTHONPATH": SHOP})
    (tmp_path / "node").mkdir()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=env)
    yield record
    ray.shutdown()


def order(number: int) -> tuple[int, int]:
    import shop

    return shop.order(number), os.getpid()


def calls_of(path: str) -> Counter[str]:
    with funcgraph.open(path) as trace:
        return Counter(e.function.name for e in trace.events() if e.kind == "entry" and e.function)


def test_one_trace_has_each_call_of_all_worker_processes(job: fg_ray.Record, tmp_path: Path) -> None:
    remote: Any = ray.remote(order)
    results = ray.get([remote.remote(number) for number in range(40)])
    assert sum(value for value, _ in results) == sum(range(40))
    collected = job.collect(tmp_path / "job.fg")
    assert collected.missing == ()
    assert collected.merged is not None
    calls = calls_of(collected.merged.path)
    assert calls["shop.order"] == 40
    assert calls["shop.item"] == sum(range(40))
    with funcgraph.open(collected.merged.path) as trace:
        recorded = {task.pid for task in trace.tasks}
    assert recorded == {pid for _, pid in results}


def test_a_worker_that_is_killed_has_its_calls_in_the_trace(job: fg_ray.Record, tmp_path: Path) -> None:
    """Its recorder outlives it."""
    remote: Any = ray.remote(max_retries=0)(order)
    value, pid = ray.get(remote.remote(5000))
    os.kill(pid, signal.SIGKILL)
    other, _ = ray.get(ray.remote(max_retries=5)(order).remote(7))
    collected = job.collect(tmp_path / "job.fg")
    assert (value, other, collected.missing) == (5000, 7, ())
    assert collected.merged is not None
    assert calls_of(collected.merged.path)["shop.item"] == 5007
