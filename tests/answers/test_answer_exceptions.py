"""`funcgraph exceptions`: each exception goes where the program, whose truth is known, sent it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builds import needs_gil
from tracefile import RAISE, RESUME, SUSPEND, Trace, values

import funcgraph
from funcgraph import answers
from funcgraph.answers.exceptions import Exceptions

S = 1_000_000_000


def rows(found: Exceptions) -> set[tuple[str, str, str, str, int]]:
    """Return type, origin, fate, handler and count of each kind of the program's own."""
    return {
        (
            group.first.type,
            group.first.origin.qualname if group.first.origin else "?",
            group.first.fate,
            group.first.handler.qualname if group.first.handler else "",
            group.count,
        )
        for group in found.groups
        if group.first.origin and group.first.origin.module == "__main__"
    }


PROGRAM = """
    import threading
    def bad(n):
        raise ValueError(n)
    def middle(n):
        try:
            bad(n)
        finally:
            len(str(n))
            note()
    def note(): pass
    def swallow():
        for i in range(4):
            try:
                middle(i)
            except ValueError:
                pass
    def chain():
        try:
            bad(1)
        except ValueError as error:
            raise KeyError("k") from error
    def again():
        try:
            bad(2)
        except ValueError:
            note()
            raise
    def generator():
        try:
            yield 1
            bad(3)
        except ValueError:
            yield 2
    def catch(function):
        try:
            function()
        except Exception:
            pass
    def last():
        raise OSError("thread")
    swallow()
    catch(chain)
    catch(again)
    list(generator())
    threading.excepthook = lambda args: None
    thread = threading.Thread(target=last)
    thread.start()
    thread.join()
    bad(9)
"""


@pytest.mark.parametrize("values", [[], ["--values", "1"]], ids=["types", "values"])
def test_exceptions_are_followed_through_finally_chains_generators_and_threads(
    fg: Any, values: list[str]
) -> None:
    """Broken by a call in a `finally` or an `except` that ends what is followed; and by exceptions without an
    address: --values records their arguments.
    """
    fg.record(*values, fg.script(PROGRAM))
    with funcgraph.open(fg.trace) as trace:
        found = answers.exceptions(trace)
        kinds = {(group.first.type, group.first.fate): group for group in found.groups}
        key = answers.exceptions(trace, number=kinds["KeyError", "handled"].first.number).one
    shown = rows(found)
    assert {
        ("ValueError", "bad", "handled", "swallow", 4),
        ("ValueError", "bad", "replaced", "chain", 1),
        ("KeyError", "chain", "handled", "catch", 1),
        ("ValueError", "bad", "handled", "catch", 1),
        ("ValueError", "bad", "handled", "generator", 1),
        ("ValueError", "bad", "left", "", 1),
    } <= shown
    assert ("OSError", "last", "handled", "Thread._bootstrap_inner", 1) in shown
    assert (
        key
        and key.after
        and (key.after.type, key.after.origin and key.after.origin.qualname)
        == (
            "ValueError",
            "bad",
        )
    )
    assert [
        frame.function.qualname for frame in kinds["ValueError", "left"].first.frames if frame.function
    ] == [
        "bad",
        "<module>",
    ]
    done = fg.run("exceptions")
    assert done.returncode == 0 and "ValueError in __main__.bad" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80
    one = fg.run("exceptions", "--nth", str(key.number))
    assert f"after exception {key.after.number}: ValueError of __main__.bad" in one.stdout
    evidence = one.stdout.splitlines()[-1].split()
    assert "raised KeyError" in fg.run(*evidence[1:]).stdout


