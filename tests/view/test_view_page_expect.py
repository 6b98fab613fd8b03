"""The panel Expect: an expectation is written, pasted and checked, and its first difference is followed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from view.pages import ViewPage
from view.test_view_page_answers import chosen, spoken
from view.test_view_page_reach import axe, faults
from view.test_view_page_views import panel as text_of
from view.test_view_page_views import show

__all__ = ["axe"]  # a fixture

Open = Callable[..., Any]
TOTAL = "__main__.Shop.total"
PRICE = "__main__.Shop.price"
HOLDS = "The calls are as expected"
SERVE = """\
functions: *serve *price
thread worker-0:
__main__.serve
  __main__.Shop.price(item=0, ...) x2
  ...
...
"""
PASTE = """text => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text.replaceAll("\\n", "\\r\\n"));
    const paste = new ClipboardEvent("paste", {clipboardData, cancelable: true});
    document.getElementById("answer-calls").dispatchEvent(paste);
}"""


def checked(view: ViewPage, text: str) -> str:
    """Return what the panel says of an expectation."""
    view.page.fill("#answer-calls", text)
    view.page.click("#expect-check")
    return text_of(view)


def test_an_expectation_is_written_from_the_chosen_call_and_holds(opened: Open) -> None:
    view = opened("tab=expect")
    assert "Write or paste the calls" in text_of(view) and view.page.input_value("#expect-of") == "all"
    assert view.page.is_disabled("#answer-only")
    view.press("Enter")  # a call is chosen while the panel is there
    view.until("document.getElementById('expect-of').value === 'call'")
    assert view.page.is_enabled("#answer-only")
    view.page.click("#tab-call")
    view.find("Shop.total")
    call = chosen(view)
    show(view, "expect")
    view.page.click("#expect-write")
    assert HOLDS in text_of(view)
    text = view.page.input_value("#answer-calls")
    assert f"{TOTAL}(" in text and f"  {PRICE}(" in text and "thread worker-" in text and "\n...\n" in text
    write, check = view.page.locator(".command code").all_inner_texts()
    assert write.startswith(f"funcgraph expect calls.txt --write --call {TOTAL}:")
    assert check.startswith("funcgraph expect calls.txt ") and "--write" not in check
    assert view.state()["expected"] == text and chosen(view) == call
    other = opened(view.page.url.partition("#")[2])  # a link leads to the same answer
    assert HOLDS in text_of(other) and other.page.input_value("#answer-calls") == text
    view.page.fill("#expect-patterns", "*price")
    view.page.click("#expect-write")
    assert "its function is none of those that are looked at" in text_of(view)
    view.problems.clear()  # the browser names the request that was refused


def test_a_range_and_the_whole_trace_are_written_too(opened: Open) -> None:
    view = opened()
    view.find("serve")
    view.press("r")
    view.page.fill("#search-text", "")
    show(view, "expect")
    view.page.check("#answer-only")
    view.page.select_option("#expect-of", "range")
    view.page.click("#expect-write")
    text = text_of(view)
    assert HOLDS in text and "the selected range does not count" in text
    assert "--from" in view.page.locator(".command code").first.inner_text()
    assert view.page.input_value("#answer-calls").count("__main__.serve(") == 1
    view.page.select_option("#expect-of", "all")
    view.page.fill("#expect-patterns", "*serve *total")
    view.page.fill("#expect-levels", "1")
    view.page.click("#expect-write")
    assert HOLDS in text_of(view)
    assert view.page.input_value("#answer-calls").count("__main__.serve(customer=") == 3
    assert "-l '*serve' -l '*total' --max-depth 1" in view.page.locator(".command code").first.inner_text()


def test_the_first_difference_leads_to_the_call_and_to_the_line(opened: Open) -> None:
    view = opened("tab=expect")
    text = checked(view, SERVE)
    assert "Other arguments in worker-0" in text
    rows = view.page.locator(".difference li")
    assert rows.all_inner_texts()[0].startswith("in") and "__main__.serve(" in rows.first.inner_text()
    assert rows.nth(-1).inner_text().startswith("there is")
    rows.nth(-1).get_by_role("button").click()
    spoken(view, PRICE)
    raising = chosen(view)
    rows.first.get_by_role("button").click()
    spoken(view, "__main__.serve")
    assert chosen(view)[1] < raising[1] and "Other arguments" in text_of(view), "the panel stays"
    view.page.get_by_title("Select line 4").click()
    selected = "(area => area.value.slice(area.selectionStart, area.selectionEnd))"
    line = view.page.evaluate(f"{selected}(document.getElementById('answer-calls'))")
    assert line.strip().startswith(PRICE)
    view.page.keyboard.press("Control+Enter")  # by the keyboard alone
    assert "Other arguments" in text_of(view)
    view.page.keyboard.press("Escape")
    text = checked(view, "functions: *serve\nthread worker-0:\n__main__.serve x4")
    assert "Another call in worker-0" in text and "no further call" in text
    view.page.go_back()
    view.until("document.querySelector('.answer h2')?.textContent.startsWith('Other arguments')")
    assert "price(item=0" in view.page.input_value("#answer-calls")


def test_what_is_no_expectation_is_refused_in_one_line(opened: Open) -> None:
    view = opened("tab=expect")
    for text, error in (
        ("a(", "Line 1: '(' without its ')'"),
        ("no_such.function", "'no_such.function': no function of the trace matches"),
        ("__main__.serve", "Calls of several threads"),
        ("a\x01", "The expectation has a control character: \\x01"),
    ):
        assert error in checked(view, text)
        alert = view.page.locator("#tabpanel [role=alert]")
        assert alert.count() == 1 and "\n" not in alert.inner_text()
        assert view.page.input_value("#answer-calls") == text
    view.problems.clear()  # the browser names the requests that were refused


def test_a_long_text_is_checked_but_is_not_in_the_address(opened: Open) -> None:
    view = opened("tab=expect")
    long = "# x\n" * 2000 + "functions: *serve\nthread worker-0:\n__main__.serve x3"
    view.page.evaluate(PASTE, long)
    view.page.click("#expect-check")
    assert HOLDS in text_of(view) and view.page.input_value("#answer-calls") == long
    assert "expected" not in view.state() and "too long for the address" in text_of(view)
    with view.page.expect_download() as download:
        view.page.click("#expect-save")
    assert download.value.suggested_filename == "calls.txt"
    assert Path(download.value.path()).read_text() == view.page.input_value("#answer-calls")
    view.page.click("#expect-clear")
    assert view.page.input_value("#answer-calls") == "" and "Write or paste" in text_of(view)


def test_a_hostile_trace_and_text_are_text(opened: Open) -> None:
    view = opened("trace=1&tab=expect")
    title = view.page.title()
    view.page.select_option("#expect-of", "all")
    view.page.click("#expect-write")
    assert HOLDS in text_of(view)
    written = view.page.input_value("#answer-calls")
    assert "\u202e" not in written and "<script>" in written
    text = checked(view, written.replace("ValueError", "<img src=x onerror=document.title='broken'>"))
    assert "Another result" in text and "<img src=x" in text and "<b id=broken>" in text
    text = checked(view, written + "# \u202e\n" + "thread <b id=broken>\u202e:\n x")
    assert "<b id=broken>" in text and "\u202e" not in text
    assert view.page.locator("#broken, #tabpanel img, #tabpanel script").count() == 0
    assert view.page.title() == title and view.page.evaluate("document.body.scrollWidth <= innerWidth")
    view.problems.clear()  # the browser names the request that was refused


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_expectations(opened: Open, axe: str, scheme: str) -> None:
    view = opened("tab=expect&panel=430", color_scheme=scheme)
    assert faults(view, axe) == []
    view.screenshot(f"expect-empty-{scheme}")
    checked(view, "functions: *serve\nthread worker-0:\n__main__.serve x3")
    assert faults(view, axe) == []
    view.screenshot(f"expect-holds-{scheme}")
    checked(view, SERVE)
    assert faults(view, axe) == []
    view.screenshot(f"expect-{scheme}")
    view.page.evaluate("document.documentElement.style.fontSize = '162.5%'")
    assert view.page.evaluate("document.body.scrollWidth <= innerWidth")
    view.screenshot(f"expect-large-{scheme}")
