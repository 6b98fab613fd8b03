"""Promise: `funcgraph view --diff A B` lists the first calls of a function that differ, puts two of them side
by side as `funcgraph compare --at` does, and leads to each in its own trace."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tracefile import RESUME, SUSPEND, Trace, values

from funcgraph import cli
from funcgraph.view.parameters import Parameters
from funcgraph.view.questions import QUESTIONS
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served
from view.pages import ViewPage
from view.servers import BEGIN, US, Server
from view.test_view_queries import ask

pytestmark = pytest.mark.one_python

NAMES = ["app.main", "app.order", "app.price", "app.extra"]
MAIN, ORDER, PRICE, EXTRA = range(len(NAMES))


def written(path: Path, results: list[list[int]], *, is_new: bool = False) -> Path:
    """Write a run: main() calls order(n) for each list, which calls price() for each result, 0: extra().
    `is_new`: at other times, and with other numbers for the same functions."""
    first, pause = (7 * BEGIN, 17 * US) if is_new else (BEGIN, 10 * US)
    numbers = [len(NAMES) - 1 - n if is_new else n for n in range(len(NAMES))]
    names = NAMES[::-1] if is_new else NAMES
    rows = [(*name.split("."), f"/app{is_new}.py", 1, 0, ["n"]) for name in names]
    trace = Trace(rows)
    task = trace.task(100 + is_new, "main", pid=100)
    now = first
    task.enter(now, numbers[MAIN], 0, args=values(0))
    for n, prices in enumerate(results):
        begin = now = now + pause
        task.enter(now, numbers[ORDER], 1, args=values(n))
        for price in prices:
            function = numbers[PRICE if price else EXTRA]
            task.enter(now + US, function, 2, args=values(1))
            now += 2 * US
            task.leave(now, function, 2, calltime=now - US, result=values(price))
        now += US
        task.leave(now, numbers[ORDER], 1, calltime=begin, result=values(n))
    task.leave(now + US, numbers[MAIN], 0, calltime=first, result=values(0))
    return trace.save(path)


@pytest.fixture
def paths(tmp_path: Path) -> tuple[Path, Path]:
    """The second order has another result in B, the third one more call, and there another time."""
    old = written(tmp_path / "old.dat", [[1], [2], [3], [4]])
    return old, written(tmp_path / "new.dat", [[1], [9], [3, 0], [4]], is_new=True)


@contextmanager
def served_pair(paths: tuple[Path, Path]) -> Iterator[tuple[Served, Served]]:
    a, b = (Served(number, str(path)) for number, path in enumerate(paths))
    b.base = a
    for one in (a, b):
        one.make_index()
    try:
        yield a, b
    finally:
        a.close()
        b.close()


def asked(served: Served, **parameters: object) -> Any:
    row = QUESTIONS["different"]
    given = [(name, str(value)) for name, value in parameters.items()]
    answer = row.answer(served, Parameters(given, ("trace", *row.parameters)))
    return json.loads(json.dumps(answer, allow_nan=False))


def name_at(served: Served, spot: Any) -> str:
    """Return the function of the call to which some evidence leads."""
    given = {name: spot[name] for name in ("lane", "begin", "end", "function") if spot[name] is not None}
    return served.functions[ask(served, "evidence", **given)["call"]["function"]].name


def test_each_pair_is_listed_and_one_is_side_by_side(
    paths: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """As the command that is given beside it prints them, with evidence in either trace."""
    with served_pair(paths) as pair:
        answer = asked(pair[1], name="app.order")
        rows = [(row["a"]["call"], row["b"]["call"], row["text"]) for row in answer["pairs"]]
        assert rows == [
            ("app.order:2", "app.order:2", "another result"),
            ("app.order:3", "app.order:3", "another call"),
        ]
        assert (answer["end"], answer["is_cut"], answer["number"]) == (None, False, 0)
        one = answer["one"]
        assert [spot["trace"] for spot in one["evidence"]] == [0, 1]
        for place, word in ((one["evidence"], "app.order"), (one["difference"]["evidence"], "app.price")):
            assert [name_at(served, spot) for served, spot in zip(pair, place, strict=True)] == [word] * 2
        second = asked(pair[1], name="app.order", number=1)
        assert second["one"]["parting"]["text"] == "another call"
        assert second["one"]["counts"] == [{"function": "app.extra", "a": 0, "b": 1}]
    for found in (answer, second):
        words = shlex.split(found["command"])
        assert words[-2:] == [str(path) for path in paths]
        assert cli.main([*words[1:], "--json"]) == 1
        printed = json.loads(capsys.readouterr().out)
        assert (printed["a"], printed["b"]) == (found["one"]["a"], found["one"]["b"])


def test_without_a_function_the_outermost_calls_are_compared(
    paths: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served_pair(paths) as (_, b):
        answer = asked(b)
        assert [row["a"]["call"] for row in answer["pairs"]] == ["app.main:1"]
        assert answer["one"]["difference"]["path"] == ["app.main", "app.order"]
        assert shlex.split(answer["command"])[1:4] == ["compare", "--at", "app.main:1"]
        assert asked(b, task="main")["pairs"] == answer["pairs"]
        b.base = b
        same = asked(b)
        assert (same["pairs"], same["one"], same["end"]) == ([], None, None)
        words = shlex.split(same["command"])
        assert words[1:3] == ["diff", "--first-difference"] and cli.main(words[1:]) == 0
        assert "both make the same calls" in capsys.readouterr().out
    longer = written(tmp_path / "longer.dat", [[1], [2], [3], [4], [5]])
    with served_pair((paths[0], longer)) as (_, b):
        assert asked(b, name="app.order")["end"] == {"a": None, "b": "app.order"}


def test_what_cannot_be_compared_is_refused_in_one_line(paths: tuple[Path, Path]) -> None:
    """And is no damage of the trace."""
    with served_pair(paths) as (a, b):
        for given, message in (
            ({"name": "app.nothing"}, "no function of the trace has 'app.nothing' in its name"),
            ({"name": "app."}, "4 functions have this in their names: app."),
            ({"task": "nobody"}, "no task 'nobody'"),
            ({"number": 10}, "number must be a whole number from 0 to 9"),
        ):
            with pytest.raises(RequestError) as error:
                asked(b, **given)
            assert message in error.value.message and b.state()[0] == "ready"
        with pytest.raises(RequestError, match="not compared with another"):
            asked(a)


def test_of_calls_that_were_resumed_the_list_says_that_they_differ(tmp_path: Path) -> None:
    """What they call cannot be told from what others called meanwhile, and nothing later is looked for."""

    def resumed(path: Path, result: int) -> Path:
        trace = Trace(["app.gen"])
        task = trace.task(100, "main", pid=100)
        task.enter(BEGIN, 0, 0)
        task.leave(BEGIN + 10, 0, 0, calltime=BEGIN, kind=SUSPEND, start=BEGIN, result=values(result))
        task.enter(BEGIN + 20, 0, 0, kind=RESUME, start=BEGIN)
        task.leave(BEGIN + 30, 0, 0, calltime=BEGIN + 20, start=BEGIN, result=values(None))
        return trace.save(path)

    with served_pair((resumed(tmp_path / "a.dat", 1), resumed(tmp_path / "b.dat", 2))) as (_, b):
        answer = asked(b)
    assert [row["a"]["call"] for row in answer["pairs"]] == ["app.gen:1"]
    assert answer["one"] is None and answer["is_cut"]
    assert "was suspended and resumed" in answer["notes"][0]


def threaded(path: Path, result: int) -> Path:
    """Write a run of two threads, which both call order(); a call of the second one returns `result`."""
    trace = Trace(NAMES)
    for number, name in enumerate(("main", "work")):
        task = trace.task(100 + number, name, pid=100)
        task.enter(BEGIN, ORDER, 0)
        task.leave(BEGIN + 9 * US, ORDER, 0, calltime=BEGIN, result=values(result * number))
    return trace.save(path)


def test_of_several_threads_one_is_chosen(browser: Any, start: Callable[..., Server], tmp_path: Path) -> None:
    """By its name, which both traces have. Broken by: a choice that no request has."""
    pair = threaded(tmp_path / "a.dat", 1), threaded(tmp_path / "b.dat", 2)
    with served_pair(pair) as (_, b):
        with pytest.raises(RequestError, match=r"calls of several threads: main \(100\), work \(101\)"):
            asked(b, name="app.order")
        assert asked(b, name="app.order", task="main")["pairs"] == []
        assert len(asked(b, name="app.order", task="work")["pairs"]) == 1
    context = browser.new_context(viewport={"width": 1100, "height": 720}, reduced_motion="reduce")
    try:
        view = ViewPage(context.new_page(), start("--diff", *pair).address)
        view.open("trace=1&tab=diff&diff=calls&func=app.order")
        view.until("document.querySelector('.answer')?.textContent.includes('several threads')")
        assert view.page.locator("#different-task option").all_inner_texts() == ["any", "main", "work"]
        view.page.select_option("#different-task", "work")
        view.until("document.querySelector('.answer')?.textContent.includes('app.order() returns 2')")
        assert view.state()["task"] == "work"
        view.page.select_option("#different-task", "main")
        view.until("document.querySelector('.answer')?.textContent.includes('No calls differ')")
    finally:
        context.close()


def test_the_panel_lists_pairs_and_leads_to_each_in_its_trace(
    browser: Any, start: Callable[..., Server], paths: tuple[Path, Path]
) -> None:
    """From the table of functions on. Broken: the call of A was looked for in B, which has it elsewhere."""
    context = browser.new_context(viewport={"width": 1100, "height": 720}, reduced_motion="reduce")
    try:
        view = ViewPage(context.new_page(), start("--diff", *paths).address).open("trace=1&tab=diff")
        view.loaded()
        view.page.get_by_role("button", name="app.order").click()
        rows = view.page.locator("table[aria-label='Calls that differ'] tbody tr")
        view.until(
            "document.querySelectorAll('table[aria-label=\"Calls that differ\"] tbody tr').length === 2"
        )
        assert [row.split("\t")[-1] for row in rows.all_inner_texts()] == ["another result", "another call"]
        text = view.page.locator(".answer").inner_text()
        assert "app.price() returns 2" in text and "app.price() returns 9" in text
        assert view.page.locator(".command code").inner_text().startswith("funcgraph compare --at app.order ")
        rows.nth(1).get_by_role("button").click()
        view.until(
            "document.querySelector('.answer').textContent.includes('What one of them calls more often')"
        )
        assert view.state()["pair"] == "1"
        view.screenshot("different-calls")
        view.page.get_by_role("button", name="Show it on the time line").first.click()
        view.until("document.getElementById('trace').value === '0'")
        view.until("document.getElementById('live').textContent.startsWith('app.order,')")
        assert view.state()["call"].split(",")[2] == "1" and view.state()["pair"] == "1"
        view.until(
            "document.querySelectorAll('table[aria-label=\"Calls that differ\"] tbody tr').length === 2"
        )
        view.page.go_back()
        view.until("document.getElementById('trace').value === '1'")
        view.page.fill("#answer-function", "")
        view.page.keyboard.press("Enter")
        view.until("document.querySelector('.answer')?.textContent.includes('no other call made')")
        view.page.locator("#different-deeper").get_by_role("button", name="app.order").click()
        view.until("document.querySelector('.answer h2')?.textContent.endsWith('of app.order')")
        assert view.problems == []
    finally:
        context.close()
