"""The events of Dask's task keys, on functions of the same names: no cluster is needed."""

from __future__ import annotations

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph.cluster.task_events import TASK_EVENTS

pytestmark = pytest.mark.one_python

WORKER = """
class Task:
    def __init__(self, key): self.key = key
def _run_task_simple(task): pass
def _run_task_async(task): pass
"""


def test_only_a_key_that_is_a_tuple_has_parts(fg: Funcgraph) -> None:
    package = fg.folder / "distributed"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "worker.py").write_text(WORKER)
    script = fg.script("""
        from distributed import worker
        for key in ("wiojr-1", ("order", 7, 3), ("two", 1), b"wio", 7):
            worker._run_task_simple(worker.Task(key))
            worker._run_task_async(worker.Task(key))
    """)
    events = [word for text in TASK_EVENTS for word in ("-e", text)]
    done = fg.record("-q", "-l", "nothing", *events, script)
    assert done.returncode == 0, done.stderr
    with funcgraph.open(fg.trace) as trace:
        found = [(e.type.name, dict(e.fields)) for e in trace.events() if e.type is not None]
    for prefix in ("", "async_"):
        keys = [fields["key"] for name, fields in found if name == f"{prefix}task"]
        assert [keys[0], *map(str, keys[1:3]), *keys[3:]] == ["wiojr-1", "tuple(3)", "tuple(2)", b"wio", 7]
        parts = [fields for name, fields in found if name == f"{prefix}task_parts"]
        assert [(part["name"], part["i"]) for part in parts] == [("order", 7), ("two", 1)]
        assert parts[0]["j"] == 3
