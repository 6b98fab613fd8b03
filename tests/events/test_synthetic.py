"""Events that other events make: synthetic ones by actions of histograms, and probes on their fields."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import funcgraph

events = funcgraph.dynamic_events
HERE = __name__


class Job:
    def __init__(self, id: int, name: str = "") -> None:
        self.id = id
        self.name = name or f"job{id}"


def enqueue(job: Job) -> None:
    pass


def dequeue(job: Job) -> int:
    return job.id


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    yield
    for instance in funcgraph.instances().values():
        instance.close()
    events.clear()
    events.log.clear()
    assert len(events) == 0
    assert funcgraph.users() == []


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one") as instance:
        yield instance


@pytest.fixture
def queue() -> None:
    """Define the two events of a queue."""
    events.define(f"f:q/in {HERE}.enqueue job=job.id:u64 name=job.name:string")
    events.define(f"f:q/out {HERE}.dequeue job=job.id:u64 who=job.name:string")


def hits(instance: funcgraph.Instance) -> list[str]:
    """Return the text of each event in an instance's trace."""
    return re.findall(r"\d: (\w+: .*)$", instance.trace(), re.MULTILINE)


def rows(text: str) -> list[str]:
    """Return the rows of a histogram with single blanks."""
    return [re.sub(" +", " ", line) for line in text.splitlines() if line.startswith("{")]


def run(*jobs: int) -> None:
    for id in jobs:
        job = Job(id)
        enqueue(job)
        dequeue(job)


# ---- the example of histogram.rst: how long between two events of the same job


@pytest.mark.usefixtures("queue")
def test_a_match_generates_an_event_with_what_both_have(one: funcgraph.Instance) -> None:
    events.define("s:latency u64 lat; u64 job; char who[8]; char name[]")
    made = one.events["synthetic/latency"]
    made.enable = True
    one.events["q/in"].trigger = "hist:keys=job:ts0=common_timestamp,name=name"
    match = "onmatch(q.in).latency($lat,job,who,$name)"
    one.events["q/out"].trigger = f"hist:keys=job:lat=common_timestamp-$ts0:{match}"
    run(1, 22222)
    dequeue(Job(1))  # it was taken
    dequeue(Job(3))  # it was never put in
    found = [re.sub(r"lat=\d+", "lat=N", text) for text in hits(one)]
    assert found == [
        "latency: lat=N job=1 who=job1 name=job1",
        "latency: lat=N job=22222 who=job22222 name=job22222",
    ]
    assert rows(one.events["q/out"].hist) == ["{ job: 1 } hitcount: 1", "{ job: 22222 } hitcount: 1"]