@pytest.mark.parametrize("values", [[], ["--values", "1"]], ids=["types", "values"])
def test_an_exception_of_c_code_is_one_through_a_finally(fg: Any, values: list[str]) -> None:
    """Broken by the class that stands for it in CPython 3.11 until something catches it."""
    fg.record(
        *values,
        fg.script(
            """
            def note(): pass
            def lookup(): return {}["x"]
            def convert(): return int("x")
            def middle(function):
                try:
                    function()
                finally:
                    note()
            def swallow(function):
                try:
                    middle(function)
                except Exception:
                    pass
            swallow(lookup)
            swallow(convert)
            """
        ),
    )
    with funcgraph.open(fg.trace) as trace:
        found = answers.exceptions(trace)
    assert rows(found) == {
        ("KeyError", "lookup", "handled", "swallow", 1),
        ("ValueError", "convert", "handled", "swallow", 1),
    }
    kinds = {group.first.type: group.first for group in found.groups}
    assert [len(kinds[name].frames) for name in ("KeyError", "ValueError")] == [2, 2]


@needs_gil("of an exception there is the type alone")
def test_the_cause_of_an_exception_is_told(fg: Any) -> None:
    """Broken by: a cause that is looked for among the arguments, a long one, or the cause of another one."""
    fg.record(
        "--values",
        "1",
        fg.script(
            """
            def refuse(n): raise KeyError(n)
            def pay(n, *more):
                try:
                    refuse(n)
                except KeyError as error:
                    raise ValueError("paid", n, *more) from error
            def order():
                try:
                    pay(7)
                except ValueError as error:
                    raise OSError("x" * 250, "y" * 250) from error
            def ship():
                try:
                    order()
                except OSError as error:
                    raise RuntimeError() from error
            def alone():
                try:
                    refuse(8)
                except KeyError:
                    raise TypeError("alone")
            for function in (ship, alone):
                try:
                    function()
                except Exception:
                    pass
            """
        ),
    )
    with funcgraph.open(fg.trace) as trace:
        found = answers.exceptions(trace)
        (pay,) = answers.values(trace, "__main__.pay")
    raised = {group.first.type: group.first for group in found.groups}
    assert {name: raised[name].cause for name in ("KeyError", "ValueError", "OSError", "TypeError")} == {
        "KeyError": "", "ValueError": "KeyError(7)", "OSError": "ValueError('paid', 7)", "TypeError": "",
    }  # fmt: skip
    assert raised["RuntimeError"].cause == "<OSError>"
    cause = pay.field("exception.__cause__")
    assert cause and [group.text for group in cause.groups] == ["KeyError(7)"]
    shown = fg.run("exceptions", "--nth", str(raised["ValueError"].number)).stdout
    assert "\n  caused by KeyError(7)\n  after exception" in shown
    printed = json.loads(fg.run("exceptions", "--json", "--nth", str(raised["OSError"].number)).stdout)
    assert printed["one"]["cause"] == "ValueError('paid', 7)"
    filtered = fg.run("report", "--where", 'exc.__cause__ ~ "KeyError*"').stdout
    assert filtered.count("raised ValueError") == 1 and "raised OSError" not in filtered


@pytest.mark.one_python
def test_exceptions_with_other_arguments_are_others(fg: Any) -> None:
    """A handler that raises another one of the same type replaces the first, with --values, too."""
    fg.record(
        "--values",
        "1",
        fg.script(
            """
            def first(): raise KeyError(1)
            def other():
                try:
                    first()
                except KeyError:
                    raise KeyError(2)
            try:
                other()
            except KeyError:
                pass
            """
        ),
    )
    with funcgraph.open(fg.trace) as trace:
        found = rows(answers.exceptions(trace))
    assert ("KeyError", "first", "replaced", "other", 1) in found
    assert any(row[:2] == ("KeyError", "other") for row in found)


def test_a_task_that_is_cancelled_and_one_that_fails(fg: Any) -> None:
    fg.script(
        """
        import asyncio
        async def fail():
            await asyncio.sleep(0)
            raise LookupError
        async def wait():
            await asyncio.sleep(60)
        async def main():
            try:
                await fail()
            except LookupError:
                pass
            task = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
        asyncio.run(main())
        """
    )
    assert fg.record("app.py").returncode == 0
    with funcgraph.open(fg.trace) as trace:
        found = answers.exceptions(trace)
    assert ("LookupError", "fail", "handled", "main", 1) in rows(found)
    cancelled = [group.first for group in found.groups if group.first.type == "CancelledError"]
    assert any("wait" in [f.function.qualname for f in one.frames if f.function] for one in cancelled)


