"""`funcgraph repeat`: planted N+1 queries, results that could be cached, swallowed exceptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tracefile import RAISE, Trace, deep, value, values

import funcgraph
from funcgraph import answers

S = 1_000_000_000

#: An N+1 query on sqlite: one query for the orders, one more for each of them, below other calls.
SHOP = """
    import sqlite3
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE item (order_id, name)")
    def query(sql):
        return [row[0] for row in db.execute(sql)]
    def items_of(order):
        return query(f"SELECT name FROM item WHERE order_id = {order}")
    def page():
        for order in range(8):
            items_of(order)
        return 8
    def once():
        return query("SELECT count(*) FROM item")
    def rate(currency):
        return {"EUR": 1.0, "USD": 1.1}[currency]
    def convert():
        for i in range(9):
            rate("USD")
            try:
                rate("XXX")
            except KeyError:
                pass
    page(); page(); once(); convert()
"""


@pytest.mark.one_python
def test_instances_that_have_no_calls_are_not_mentioned(fg: Any) -> None:
    """Those of the latency tracers of --why. Broken by counting all that have events."""
    note = "several instances recorded calls"
    assert fg.record("--why", fg.script(SHOP)).returncode == 0
    assert note not in fg.run("repeat").stdout
    assert fg.record("-l", "*.page", "-B", "more", "-l", "*.once", fg.script(SHOP)).returncode == 0
    assert note in fg.run("repeat").stdout


def test_planted_queries_results_and_exceptions_are_found(fg: Any) -> None:
    """Broken by: a query that is not counted below the call in whose loop it is."""
    assert fg.record("--args", "--retval", fg.script(SHOP)).returncode == 0
    with funcgraph.open(fg.trace) as trace:
        found = answers.repeat(trace)
    own = [one for one in found.below if one.function and one.function.module == "__main__"]
    queries = {
        (one.below and one.below.qualname, one.text): (one.runs, one.calls, one.most)
        for one in own
        if one.is_sql
    }
    assert queries == {("page", "SELECT name FROM item WHERE order_id = ?"): (2, 16, 8)}
    same = {(one.below.qualname, one.text): one.calls for one in own if one.below and not one.is_sql}
    assert sum(calls for (below, _), calls in same.items() if below == "convert") == 18
    cacheable = {one.function.qualname: one for one in found.cacheable}
    assert cacheable["rate"].hits == 8 and cacheable["rate"].best == "currency='USD'"
    assert cacheable["items_of"].hits == 8
    assert "convert" not in cacheable  # it returns None
    (swallowed,) = (group for group in found.swallowed if group.first.type == "KeyError")
    assert swallowed.count == 9
    assert swallowed.first.handler and swallowed.first.handler.qualname == "convert"
    done = fg.run("repeat")
    assert done.returncode == 0 and "SELECT name FROM item WHERE order_id = ?" in done.stdout
    # On a busy machine, it is not the first that is listed.
    queries_text = done.stdout[done.stdout.index("SELECT name FROM item") :]
    evidence = next(line for line in queries_text.splitlines() if "funcgraph report" in line).split()
    assert fg.run(*evidence[1:]).stdout.count("order_id = ") == 8


@pytest.mark.one_python
def test_without_arguments_only_exceptions_are_known(fg: Any) -> None:
    assert fg.record(fg.script(SHOP)).returncode == 0
    done = fg.run("repeat")
    assert "5 times or more: not known" in done.stdout and "same result: not known" in done.stdout
    assert "KeyError in __main__.rate" in done.stdout
    assert "arguments and results are not recorded: funcgraph record --args --retval" in done.stdout
    assert fg.run("repeat", "--least", "1").returncode == 2
    assert json.loads(fg.run("repeat", "--json").stdout)["below"] == []


def test_coroutines_that_take_turns_repeat_each_below_its_own_call(fg: Any) -> None:
    """Broken by: a call that is counted below whatever ran last in the thread."""
    fg.script(
        """
        import asyncio
        async def fetch(key):
            await asyncio.sleep(0)
            return key
        async def handler(name):
            for i in range(6):
                await fetch(name)
        async def main():
            await asyncio.gather(handler("a"), handler("b"), handler("c"))
        asyncio.run(main())
        """
    )
    assert fg.record("--args", "--retval", "app.py").returncode == 0
    with funcgraph.open(fg.trace) as trace:
        found = answers.repeat(trace)
    (fetch,) = (one for one in found.below if one.function and one.function.qualname == "fetch")
    assert fetch.below and fetch.below.qualname == "handler"
    assert (fetch.runs, fetch.calls, fetch.most) == (3, 18, 6)


def test_threads_are_counted_each_by_itself(fg: Any) -> None:
    fg.script(
        """
        import threading
        def load(key):
            return key
        def work(n):
            for i in range(n):
                load(1)
        threads = [threading.Thread(target=work, args=(n,)) for n in (3, 7, 9)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """
    )
    assert fg.record("--args", "--retval", "app.py").returncode == 0
    with funcgraph.open(fg.trace) as trace:
        (load,) = (
            one for one in answers.repeat(trace).below if one.function and one.function.qualname == "load"
        )
    assert (load.runs, load.calls, load.most) == (2, 16, 9)


# ---- traces that are written here


def calls_below(arguments: list[bytes], results: list[bytes]) -> Trace:
    """Return a trace in which m.page() makes these calls of m.q(sql)."""
    trace = Trace(["m.page", ("m", "q", "/m.py", 3, 0, ["sql"])])
    task = trace.task(69)
    task.enter(S, 0, 0)
    at = S
    for recorded, result in zip(arguments, results, strict=True):
        task.enter(at := at + 10, 1, 1, args=recorded)
        task.leave(at := at + 10, 1, 1, calltime=at - 10, result=result)
    task.leave(at + 10, 0, 0, calltime=S, result=values(None))
    return trace


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("statements", "shape"),
    [
        (["SELECT 1", "select 22"], None),  # other words are another statement
        (["SELECT a1 FROM t2 WHERE x = 1.5", "SELECT a1 FROM t2 WHERE x=-2"], None),  # so are other blanks
        (
            ["SELECT a1 FROM t2 WHERE x = 1e3", "SELECT a1  FROM t2 WHERE x = -2;"],
            "SELECT a1 FROM t2 WHERE x = ?",
        ),
        (["SELECT 'it''s'", "SELECT ''", "SELECT 'x"], "SELECT ?"),
        (
            ["DELETE FROM t WHERE id IN (1, 2,3)", "DELETE FROM t WHERE id IN (?)"],
            "DELETE FROM t WHERE id IN (?)",
        ),
        (["SELECT %s, :name, $1, ?2", "SELECT 0"], "SELECT ?"),
        (["SELECT '\x1b[2J'", "SELECT '\\'"], "SELECT ?"),
        (["selection of 1", "selection of 2"], None),
    ],
)
def test_statements_have_the_shape_of_their_text_without_literals(
    tmp_path: Path, statements: list[str], shape: str | None
) -> None:
    trace = calls_below([values(text) for text in statements], [values(i) for i in range(len(statements))])
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        found = answers.repeat(opened, least=len(statements)).below
    assert [one.text for one in found] == ([shape] if shape else [])


@pytest.mark.one_python
def test_a_call_with_another_result_each_time_is_not_the_same(tmp_path: Path) -> None:
    """Broken by: iterators, whose next item is not a repetition."""
    arguments = [values("next")] * 6
    for results, known in (([values(i) for i in range(6)], 0), ([values(7)] * 6, 1)):
        path = calls_below(arguments, results).save(tmp_path / "a.dat")
        with funcgraph.open(path) as opened:
            found = answers.repeat(opened)
        assert len(found.below) == len(found.cacheable) == known
        if known:
            assert (found.cacheable[0].hits, found.cacheable[0].saved_ns) == (5, 50)
            assert (found.below[0].total_ns, found.below[0].repeated_ns) == (60, 50)


@pytest.mark.one_python
def test_the_evidence_is_that_call_and_not_its_neighbours_in_the_same_microsecond(fg: Any) -> None:
    """Broken by: the time of a place in microseconds, as a report prints it."""
    trace = Trace(["m.page", ("m", "q", "/m.py", 3, 0, ["key"])])
    task = trace.task(69)
    for begin, count in ((S + 100, 1), (S + 200, 5), (S + 300, 1)):  # three calls of page(), 100 ns each
        task.enter(begin, 0, 0)
        for at in range(begin, begin + 10 * count, 10):
            task.enter(at + 1, 1, 1, args=values("same"))
            task.leave(at + 5, 1, 1, calltime=at + 1, result=values(None))
        task.leave(begin + 90, 0, 0, calltime=begin)
    trace.save(fg.trace)
    printed = fg.run("repeat").stdout
    evidence = next(line for line in printed.splitlines() if "funcgraph report" in line).split()
    assert fg.run(*evidence[1:]).stdout.count("key='same'") == 5


@pytest.mark.one_python
def test_what_recursion_saves_is_counted_once(tmp_path: Path) -> None:
    """Broken by: the time of a hit that counts in each hit around it."""
    trace = Trace([("m", "fib", "/m.py", 3, 0, ["n"])])
    task = trace.task(69)
    clock = S

    def fib(n: int, depth: int) -> int:
        nonlocal clock
        begin = clock = clock + 10
        task.enter(begin, 0, depth, args=values(n))
        result = n if n < 2 else fib(n - 1, depth + 1) + fib(n - 2, depth + 1)
        clock += 10
        task.leave(clock, 0, depth, calltime=begin, result=values(result))
        return result

    fib(12, 0)
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        (found,) = answers.repeat(opened).cacheable
        whole = sum(call.duration_ns or 0 for call in opened.calls() if call.depth == 0)
    assert found.saved_ns < whole
    first = 13 * 20 + 12 * 10  # with a cache: 13 calls, and what is between them at most
    assert whole - found.saved_ns <= 3 * first


@pytest.mark.one_python
def test_an_exception_is_a_repetition_only_if_it_was_handled(tmp_path: Path) -> None:
    trace = Trace(["m.page", "m.f"])
    task = trace.task(69)
    at = S
    for page in range(6):
        begin = at = at + 10
        task.enter(at, 0, 0)
        task.enter(at := at + 1, 1, 1)
        task.leave(at := at + 1, 1, 1, calltime=at - 1, kind=RAISE, result=values(OSError()))
        kind, result = (RAISE, values(OSError())) if page < 3 else (0, b"")
        task.leave(at := at + 1, 0, 0, calltime=begin, kind=kind, result=result)
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        assert not answers.repeat(opened, least=4).swallowed
        (group,) = answers.repeat(opened, least=3).swallowed
    assert group.count == 3


@pytest.mark.one_python
def test_parts_make_a_value_partial_only_if_something_is_left_out(tmp_path: Path) -> None:
    """Broken by: an array that counts as the same for its shape; an instance with all parts as partial."""
    planted = {
        "whole": deep("Point", ("x", value(1)), ("y", deep("", ("", value("a")), form=1))),
        "array": deep("ndarray", ("shape", deep("", ("", value(9)), form=2))),
        "frame": deep("MyFrame", ("shape", deep("", ("", value(9)), form=2))),
        "object": deep("Box", ("item", deep("", ("", value(object())), form=1))),
    }
    trace = Trace([("m", name, "/m.py", 3, 0, ["thing"]) for name in ("all", *planted)])
    task = trace.task(69)
    task.enter(S, 0, 0, args=b"")
    for n in range(6):
        for function, recorded in enumerate(planted.values(), 1):
            at = S + n * 1000 + function * 100
            task.enter(at, function, 1, args=recorded)
            task.leave(at + 50, function, 1, calltime=at, kind=0, result=values(7))
    task.leave(2 * S, 0, 0, calltime=S, kind=0, result=values(None))
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        found = answers.repeat(opened)
    expected = {"whole": False, "array": True, "frame": True, "object": True}
    for kind in (found.below, found.cacheable):
        assert {one.function.qualname: one.is_partial for one in kind if one.function} == expected
