"""Promise: `funcgraph export html` writes the viewer's page, with figures of all calls and no time line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from view.pages import ViewPage
from view.test_view_page_reach import axe, faults

__all__ = ["axe"]  # a fixture

pytestmark = pytest.mark.one_python

Open = Callable[..., ViewPage]
SHOP, HOSTILE = 0, 1


def figures_page(page: ViewPage, trace: int, folder: Path) -> ViewPage:
    """Open the exported page of one of the server's traces."""
    code = "async (n) => (await (await import('/page/base/api.js')).ask('traces')).traces[n].path"
    path = folder / "figures.html"
    command = [sys.executable, "-m", "funcgraph", "export", "html", page.page.evaluate(code, trace)]
    subprocess.run([*command, "-o", str(path)], check=True, capture_output=True)
    page.address = path.as_uri()
    return page.open()


def visible(page: ViewPage, selector: str) -> bool:
    shown: bool = page.page.locator(selector).is_visible()
    return shown


def test_its_views_show_what_the_viewers_do(opened: Open, tmp_path: Path) -> None:
    """The table of a trace, row for row; and no view that needs single calls is offered.

    Broken by a tab for single calls, and by figures that are added up without those of the least functions.
    """
    page = opened()
    page.page.click("#tab-table")
    page.loaded()
    table = page.page.locator("#tabpanel table").inner_text()
    figures_page(page, SHOP, tmp_path)
    tabs = page.page.get_by_role("tab")
    assert tabs.all_inner_texts() == ["Flame graph", "Table", "Call tree", "Butterfly"]
    assert page.page.get_by_role("tab", selected=True).inner_text() == "Flame graph"
    page.until("Number(document.getElementById('flame')?.dataset.drawn) > 3")
    of_calls = "#time", "#splitter", "#range", "#search-next", "#search-values", "#shape-time", "#option-only"
    for selector in of_calls:
        assert not visible(page, selector), selector
    page.screenshot("figures-flame")
    page.page.keyboard.press("2")
    page.loaded()
    assert page.page.locator("#tabpanel table").inner_text() == table
    page.page.locator("#tabpanel button.name", has_text="Shop.price").first.click()
    page.loaded()
    panel = page.page.locator("#tabpanel").inner_text()
    assert "Called by" in panel and "Show the first call" not in panel


def test_its_search_counts_functions_and_its_help_has_its_own_keys(opened: Open, tmp_path: Path) -> None:
    page = figures_page(opened(), SHOP, tmp_path)
    page.page.fill("#search-text", "Shop.")
    page.until("/function/.test(document.getElementById('search-count').textContent)")
    page.page.click("#show-help")
    help_text = page.page.locator("#help").inner_text()
    assert "views of the details" in help_text and "zoom in" not in help_text and "Marks" not in help_text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_it(opened: Open, axe: str, scheme: str, tmp_path: Path) -> None:
    """Of a hostile trace, whose names show as text."""
    page = figures_page(opened(color_scheme=scheme), HOSTILE, tmp_path)
    for tab in ("flame", "table", "tree", "butterfly"):
        page.page.click(f"#tab-{tab}")
        page.loaded()
        assert faults(page, axe) == [], tab
    page.page.click("#tab-table")
    page.loaded()
    assert "<script>" in page.page.locator("#tabpanel").inner_text()
    assert page.page.title().endswith("- funcgraph view")
    page.screenshot(f"figures-{scheme}")