@pytest.mark.one_python
def test_lines_are_shown_if_they_are_recorded(fg: Any) -> None:
    fg.record("-O", "funcgraph-retaddr", fg.script("def f():\n    1 / 0\ndef g():\n    f()\ng()\n"))
    done = fg.run("exceptions", "--nth", "1", "-l", "__main__.*")
    assert "__main__.g" in done.stdout and "line 4" in done.stdout


@pytest.mark.one_python
def test_a_number_that_is_not_there_is_an_error(fg: Any) -> None:
    assert fg.record(fg.script("def f(): pass\nf()\n")).returncode == 0
    assert "no call of the trace was ended by an exception" in fg.run("exceptions", "-l", "__main__.f").stdout
    for number in ("0", "999999"):
        done = fg.run("exceptions", "--nth", number)
        assert done.returncode == 2 and f"--nth {number}" in done.stderr
    assert json.loads(fg.run("exceptions", "--json", "-l", "__main__.f").stdout)["exceptions"] == 0


@pytest.mark.one_python
def test_a_call_that_did_not_end_is_not_said_to_have_handled_anything(tmp_path: Path) -> None:
    """Broken by: a guess where the trace ends."""
    trace = Trace(["m.page", "m.f", "m.gen"])
    task = trace.task(69)
    task.enter(S, 0, 0)
    task.enter(S + 1, 1, 1)
    task.leave(S + 2, 1, 1, calltime=S + 1, kind=RAISE, result=values(OSError()))
    other = trace.task(70)
    other.enter(S + 1, 2, 0)
    other.enter(S + 2, 1, 1)
    other.leave(S + 3, 1, 1, calltime=S + 2, kind=RAISE, result=values(OSError()))
    other.leave(S + 4, 2, 0, calltime=S + 1, kind=SUSPEND, start=S + 1)
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        found = answers.exceptions(opened)
    assert [group.first.fate for group in found.groups] == ["open", "open"]
    assert (found.counts.open, found.counts.suspended) == (2, 1)


@pytest.mark.one_python
def test_an_exception_that_a_generator_holds_goes_on_where_it_is_resumed(tmp_path: Path) -> None:
    trace = Trace(["m.gen", "m.f"])
    one, two = trace.task(69), trace.task(70)
    one.enter(S, 0, 0)
    one.enter(S + 1, 1, 1)
    one.leave(S + 2, 1, 1, calltime=S + 1, kind=RAISE, result=values(OSError()))
    one.leave(S + 3, 0, 0, calltime=S, kind=SUSPEND, start=S)
    two.tid, two.pid = 70, one.pid
    two.enter(S + 4, 0, 0, kind=RESUME, start=S)
    two.leave(S + 5, 0, 0, calltime=S + 4, kind=RAISE, start=S, result=values(OSError()))
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        (group,) = answers.exceptions(opened).groups
    assert group.first.fate == "left" and len(group.first.frames) == 2


@pytest.mark.one_python
def test_millions_of_exceptions_below_one_call_need_no_memory(tmp_path: Path) -> None:
    """Broken by: exceptions that wait in a call until it ends."""
    trace = Trace(["m.loop", "m.f"])
    task = trace.task(69)
    task.enter(S, 0, 0)
    for i in range(3000):
        at = S + 10 * i
        task.enter(at, 1, 1)
        result = b"\x0b" + (0x1000 + i).to_bytes(8, "little") + b"\x07OSError"
        task.leave(at + 5, 1, 1, calltime=at, kind=RAISE, result=result)
    with funcgraph.open(trace.save(tmp_path / "a.dat")) as opened:
        groups = {group.first.fate: group.count for group in answers.exceptions(opened).groups}
    assert groups == {"handled": 3000 - 16, "open": 16}
