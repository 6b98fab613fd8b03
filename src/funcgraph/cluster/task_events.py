"""The events that tie calls to Dask's task keys."""

from __future__ import annotations

__all__ = ["TASK_EVENTS"]

_SIMPLE = "distributed.worker._run_task_simple"
_ASYNC = "distributed.worker._run_task_async"
# A key is a text or a tuple, and an item of a text would be one of its characters.
_PARTS = "kind=task.key.__class__.__name__:string name=task.key[0] i=task.key[1] j=task.key[2]"
_OF_TUPLES = 'if kind == "tuple"'

TASK_EVENTS = (
    f"f:dask/task {_SIMPLE} key=task.key",
    f"f:dask/task_parts {_SIMPLE} {_PARTS} {_OF_TUPLES}",
    f"f:dask/task_done {_SIMPLE}%return key=task.key exc=$exc",
    f"f:dask/async_task {_ASYNC} key=task.key",
    f"f:dask/async_task_parts {_ASYNC} {_PARTS} {_OF_TUPLES}",
)
