"""The instances that record tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from funcgraph.instance.instance import Instance, instances

_VALUES = "funcgraph-args funcgraph-retval"


def open_instance(
    name: str, functions: Sequence[str], args: bool, buffer_kb: int, redact: str = ""
) -> Instance:
    """Return a new instance that records calls of functions: in this process alone, the latest ones.

    Args:
        name: its name, with a number after it if another has that: tests may run tests.
        functions: patterns.
        args: record arguments and results, each with its parts.
        buffer_kb: the size of its buffer.
        redact: as `--redact` of `funcgraph record`.

    Raises:
        OSError, RuntimeError: as of Instance.
    """
    taken = instances()
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return Instance(
        next(one for one in names if one not in taken),
        tracer="function_graph",
        filter=functions,
        options=_VALUES if args else (),
        value_depth=int(args),
        value_redact=redact,
        buffer_size_kb=buffer_kb,
    )
