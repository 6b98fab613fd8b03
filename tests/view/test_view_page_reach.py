"""Who can use the page: by keyboard and screen reader; and that nothing of a trace becomes part of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Open = Callable[..., Any]
TABS = ["call", "flame", "table", "tree", "butterfly", "text"]


@pytest.fixture(scope="module")
def axe() -> str:
    package = pytest.importorskip("axe_playwright_python", reason="needs axe-core")
    return (Path(package.__path__[0]) / "axe.min.js").read_text()


def faults(view: Any, axe: str) -> list[str]:
    view.page.evaluate(axe)
    found = view.page.evaluate(
        "async () => (await axe.run(document, {resultTypes: ['violations']})).violations"
    )
    return [
        f"{fault['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for fault in found
        for node in fault["nodes"][:3]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(opened: Open, axe: str, scheme: str) -> None:
    view = opened(color_scheme=scheme)
    assert faults(view, axe) == []
    view.find("Shop.total")
    for tab in TABS:
        view.page.click(f"#tab-{tab}")
        view.loaded()
        assert faults(view, axe) == [], tab
        view.screenshot(f"{tab}-{scheme}")
    view.press("?")
    assert faults(view, axe) == []
    view.screenshot(f"help-{scheme}")


def test_calls_are_gone_through_by_keys_and_read_aloud(opened: Open) -> None:
    view = opened()
    view.find("Shop.total")
    status = view.page.locator("#live")
    view.until("/Shop.total/.test(document.getElementById('live').textContent)")
    assert status.inner_text().startswith("__main__.Shop.total, ")
    assert "returned, level 2 of worker-" in status.inner_text()
    for key, name in (("Shift+ArrowUp", "serve"), ("Shift+ArrowUp", "work"), ("Shift+ArrowDown", "serve")):
        view.press(key)
        view.until(f"document.getElementById('live').textContent.startsWith('__main__.{name},')")
    before = view.state()["call"]
    view.press("Shift+ArrowRight")
    view.until(f"!location.hash.includes('call={before}')")
    view.until("document.getElementById('live').textContent.startsWith('__main__.serve,')")
    view.press("]")
    view.press("[")
    view.press("Escape")
    view.page.wait_for_selector(".hint")


def test_a_call_that_is_found_late_is_not_gone_to(opened: Open) -> None:
    """Broken: `[`, and Escape before the server had answered, chose the previous call."""
    view = opened()
    view.find("Shop.total")
    held: list[Any] = []

    def hold(route: Any) -> None:  # playwright wants a function of its own
        held.append(route)

    view.page.route("**/api/step?*", hold)
    view.press("]")
    while not held:
        view.settle()
    view.press("Escape")
    view.page.wait_for_selector(".hint")
    held[0].continue_()
    view.loaded()
    assert "call" not in view.state()


def test_everything_has_a_role_and_a_name(opened: Open) -> None:
    view = opened()
    tree = view.page.locator("body").aria_snapshot()
    parts = (
        'application "Time line"',
        'list "Lanes"',
        'tablist "Views"',
        'tab "Call" [selected]',
        'searchbox "Search functions"',
        'img "Overview of the whole trace"',
        'separator "Size of the details"',
        'button "Pin worker-0"',
    )
    for part in parts:
        assert part in tree, part


def test_tabs_and_the_help_work_by_keys(opened: Open) -> None:
    view = opened()
    view.page.focus("#tab-call")
    view.page.keyboard.press("ArrowRight")
    assert view.page.get_attribute("#tab-flame", "aria-selected") == "true"
    view.press("3")
    assert view.page.get_attribute("#tab-table", "aria-selected") == "true"
    view.press("?")
    assert view.page.locator("dialog").get_by_text("zoom in").first.is_visible()
    view.page.keyboard.press("Escape")
    assert not view.page.locator("dialog").is_visible()
    view.page.keyboard.press("/")
    assert view.page.evaluate("document.activeElement.id") == "search-text"
    view.page.keyboard.type("wasd")
    assert view.page.input_value("#search-text") == "wasd"
    view.page.focus("#splitter")
    height = view.page.locator("#panel").bounding_box()["height"]
    view.page.keyboard.press("ArrowUp")
    view.until(f"document.getElementById('panel').offsetHeight > {height}")


def test_names_and_values_of_a_trace_are_text_everywhere(opened: Open) -> None:
    view = opened("trace=1")
    page = view.page
    title = page.title()
    assert "<i id=broken>" in page.locator("#labels").inner_text()
    for text in ("script", "img", "bold", "backwards"[::-1][:4], "bell", "javascript", "xxxx", "fail"):
        page.fill("#search-text", text)
        view.until("!['', '…'].includes(document.getElementById('search-count').textContent)")
        if page.locator("#search-next").is_enabled():
            page.click("#search-next")
            page.wait_for_selector(".call-head")
            view.settle()
    for tab in TABS:
        page.click(f"#tab-{tab}")
        view.loaded()
        assert page.locator("#broken, #tabpanel img, #tabpanel script, #tabpanel iframe").count() == 0
        assert "\u202e" not in page.locator("body").inner_text()
        assert page.evaluate("document.body.scrollWidth <= innerWidth")
        view.screenshot(f"hostile-{tab}")
    assert page.title() == title


def test_a_wrong_token_gets_nothing_and_an_ended_server_is_told(
    opened: Open, browser: Any, address: str
) -> None:
    context = browser.new_context()
    wrong = context.request.get(address.partition("token=")[0] + "token=wrong")
    assert (wrong.status, wrong.text()) == (403, "")
    context.close()
    view = opened()
    view.page.route("**/api/**", lambda route: route.abort())
    view.press("Enter")
    view.page.wait_for_selector("#status.bad")
    assert "Start it again" in view.page.locator("#status").inner_text()
    view.problems.clear()  # the browser names the requests that failed
