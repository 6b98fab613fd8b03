"""A Dask cluster of processes: one trace of all workers, with their task keys, whatever happens to one."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import funcgraph

distributed = pytest.importorskip("distributed")

from funcgraph.cluster.collector import Collector  # noqa: E402
from funcgraph.dask import Record  # noqa: E402
from tests.cluster import shop  # noqa: E402

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        yield client


def calls_of(path: str) -> Counter[str]:
    with funcgraph.open(path) as trace:
        return Counter(e.function.name for e in trace.events() if e.kind == "entry" and e.function)


def test_one_trace_has_each_call_and_each_task_key_of_all_workers(client: Any, tmp_path: Path) -> None:
    record = Record(filter=["tests.cluster.shop.*"])
    client.register_plugin(record)
    pure = [client.submit(shop.order, number, key=f"order-{number}") for number in range(30)]
    pure.append(client.submit(shop.order, 2, key=("order", 7, 3)))
    assert sum(client.gather(pure)) == sum(range(30)) + 2
    failed = client.submit(shop.fail, key="fails")
    assert isinstance(failed.exception(), shop.FailedError)
    collected = record.collect(client, tmp_path / "all.fg")
    client.unregister_worker_plugin(record.name)
    assert collected.missing == ()
    assert collected.merged is not None
    assert collected.merged.damaged == 0
    calls = calls_of(collected.merged.path)
    assert calls["tests.cluster.shop.order"] == 31
    assert calls["tests.cluster.shop.item"] == sum(range(30)) + 2
    with funcgraph.open(collected.merged.path) as trace:
        tasks = [event for event in trace.events() if event.type and event.type.name == "task"]
        texts = [event.fields["key"] for event in tasks if isinstance(event.fields["key"], str)]
        tuples = [event for event in trace.events() if event.type and event.type.name == "task_parts"]
        assert sorted(texts) == sorted([*(f"order-{number}" for number in range(30)), "fails"])
        assert [(e.fields["name"], e.fields["i"], e.fields["j"]) for e in tuples] == [("order", 7, 3)]
        assert len({task.pid for task in trace.tasks}) == 2


def test_calls_of_a_task_follow_its_key_in_its_thread(client: Any, tmp_path: Path) -> None:
    record = Record(filter=["tests.cluster.shop.*"])
    client.register_plugin(record)
    numbers = range(1, 20)
    client.gather([client.submit(shop.order, number, key=f"k-{number}", pure=False) for number in numbers])
    merged = record.collect(client, tmp_path / "all.fg").merged
    client.unregister_worker_plugin(record.name)
    assert merged is not None
    key: dict[tuple[int, int], str] = {}
    items: Counter[str] = Counter()
    with funcgraph.open(merged.path) as trace:
        for event in trace.events():
            thread = (event.task.pid, event.task.tid)
            if event.type and event.type.name == "task":
                key[thread] = str(event.fields["key"])
            elif event.kind == "entry" and event.function and event.function.qualname == "item":
                items[key[thread]] += 1
    assert items == {f"k-{number}": number for number in numbers}


def test_a_recording_can_be_stopped_and_started_again(client: Any, tmp_path: Path) -> None:
    record = Record(filter=["tests.cluster.shop.*"])
    client.register_plugin(record)
    client.submit(shop.order, 3, key="first").result()
    record.stop(client)
    client.submit(shop.order, 50, key="unseen").result()
    record.start(client)
    client.submit(shop.order, 4, key="last").result()
    merged = record.collect(client, tmp_path / "all.fg").merged
    client.unregister_worker_plugin(record.name)
    assert merged is not None
    assert calls_of(merged.path)["tests.cluster.shop.item"] == 7


def wait_for(condition: Any) -> None:
    while not condition():
        time.sleep(0.05)


def test_what_arrived_of_a_worker_that_was_killed_is_kept_and_the_rest_is_named(tmp_path: Path) -> None:
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        record = Record(filter=["tests.cluster.shop.*"])
        client.register_plugin(record)
        collector = record.collector(client, tmp_path / "copies")
        victim, survivor = client.scheduler_info()["workers"]
        counts = {victim: 20_000, survivor: 9}
        for worker, number in counts.items():
            client.submit(shop.order, number, workers=[worker], key=worker).result()
        pid = client.run(os.getpid, workers=[victim])[victim]
        wait_for(lambda: collector.pull() == 0 and sum(map(os.path.getsize, collector.paths())) > 4000)
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: victim not in client.scheduler_info()["workers"])
        collected = record.collect(client, tmp_path / "all.fg", collector=collector)
    assert collected.merged is not None
    assert collected.missing == (victim,)
    calls = calls_of(collected.merged.path)["tests.cluster.shop.item"]
    assert 9 < calls <= 20_009


def test_a_collector_that_is_started_again_goes_on(client: Any, tmp_path: Path) -> None:
    record = Record(filter=["tests.cluster.shop.*"])
    client.register_plugin(record)
    first = record.collector(client, tmp_path / "copies")
    client.submit(shop.order, 5000, key="before").result()
    first.pull()
    sizes = {path: os.path.getsize(path) for path in first.paths()}
    second = record.collector(client, tmp_path / "copies")
    client.submit(shop.order, 11, key="after").result()
    merged = record.collect(client, tmp_path / "all.fg", collector=second).merged
    client.unregister_worker_plugin(record.name)
    assert merged is not None
    assert all(os.path.getsize(path) >= size for path, size in sizes.items())
    assert calls_of(merged.path)["tests.cluster.shop.item"] == 5011


def test_wrong_settings_are_refused_before_a_worker_has_them() -> None:
    with pytest.raises(ValueError, match="tracer"):
        Record(tracer="no_such_tracer")


class Names:
    """Workers that give names which lead out of the collector's folder."""

    def files(self, name: str) -> dict[str, list[str]]:
        return {"w": ["../out.fg", "a/b.fg", "/etc/x.fg", "ok.fg"]}

    def read(self, name: str, expected: Mapping[str, tuple[str, int]]) -> Mapping[str, Any]:
        assert all(file == "ok.fg" for file, _ in expected.values())
        return {}

    def forget(self, name: str, worker: str, file: str) -> None:
        raise AssertionError

    def stamps(self) -> dict[str, int]:
        return {}


def test_a_hostile_worker_writes_into_the_folder_only(tmp_path: Path) -> None:
    collector = Collector(Names(), "x", tmp_path / "copies")
    assert collector.pull() == 0
    assert collector.finish(tmp_path / "all.fg").merged is None
    assert list(tmp_path.iterdir()) == [tmp_path / "copies"]
