"""The page at its extremes: two fingers, the clipboard, a trace of a year, names of 300 characters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tracefile import Trace, values

from view.servers import BEGIN, US, Server

Open = Callable[..., Any]
YEAR_NS = 365 * 86_400 * 10**9
LONG = "a_name_of_300_characters_" * 12


def of_a_year(path: Path) -> Path:
    """One call of a microsecond, within one that takes a year."""
    trace = Trace(
        [("app", "serve", "/nowhere/app.py", 1, 0, []), ("app", "spike", "/nowhere/app.py", 5, 0, [])]
    )
    task = trace.task(100, "main", pid=100)
    middle = BEGIN + YEAR_NS // 2
    task.enter(BEGIN, 0, 0)
    task.enter(middle, 1, 1)
    task.leave(middle + US, 1, 1, calltime=middle)
    task.leave(BEGIN + YEAR_NS, 0, 0, calltime=BEGIN)
    return trace.save(path)


def of_long_names(path: Path) -> Path:
    trace = Trace(
        [(LONG, LONG, f"/nowhere/{LONG}.py", 1, 0, [LONG]), ("app", "f", "/nowhere/app.py", 5, 0, [])]
    )
    for number in range(2):
        task = trace.task(100 + number, LONG, pid=100)
        task.enter(BEGIN, 0, 0, args=values(LONG))
        task.enter(BEGIN + US, 1, 1)
        task.leave(BEGIN + 2 * US, 1, 1, calltime=BEGIN + US)
        task.leave(BEGIN + 9 * US, 0, 0, calltime=BEGIN, result=values(LONG))
    return trace.save(path)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server of both traces."""
    folder = tmp_path_factory.mktemp("extremes")
    server = Server(folder, (of_a_year(folder / "year.dat"), of_long_names(folder / "names.dat")))
    yield server.address
    server.end()


def test_one_call_of_a_microsecond_is_found_in_a_year(opened: Open) -> None:
    view = opened()
    view.screenshot("year")
    view.find("spike")
    facts = view.page.inner_text("#tabpanel")
    assert "1.00 µs" in facts
    begin, end = view.part()
    assert end - begin < 10**9
    view.screenshot("year-call")
    for _ in range(3):
        view.press("f")
    begin, end = view.part()
    assert end - begin < 10 * US
    colours = {view.colour(x, 62) for x in range(20, 860, 20)}
    assert len(colours) >= 2, "the call is a box, and there is something beside it"


def test_names_of_300_characters_break_no_layout(opened: Open) -> None:
    view = opened("trace=1")
    view.find("f")
    view.press("Shift+ArrowUp")
    view.until("document.getElementById('live').textContent.includes('a_name_of')")
    for tab in ("call", "flame", "table", "tree", "butterfly", "text"):
        view.page.click(f"#tab-{tab}")
        view.loaded()
        width = view.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width[0] <= width[1], tab
        view.screenshot(f"names-{tab}")
    label = view.page.locator(".lane-name bdi").first.bounding_box()
    assert label["x"] + label["width"] <= 220, "the names of lanes stay in their column"


def test_two_fingers_zoom_and_move(opened: Open) -> None:
    view = opened("trace=1", has_touch=True)
    box = view.page.locator("#stage").bounding_box()
    touch = view.page.context.new_cdp_session(view.page)

    def fingers(kind: str, *places: int) -> None:
        points = [{"x": box["x"] + x, "y": box["y"] + 40, "id": n} for n, x in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        view.settle()

    begin, end = view.part()
    fingers("touchStart", 300, 500)
    fingers("touchMove", 200, 600)
    near = view.part()
    assert near[1] - near[0] == pytest.approx((end - begin) / 2, rel=0.02), "twice as far apart"
    fingers("touchMove", 250, 650)
    aside = view.part()
    assert aside[1] - aside[0] == pytest.approx(near[1] - near[0], rel=0.02)
    assert aside[0] < near[0], "both to the right: what is earlier comes into sight"
    fingers("touchEnd")
    assert view.state().get("call") is None, "a pinch chooses nothing"


def test_commands_are_copied(opened: Open) -> None:
    view = opened("trace=1&range=1000,2000", permissions=["clipboard-read", "clipboard-write"])
    view.find("f")
    clipboard = "navigator.clipboard.readText()"
    view.page.get_by_role("button", name="Copy report command").click()
    view.until("[...document.querySelectorAll('button')].some((one) => one.textContent === 'Copied')")
    call = view.page.evaluate(clipboard)
    assert call.startswith("funcgraph report --task 100 ") and "--from 1.000001000 --to 1.000002000" in call
    view.page.click("#tab-text")
    view.page.wait_for_selector(".command")
    view.page.get_by_role("button", name="Copy command").click()
    view.until("[...document.querySelectorAll('button')].some((one) => one.textContent === 'Copied')")
    assert view.page.evaluate(clipboard) == view.page.inner_text(".command code")


def test_collapsed_modules_are_boxes_and_undo_opens_them(opened: Open) -> None:
    view = opened("trace=0&tab=flame")
    view.until("document.getElementById('flame')?.dataset.nodes === '2'")
    view.page.check("#option-collapse")
    view.until("document.getElementById('flame')?.dataset.nodes === '1'")
    view.page.click("#undo")
    view.until("document.getElementById('flame')?.dataset.nodes === '2'")
