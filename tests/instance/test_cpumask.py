"""tracing_cpumask: the lanes that texts show. A lane is given to a thread when the buffer is read."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator

import pytest
from traced import leaf

import funcgraph

pytestmark = pytest.mark.one_python

CPUS = os.sysconf("SC_NPROCESSORS_CONF")
ALL = f"{(1 << CPUS) - 1:x}"


@pytest.fixture
def instance() -> Iterator[funcgraph.Instance]:
    """An instance with one record of each of two threads that run at the same time: two lanes."""
    with funcgraph.Instance("mask", filter="traced.*", tracer="function") as instance:
        leaf(1)
        thread = threading.Thread(target=leaf, args=(1,))
        thread.start()
        thread.join()
        leaf(1)
        yield instance


def lanes(text: str) -> set[str]:
    return {line.partition("[")[2][:3] for line in text.splitlines() if "traced.leaf" in line}


def test_there_is_a_lane_for_each_cpu_of_the_machine() -> None:
    """trace-cmd opens a folder for each."""
    with funcgraph.Instance("empty") as one:
        folders = {name.split("/")[1] for name in one.files if name.startswith("per_cpu/")}
        assert folders == {f"cpu{cpu}" for cpu in range(CPUS)}
        if CPUS < 33:
            assert one.files["tracing_cpumask"] == f"{ALL}\n"
        for cpu in range(CPUS):
            assert one.files[f"per_cpu/cpu{cpu}/stats"].startswith("entries: 0\n")


def test_texts_show_only_the_lanes_of_the_mask(instance: funcgraph.Instance) -> None:
    assert lanes(instance.trace()) == {"000", "001"}
    instance.files["tracing_cpumask"] = "2\n"
    assert lanes(instance.trace()) == {"001"}
    assert lanes(instance.files["per_cpu/cpu0/trace"]) == set()
    assert lanes(instance.files["per_cpu/cpu1/trace"]) == {"001"}
    assert int(instance.files["tracing_cpumask"], 16) == 2
    instance.files["tracing_cpumask"] = "0\n"
    assert lanes(instance.trace()) == set()
    instance.files["tracing_cpumask"] = "1\n"
    assert lanes("".join(instance.trace_pipe(blocking=False))) == {"000"}
    assert "traced.leaf" not in instance.trace()  # the pipe took all


def test_the_snapshot_shows_only_the_lanes_of_the_mask(instance: funcgraph.Instance) -> None:
    instance.files["snapshot"] = "1"
    instance.files["tracing_cpumask"] = "2"
    assert lanes(instance.files["snapshot"]) == {"001"}
    assert lanes(instance.files["per_cpu/cpu0/snapshot"]) == set()


def test_pipes_of_lanes_that_are_not_shown_are_empty(instance: funcgraph.Instance) -> None:
    instance.files["tracing_cpumask"] = "2"
    assert instance.files["per_cpu/cpu0/trace_pipe"] == ""
    assert lanes(instance.files["per_cpu/cpu1/trace_pipe"]) == {"001"}


def test_a_mask_of_all_lanes_shows_those_that_come_too(instance: funcgraph.Instance) -> None:
    instance.files["tracing_cpumask"] = "1"
    instance.files["tracing_cpumask"] = f"{(1 << max(CPUS, 2)) - 1:x}"
    assert lanes(instance.trace()) == {"000", "001"}


@pytest.mark.parametrize("text", ["junk", "-1", "123456789", "1,,2"])
def test_what_is_no_mask_is_einval(instance: funcgraph.Instance, text: str) -> None:
    with pytest.raises(OSError) as caught:
        instance.files["tracing_cpumask"] = text
    assert caught.value.errno == errno.EINVAL


def test_a_lane_that_does_not_exist_is_eoverflow(instance: funcgraph.Instance) -> None:
    with pytest.raises(OSError) as caught:
        instance.files["tracing_cpumask"] = f"1{'0' * (CPUS // 4 + 2)}"
    assert caught.value.errno == errno.EOVERFLOW
