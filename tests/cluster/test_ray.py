"""A Ray job of several worker processes: one trace of all of them."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import funcgraph

pytestmark = [
    # Ray gives its own servers fixed times to start, which a busy machine exceeds.
    pytest.mark.flaky(reruns=1),
    pytest.mark.timeout(240),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="there is no Ray"),
]

DRIVER = Path(__file__).parent / "ray_driver.py"


def run_job(scenario: str, folder: Path) -> dict[str, Any]:
    """Return what the driver of a job tells. It may take this test's 240 s."""
    command = [sys.executable, str(DRIVER), scenario, str(folder)]
    environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "RAY_raylet_start_wait_time_s": "180"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reported: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return reported


def calls_of(path: str) -> Counter[str]:
    with funcgraph.open(path) as trace:
        return Counter(e.function.name for e in trace.events() if e.kind == "entry" and e.function)


def test_one_trace_has_each_call_of_all_worker_processes(tmp_path: Path) -> None:
    reported = run_job("several_workers", tmp_path)
    assert (sum(reported["values"]), reported["missing"]) == (sum(range(40)), [])
    calls = calls_of(reported["path"])
    assert calls["shop.order"] == 40
    assert calls["shop.item"] == sum(range(40))
    with funcgraph.open(reported["path"]) as trace:
        assert {task.pid for task in trace.tasks} == set(reported["pids"])


def test_a_worker_that_is_killed_has_its_calls_in_the_trace(tmp_path: Path) -> None:
    """Its recorder outlives it."""
    reported = run_job("killed_worker", tmp_path)
    assert (reported["values"], reported["missing"]) == ([5000, 7], [])
    assert calls_of(reported["path"])["shop.item"] == 5007


NODE = """
import json, sys
import funcgraph.ray as fg_ray

node, name = sys.argv[1:]
print(json.dumps(fg_ray._node_files(node, name)))
fg_ray._node_forget(node, name, "n-1-funcgraph-a.fg")
try:
    fg_ray._node_forget(node, name, "n-3-funcgraph-c.fg")
except OSError as error:
    print(type(error).__name__, error.errno)
fg_ray._node_stop(node, name)
"""


def test_a_node_removes_what_it_recorded_and_follows_no_link(tmp_path: Path) -> None:
    """Broken by: removing a folder with all that is in it, by its path."""
    root, elsewhere = tmp_path / "node" / "funcgraph-0", tmp_path / "elsewhere"
    for folder in (root / "funcgraph-a", root / "funcgraph-c", elsewhere):
        folder.mkdir(parents=True, mode=0o700)
    root.chmod(0o700)
    (root / "funcgraph-b").symlink_to(elsewhere)
    (elsewhere / "n-2-funcgraph-b.fg").touch()
    (root / "funcgraph-a" / "n-1-funcgraph-a.fg").touch()
    (root / "funcgraph-a" / "n-1-funcgraph-a.fg.1").touch()
    (root / "funcgraph-c" / "n-3-funcgraph-c.fg").touch()
    (root / "funcgraph-c" / "somebody's").touch()
    command = [sys.executable, "-c", NODE, str(tmp_path / "node"), root.name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    listed, refused = done.stdout.splitlines()
    files = ["n-1-funcgraph-a.fg", "n-1-funcgraph-a.fg.1", "n-3-funcgraph-c.fg", "somebody's"]
    assert json.loads(listed) == files
    assert refused == f"OSError {errno.ENOTEMPTY}"
    assert sorted(path.name for path in root.iterdir()) == ["funcgraph-b", "funcgraph-c", "stop"]
    assert [path.name for path in (root / "funcgraph-c").iterdir()] == ["somebody's"]
    assert (elsewhere / "n-2-funcgraph-b.fg").exists()
