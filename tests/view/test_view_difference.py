"""Promise: `funcgraph view --diff A B` answers about each path and each function of both traces what a slow
model counts; the page shows it in a tab that other pages lack."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tracefile import Trace

from funcgraph.page.path_tree import NO_PARENT, OTHERS
from funcgraph.view import difference
from funcgraph.view.parameters import Parameters
from funcgraph.view.questions import QUESTIONS
from funcgraph.view.served import Served
from view.pages import ViewPage
from view.servers import BEGIN, US, Server

pytestmark = pytest.mark.one_python

NAMES = ["app.main", "app.parse", "app.load", "lib.read"]
#: A call: the name, the time after each of its steps, and the calls that it makes.
Call: TypeAlias = tuple[str, int, list[Any]]
#: Total, own time and calls.
Figures: TypeAlias = dict[tuple[str, ...], list[int]]

_NAME, _NS = st.sampled_from(NAMES), st.integers(1, 50)
CALLS = st.lists(
    st.recursive(
        st.tuples(_NAME, _NS, st.just([])),
        lambda inner: st.tuples(_NAME, _NS, st.lists(inner, max_size=3)),
        max_leaves=8,
    ),
    max_size=3,
)


def written(path: Path, calls: list[Call], *, backwards: bool = False) -> Figures:
    """Write a trace of one thread, and return the figures of each path. `backwards`: other numbers for the
    same functions."""
    names = NAMES[::-1] if backwards else NAMES
    rows = [(*name.split("."), f"/nowhere/{backwards}.py", n + 1, 0, []) for n, name in enumerate(names)]
    trace, figures = Trace(rows), defaultdict[tuple[str, ...], list[int]](lambda: [0, 0, 0])
    task = trace.task(100, "main", pid=100)

    def play(call: Call, now: int, around: tuple[str, ...]) -> int:
        name, ns, callees = call
        begin, number, row = now, names.index(name), figures[*around, name]
        task.enter(begin, number, len(around))
        now += ns
        for callee in callees:
            now = play(callee, now, (*around, name)) + ns
        task.leave(now, number, len(around), calltime=begin)
        row[0] += now - begin
        row[1] += ns * (1 + len(callees))
        row[2] += 1
        return now

    now = BEGIN
    for call in calls:
        now = play(call, now, ()) + 1
    trace.save(path)
    return dict(figures)


def difference_of(a: Path, b: Path, **parameters: str) -> Any:
    pair = [Served(number, str(path)) for number, path in enumerate((a, b))]
    pair[1].base = pair[0]
    for one in pair:
        one.make_index()
    try:
        row = QUESTIONS["diff"]
        return row.answer(pair[1], Parameters(list(parameters.items()), ("trace", *row.parameters)))
    finally:
        for one in pair:
            one.close()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("difference")


@settings(max_examples=40, deadline=None)
@given(first=CALLS, second=CALLS)
def test_each_path_and_function_has_the_figures_of_both(
    scratch: Path, first: list[Call], second: list[Call]
) -> None:
    """Functions are the same if their names are. Broken by matching their numbers."""
    a, b = scratch / "a.dat", scratch / "b.dat"
    sides = written(a, first), written(b, second, backwards=True)
    answer = difference_of(a, b)
    paths: list[tuple[str, ...]] = []
    for parent, function, *_ in answer["nodes"]:
        paths.append((*(() if parent == NO_PARENT else paths[parent]), answer["names"][function]))
    expected = {
        path: [*sides[0].get(path, (0, 0, 0)), *sides[1].get(path, (0, 0, 0))]
        for path in {*sides[0], *sides[1]}
    }
    assert dict(zip(paths, (node[2:] for node in answer["nodes"]), strict=True)) == expected
    functions: dict[str, list[int]] = defaultdict(lambda: [0] * 6)
    for path, row in expected.items():
        is_outermost = path[-1] not in path[:-1]
        for place, figure in enumerate(row):
            functions[path[-1]][place] += figure if is_outermost or place % 3 else 0
    assert {answer["names"][row[0]]: row[1:] for row in answer["rows"]} == functions
    changes = [abs(row[5] - row[2]) for row in answer["rows"]]
    assert changes == sorted(changes, reverse=True)
    sums = [sum(row[place] for row in expected.values()) for place in (1, 2, 4, 5)]
    assert answer["totals"] == sums and answer["unit"] == "ns" and not answer["cut"]


OLD: list[Call] = [("app.main", 10 * US, [("app.parse", 20 * US, []), ("app.load", 40 * US, [])])]
NEW: list[Call] = [("app.main", 10 * US, [("app.parse", 90 * US, []), ("lib.read", 5 * US, [])])]


@pytest.fixture(scope="module")
def pair(scratch: Path) -> tuple[Path, Path]:
    written(scratch / "old.dat", OLD)
    written(scratch / "new.dat", NEW, backwards=True)
    return scratch / "old.dat", scratch / "new.dat"


def test_a_difference_is_bounded_and_both_sides_lack_the_same(pair: tuple[Path, Path]) -> None:
    with patch.object(difference, "MOST_PATHS", 3), patch.object(difference, "MOST_ROWS", 2):
        answer = difference_of(*pair)
    assert answer["cut"] and len(answer["rows"]) == 2
    names = [*answer["names"], "(others)"]
    assert [(names[node[1]], *node[2:]) for node in answer["nodes"]] == [
        ("app.main", 90 * US, 30 * US, 1, 125 * US, 30 * US, 1),
        ("(others)", 60 * US, 60 * US, 2, 95 * US, 95 * US, 2),
    ]
    assert answer["nodes"][1][1] == OTHERS


def test_a_difference_is_of_changed_trees(pair: tuple[Path, Path]) -> None:
    answer = difference_of(*pair, collapse="module")
    assert sorted(answer["names"]) == ["app", "lib"]
    hidden = difference_of(*pair, hide="app.parse")
    assert sorted(hidden["names"]) == ["app.load", "app.main", "lib.read"]
    assert hidden["totals"][0] == answer["totals"][0] == 90 * US


def test_a_part_of_each_trace_is_compared(pair: tuple[Path, Path]) -> None:
    """Of the first 20 µs from `parse` on, of the second the last 5 µs of it."""
    base = {"base_begin": str(10 * US), "base_end": str(30 * US)}
    answer = difference_of(*pair, **base, begin=str(95 * US), end=str(100 * US))
    rows = {answer["names"][row[0]]: row[1:] for row in answer["rows"]}
    assert rows == {
        "app.main": [20 * US, 0, 1, 5 * US, 0, 1],
        "app.parse": [20 * US, 20 * US, 1, 5 * US, 5 * US, 1],
    }
    alone = difference_of(*pair, **base)
    assert alone["totals"] == [20 * US, 2, 125 * US, 3]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["a.dat"], "--diff: needs two traces, got 1"),
        (["a.dat", "a.dat", "a.dat"], "--diff: needs two traces, got 3"),
        (["a.dat", "a.dat", "--export", "x.html"], "--diff: not with --export, which is of one trace"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    scratch: Path, capsys: pytest.CaptureFixture[str], words: list[str], error: str
) -> None:
    from funcgraph import cli

    written(scratch / "a.dat", OLD)
    assert cli.main(["view", "--diff", *(str(scratch / w) if w == "a.dat" else w for w in words)]) == 2
    assert capsys.readouterr().err.splitlines()[0] == f"funcgraph: {error}"


def test_the_tab_shows_the_difference_in_colours(
    browser: Any, start: Callable[..., Server], pair: tuple[Path, Path]
) -> None:
    """And a page without a pair lacks it. Broken by showing it always."""
    context = browser.new_context(viewport={"width": 1100, "height": 720}, reduced_motion="reduce")
    try:
        server = start("--diff", *pair)
        assert [row["base"] for row in server.ask("traces")["traces"]] == [None, 0]
        assert server.get("diff", trace=0).status == 404
        view = ViewPage(context.new_page(), server.address).open()
        has_tab = "(views) => views.some(([name]) => name === 'diff')"
        tabs = f"[[{{base: null}}, {{}}], [{{base: null}}, {{base: 0}}]].map(m.viewsOf).map({has_tab})"
        assert view.module("views/views", tabs) == [False, True]
        view.page.click("#tab-diff")
        view.loaded()
        rows = [row.split("\t") for row in view.page.locator(".difference tbody tr").all_inner_texts()]
        assert [(row[0].strip(), *row[1:3]) for row in rows] == [
            ("app.parse", "+70.0 µs", "\u00d74.50"),
            ("app.load", "\u221240.0 µs", "gone"),
            ("lib.read", "+5.00 µs", "new"),
            ("app.main", "0", "0"),
        ]
        assert "90.0 µs → 125 µs (+38.9%), 3 → 3 calls" in view.page.locator(".legend").inner_text()
        view.page.click("text=Calls A")
        assert view.page.locator(".difference tbody th").last.inner_text() == "lib.read"
        view.page.click("#diff-flame")
        view.until("document.getElementById('flame')?.dataset.drawn === '4'")
        view.screenshot("difference")
        red, _, blue = view.colour(300, 30, "#flame")
        assert red > blue, "slower is orange"
        red, _, blue = view.colour(700, 30, "#flame")
        assert red < blue, "what is gone is there, in blue"
        # Each trace keeps its own range, and the link has both.
        view.open("trace=0&tab=diff&range=10000,50000")
        view.page.select_option("#trace", "1")
        view.loaded()
        assert view.state()["other"] == "10000,50000"
        assert "A: old.dat, 40.0 µs from 10.0 µs. B: new.dat, whole." in view.page.inner_text(".legend")
        totals = view.page.inner_text("#diff-totals")
        assert totals.startswith("40.0 µs → 125 µs")
        assert view.problems == []
    finally:
        context.close()
