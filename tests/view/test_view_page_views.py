"""What the page says about a call, a function, a range: details, flame graph, table, tree, text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Open = Callable[..., Any]


def panel(view: Any) -> str:
    view.loaded()
    return str(view.page.locator("#tabpanel").inner_text())


def show(view: Any, tab: str) -> str:
    view.page.click(f"#tab-{tab}")
    return panel(view)


def test_a_click_shows_arguments_result_times_callers_and_source(opened: Open) -> None:
    view = opened()
    view.find("Shop.total")
    text = panel(view)
    assert "__main__.Shop.total" in text
    assert "cart" in text and "list(5)" in text
    assert "call 1 of 6" in text
    assert "__main__.serve" in text and "__main__.work" in text
    marked = view.page.locator(".line.marked")
    assert marked.count() == 1 and "def total(self, cart)" in marked.inner_text()
    assert view.page.locator(".values .result").inner_text().isdigit()
    view.screenshot("details")


def test_an_exception_is_shown_and_the_first_one_found(opened: Open) -> None:
    view = opened()
    view.find("Shop.price")
    assert "KeyError" not in view.page.locator(".values").inner_text()
    view.page.get_by_role("button", name="First that raised").click()
    view.until("document.querySelector('.values .bad') !== null")
    assert "KeyError" in view.page.locator(".values .bad").inner_text()
    assert (
        "item" in view.page.locator(".values").inner_text()
        and "13" in view.page.locator(".values").inner_text()
    )


def test_the_histogram_marks_the_call_and_lists_the_slow_ones(opened: Open) -> None:
    view = opened()
    view.find("fib")
    view.page.wait_for_selector(".histogram .marked")
    assert view.page.locator(".histogram .marked").count() == 1
    longest = view.page.locator(".longest li").all_inner_texts()
    assert longest
    view.page.locator(".longest button").first.click()
    view.loaded()  # the bars are those of the call that was clicked
    bars = view.page.locator(".bar[tabindex='0']")
    bars.nth(bars.count() - 1).press("Enter")
    view.until("/Calls of .* and more/.test(document.querySelector('.others').innerText)")
    assert len(view.page.locator(".longest li").all_inner_texts()) <= len(longest)


def test_the_search_counts_marks_and_goes_through_hits(opened: Open) -> None:
    view = opened()
    view.page.fill("#search-text", "fetch")
    view.until("/hits?$/.test(document.getElementById('search-count').textContent)")
    total = int(view.page.locator("#search-count").inner_text().split()[0])
    assert total >= 2
    view.press("n")
    view.until("document.getElementById('search-count').textContent.startsWith('1 of ')")
    first = view.state()["call"]
    view.press("n")
    assert view.state()["call"] != first
    view.press("Shift+N")
    assert view.state()["call"] == first
    assert view.state()["q"] == "fetch"
    view.page.fill("#search-text", "no such name")
    view.until("document.getElementById('search-count').textContent === 'no hits'")
    assert view.page.locator("#search-next").is_disabled()


def test_values_can_be_searched(opened: Open) -> None:
    view = opened()
    view.page.fill("#search-text", "KeyError")
    view.until("document.getElementById('search-count').textContent === 'no hits'")
    view.page.check("#search-values")
    view.until("/[1-9].*hit/.test(document.getElementById('search-count').textContent)")
    view.page.click("#search-next")
    view.page.wait_for_selector(".call-head")
    assert "KeyError" in panel(view)


@pytest.mark.parametrize("shape", ["callees", "callers", "time"])
def test_the_flame_graph_has_three_shapes(opened: Open, shape: str) -> None:
    view = opened()
    show(view, "flame")
    view.page.click(f"#shape-{shape}")
    view.loaded()
    view.until("Number(document.getElementById('flame').dataset.drawn) > 0")
    box = view.page.locator("#flame").bounding_box()
    view.page.mouse.move(box["x"] + box["width"] / 2 + 3, box["y"] + 8)
    view.until("!document.getElementById('tooltip').hidden")
    tip = view.page.locator("#tooltip").inner_text()
    assert tip.startswith("__main__.")
    assert ("in total" in tip) == (shape != "time")
    if shape != "callers":
        assert tip.startswith("__main__.<module>")
    view.screenshot(f"flame-{shape}")


def test_focus_hide_and_undo_change_the_flame_graph(opened: Open) -> None:
    view = opened()
    show(view, "flame")
    view.until("document.getElementById('flame').dataset.nodes > 0")
    nodes = "Number(document.getElementById('flame').dataset.nodes)"
    all_nodes = view.page.evaluate(nodes)
    view.page.fill("#option-focus", "*fib")
    view.page.press("#option-focus", "Enter")
    view.loaded()
    view.until(f"{nodes} > 0 && {nodes} < {all_nodes}")
    assert "focus=*fib" in view.page.evaluate("decodeURIComponent(location.hash)")
    focused = view.page.evaluate(nodes)
    view.page.check("#option-merge")
    view.loaded()
    view.until(f"{nodes} < {focused}")
    view.page.click("#undo")
    view.loaded()
    view.until(f"{nodes} === {focused}")
    view.page.click("#undo")
    view.loaded()
    view.until(f"{nodes} === {all_nodes}")


def test_the_flame_graph_is_gone_through_by_keys(opened: Open) -> None:
    view = opened()
    show(view, "flame")
    view.until("Number(document.getElementById('flame').dataset.drawn) > 0")
    view.page.focus("#flame")
    status = "document.getElementById('live').textContent"
    view.page.keyboard.press("ArrowDown")
    view.until(f"{status}.startsWith('__main__.')")
    first = view.page.evaluate(status)
    view.page.keyboard.press("ArrowDown")
    view.until(f"{status} !== {first!r}")
    view.page.keyboard.press("Enter")
    view.page.keyboard.press("Escape")
    view.page.keyboard.press("ArrowUp")
    view.until(f"{status} === {first!r}")


def test_the_table_sorts_by_each_column(opened: Open) -> None:
    view = opened()
    show(view, "table")
    view.page.wait_for_selector(".functions tbody tr")
    names = view.page.locator(".functions tbody th")
    assert "__main__.Shop.price" in names.all_inner_texts()
    view.page.get_by_role("button", name="Calls", exact=True).click()
    assert view.page.locator("th[aria-sort=descending]").inner_text().startswith("Calls")
    assert names.first.inner_text() == "__main__.fib"
    view.page.get_by_role("button", name="Function").click()
    assert names.first.inner_text() == "__main__.<module>"
    view.page.get_by_role("button", name="__main__.Shop.price").click()
    assert "Called by" in panel(view)


def test_the_butterfly_shows_callers_and_callees(opened: Open) -> None:
    view = opened()
    view.find("Shop.total")
    text = show(view, "butterfly")
    assert "__main__.serve" in text and "__main__.Shop.price" in text and "6 calls" in text
    view.page.get_by_role("button", name="__main__.serve").click()
    view.until("document.querySelector('.butterfly .body h2').textContent === '__main__.serve'")
    view.page.go_back()
    view.until("document.querySelector('.butterfly .body h2').textContent === '__main__.Shop.total'")


def test_the_call_tree_opens_by_keys(opened: Open) -> None:
    view = opened()
    show(view, "tree")
    view.page.wait_for_selector("tr[aria-level='1']")
    rows = view.page.locator("tr[aria-level]")
    row = rows.first
    row.focus()
    if row.get_attribute("aria-expanded") == "true":
        view.page.keyboard.press("ArrowLeft")
    assert row.get_attribute("aria-expanded") == "false"
    before = rows.count()
    view.page.keyboard.press("ArrowRight")
    assert rows.count() > before
    view.page.keyboard.press("ArrowRight")
    assert view.page.evaluate("document.activeElement.getAttribute('aria-level')") == "2"


def test_a_range_has_its_own_views_and_its_command(opened: Open) -> None:
    view = opened()
    view.find("serve")
    view.press("r")
    begin, end = view.state()["range"].split(",")
    assert int(begin) < int(end)
    assert "__main__.Shop.price" not in show(view, "table")  # the search leaves only what it found
    view.page.fill("#search-text", "")
    view.until("document.getElementById('search-count').textContent === ''")
    names = show(view, "table")
    assert "__main__.Shop.price" in names
    assert "__main__.fib" not in names
    text = show(view, "text")
    view.page.wait_for_selector(".text")
    text = panel(view)
    assert "__main__.Shop.price" in text
    assert "us" in text and "|" in text
    assert view.page.locator(".command code").inner_text().startswith("funcgraph report")
    view.page.get_by_role("button", name="Clear").click()
    assert "__main__.fib" in show(view, "table")
