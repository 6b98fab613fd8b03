"""The page in another engine: Debian's firefox, which playwright drives by WebDriver BiDi. What a person does
first: look, click, search, press keys, go through the views."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.sizes import NIGHTLY

from view.pages import installed, launched

pytestmark = [
    pytest.mark.skipif(not NIGHTLY, reason="takes half a minute: nightly"),
    pytest.mark.one_python,
]
Open = Callable[..., Any]
RELAY = Path(__file__).with_name("firefox_relay.py")
#: What says what is drawn, where names of calls are pixels.
DRAWN = {"flame": ["calls", "In time order"]}
TABS = ["call", "flame", "table", "tree", "butterfly", "why", "values", "repeat", "exceptions", "text"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    firefox, starter = installed("firefox-esr"), tmp_path_factory.mktemp("firefox") / "firefox"
    starter.write_text(f'#!/bin/sh\nexec {sys.executable} {RELAY} {firefox} "$@"\n')
    starter.chmod(0o700)
    with launched("firefox", firefox and starter, channel="moz-firefox") as browser:
        yield browser


@pytest.mark.parametrize("query", ["", "&boxes=2d"], ids=["as it is", "canvas"])
def test_calls_are_boxes_in_the_colours_of_their_modules(opened: Open, query: str) -> None:
    view = opened(query=query)
    boxes = view.page.evaluate("document.body.dataset.boxes")
    assert boxes == "2d" if query else boxes in ("webgl2", "2d")  # without a GPU firefox has no WebGL2
    box = view.page.locator("#stage").bounding_box()
    colour = view.module("base/colours", "m.colourOf({name: '__main__.<module>', module: '__main__'}, false)")
    assert view.colour(box["width"] / 2, 26 + 10 + 3) == tuple(colour)
    view.screenshot(f"firefox{'-2d' if query else ''}")


def test_everything_has_a_role_and_a_name(opened: Open) -> None:
    tree = opened().page.locator("body").aria_snapshot()
    for part in (
        'application "Time line"',
        'list "Lanes"',
        'tab "Call" [selected]',
        'searchbox "Search functions"',
        'button "Pin worker-0"',
    ):
        assert part in tree, part


def test_a_call_is_clicked_searched_and_gone_through_by_keys(opened: Open) -> None:
    view = opened()
    page, box = view.page, view.page.locator("#stage").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 26 + 10 + 9)
    page.wait_for_selector(".call-head")
    assert "__main__.<module>" in page.locator(".call-head").inner_text()
    page.click("#search-text")
    page.keyboard.type("Shop.total")
    view.until("/hits?$/.test(document.getElementById('search-count').textContent)")
    view.press("n")
    view.until("/Shop.total/.test(document.getElementById('live').textContent)")
    view.loaded()
    assert "list(5)" in page.locator(".values").inner_text()
    view.press("Shift+ArrowUp")
    view.until("document.getElementById('live').textContent.startsWith('__main__.serve,')")
    view.screenshot("firefox-call")


def test_keys_and_the_wheel_zoom_and_the_help_opens(opened: Open) -> None:
    view = opened()
    page, whole = view.page, view.part()
    view.press("w", "w")
    closer = view.part()
    assert whole[0] < closer[0] < closer[1] < whole[1]
    page.locator("#stage").hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    view.until(f"document.body.dataset.end - document.body.dataset.begin < {closer[1] - closer[0]}")
    view.press("0", "?")
    assert view.part() == whole
    assert page.locator("dialog").get_by_text("zoom in").first.is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()


def test_each_view_has_the_names_of_calls(opened: Open) -> None:
    view = opened()
    view.find("Shop.total")
    for tab in TABS:
        view.page.click(f"#tab-{tab}")
        view.loaded()
        assert view.page.get_attribute(f"#tab-{tab}", "aria-selected") == "true"
        text = view.page.locator("#tabpanel").inner_text()
        assert any(name in text for name in DRAWN.get(tab, ["Shop.total", "KeyError", "<module>"])), tab
        view.screenshot(f"firefox-{tab}")


def test_a_function_is_typed_in_a_view(opened: Open) -> None:
    view = opened()
    view.page.click("#tab-why")
    view.loaded()
    view.page.click("#answer-function")
    view.page.keyboard.type("serv")
    view.page.keyboard.press("Enter")
    view.loaded()
    view.page.wait_for_selector(".why-bar")
    assert "__main__.serve" in view.page.locator("#tabpanel").inner_text()
