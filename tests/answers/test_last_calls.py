"""`funcgraph values --last`: each function's last call, with its arguments and its result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tracefile import RAISE, Trace, value, values

import funcgraph
from funcgraph.answers.last_calls import last_calls
from funcgraph.tracedata import SelectionError

S = 1_000_000_000

PROGRAM = """
def price(kind, n):
    if n == 7:
        raise KeyError(kind)
    return n * 2

def discount(code=None):
    return code

def never():
    pass

for n in range(5):
    price("bulk", n)
    discount("a")
    discount(code=n)
try:
    price(kind="single", n=7)
except KeyError:
    pass
"""


def test_last_calls_of_a_recorded_program(fg: Any) -> None:
    """Broken by the first call, or another one, in place of the last."""
    fg.record("--args", "--retval", "-l", "__main__.*", fg.script(PROGRAM))
    with funcgraph.open(fg.trace) as trace:
        found = {call.function.qualname: call[1:4] for call in last_calls(trace, "__main__.*")}
    assert found["price"] == ("kind='single', n=7", "KeyError", "raise")
    assert found["discount"] == ("code=4", "4", "return")
    assert "never" not in found
    done = fg.run("values", "--last", "__main__.[pd]*")
    lines = done.stdout.splitlines()
    assert [line.partition(" (/")[0] for line in lines] == [
        "__main__.discount(code=4) = 4",
        "__main__.price(kind='single', n=7) raised KeyError",
    ]
    assert fg.run("values", "--last", "-n", "1", "__main__.[pd]*").stdout.splitlines() == lines[:1]
    rows = json.loads(fg.run("values", "--last", "--json", "__main__.price").stdout)["functions"]
    assert [(row["name"], row["line"], row["arguments"], row["ended"]) for row in rows] == [
        ("__main__.price", 2, "kind='single', n=7", "raise")
    ]
    refused = fg.run("values", "--last", "--by", "n", "__main__.price")
    assert refused.returncode == 2 and "--by" in refused.stderr
    assert fg.run("values", "--last", "__main__.never").returncode == 2


def planted(tmp_path: Path, calls: int) -> Path:
    """Save a trace of a function that two threads call in turn; the last call of the second does not end."""
    trace = Trace([("m", "f", "/m.py", 3, 0, ["n"])])
    tasks = [trace.task(69), trace.task(70)]
    at = S
    for n in range(calls):
        task = tasks[n % 2]
        task.enter(at, 0, 0, args=values(n))
        if n < calls - 1:
            result = values(ValueError()) if n % 3 == 0 else value(n)
            task.leave(at + 5, 0, 0, calltime=at, kind=RAISE if n % 3 == 0 else 0, result=result)
        at += 10
    return trace.save(tmp_path / "a.dat")


@pytest.mark.one_python
def test_the_last_call_is_last_of_all_threads(tmp_path: Path) -> None:
    """An open call comes after all others; without it, it is the one that ended last. Broken by batches that
    are taken in another order, and by threads one after another."""
    with funcgraph.open(planted(tmp_path, 40)) as trace:
        (last,) = last_calls(trace, "m.f")
        assert (last.arguments, last.result, last.ended) == ("n=39", "", "open")
        assert last.place.task is not None and last.place.task.tid == 70
        first = funcgraph.Selection(end="1.000000208")
        (last,) = last_calls(trace, "m.f", select=first)
        assert last.arguments == "n=20"
        with pytest.raises(SelectionError):
            last_calls(trace, "m.g")
