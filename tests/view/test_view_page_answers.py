"""The panels of answers: each is clicked through, and its evidence followed to the time line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from view.test_view_page_reach import axe, faults
from view.test_view_page_views import panel as text_of
from view.test_view_page_views import show

__all__ = ["axe"]  # a fixture

Open = Callable[..., Any]
PANELS = {"why": "Why", "values": "Values", "repeat": "Repeats", "exceptions": "Exceptions"}
PRICE = "__main__.Shop.price"


def spoken(view: Any, name: str) -> None:
    """Wait until the call that was chosen is told to a screen reader."""
    view.until(f"document.getElementById('live').textContent.startsWith('{name},')")


def chosen(view: Any) -> list[int]:
    """Return lane, time and depth of the chosen call."""
    view.settle()
    return [int(word) for word in view.state()["call"].split(",")]


def test_why_explains_a_function_that_is_typed_and_leads_to_its_calls(opened: Open) -> None:
    view = opened()
    assert "Choose a function, or a call of it" in show(view, "why")
    view.page.fill("#answer-function", "serv")
    view.page.keyboard.press("Enter")
    text = text_of(view)
    assert "__main__.serve" in text and "6 calls" in text and "Slow" in text and "Typical" in text
    assert view.page.locator(".why-bar").count() == 2
    assert "All of a call" in text and "not recorded" in text.lower()
    assert view.page.locator(".command code").inner_text().startswith("funcgraph why __main__.serve -i ")
    view.page.get_by_role("button", name="Show the longest on the time line").click()
    spoken(view, "__main__.serve")
    assert view.state()["tab"] == "why", "the panel stays"
    longest = chosen(view)
    view.page.locator(".answers").get_by_role("button", name="__main__.pause").click()
    spoken(view, "__main__.pause")
    lane, time, depth = chosen(view)
    assert (lane, depth) == (longest[0], longest[2] + 1) and time >= longest[1], (
        "a call within the longest one"
    )
    assert "__main__.serve" in text_of(view), "it is still about the same function"
    view.page.click("#why-call")
    assert "__main__.pause" in view.page.locator(".answer h2").inner_text()
    assert "took" in text_of(view) and view.page.locator(".why-bar").count() == 1
    view.page.go_back()
    view.until("document.querySelector('.answer h2')?.textContent === '__main__.serve'")


def test_two_calls_are_chosen_and_compared(opened: Open) -> None:
    view = opened("tab=why&of=compare")
    assert "Choose a call on the time line" in text_of(view)
    view.page.fill("#search-text", "Shop.total")
    view.until("/hit/.test(document.getElementById('search-count').textContent)")
    view.page.click("#search-next")
    view.until("location.hash.includes('call=')")
    view.page.click("#compare-keep")
    first = chosen(view)
    assert "This call is kept" in text_of(view)
    view.page.get_by_role("button", name="Next call →").click()
    view.until("document.querySelector('.answer h2')?.textContent === '__main__.Shop.total'")
    text = text_of(view)
    assert "First: call 1 took" in text and "Second: call 2 took" in text
    view.press("]")  # another call is chosen: those that were compared stay
    view.loaded()
    assert "Second: call 2 took" in text_of(view)
    for _ in range(3):  # to the last one: whichever thread is ahead, the first is customer 0's and this 2's
        view.press("]")
        view.loaded()
    view.page.click("#compare-other")
    view.until("/Second: call 6 took/.test(document.querySelector('.answer-head')?.innerText)")
    assert "The first call is the same, then other arguments" in text_of(view)
    step = view.page.get_by_role("table", name="Where they differ").locator("button.link").first
    step.click()
    spoken(view, PRICE)
    assert chosen(view)[1] > first[1] and "Second: call 6 took" in text_of(view)
    assert view.page.locator(".command code").inner_text().startswith("funcgraph compare ")


def test_a_name_that_is_typed_in_part_is_chosen_from_a_list(opened: Open) -> None:
    view = opened("tab=values&func=Shop")
    assert "3 functions have this in their names" in text_of(view)
    view.page.get_by_role("button", name=PRICE).click()
    assert "30 calls" in text_of(view)
    view = opened("tab=why&func=no such name")
    assert "No function of the trace has 'no such name' in its name" in text_of(view)
    assert view.page.locator("#tabpanel [role=alert]").count() == 1
    view.problems.clear()  # the browser names the request that was refused


def test_values_rank_what_separates_calls_and_lead_to_the_slowest(opened: Open) -> None:
    view = opened()
    view.find("Shop.price")
    text = show(view, "values")
    assert PRICE in text and "item" in text and "What separates slow calls" in text
    ranking = view.page.get_by_label("Ranking", exact=True).last
    ranking.get_by_role("button", name="exception").click()
    assert "1 value of exception" in text_of(view) and "KeyError" in text_of(view)
    assert view.page.get_attribute(".chosen button", "aria-pressed") == "true"
    ranking = view.page.get_by_label("Ranking", exact=True).last
    ranking.get_by_role("button", name="item").click()
    view.loaded()
    row = view.page.get_by_role("row", name="13 6")
    assert row.locator("svg.durations").get_attribute("aria-label").startswith("6 calls, ")
    row.get_by_title("Show it on the time line").click()
    spoken(view, PRICE)
    view.page.click("#tab-call")
    view.loaded()
    assert "KeyError" in view.page.locator(".values .bad").inner_text(), "the call with 13"


def test_answers_are_of_the_selected_range_and_lane(opened: Open) -> None:
    view = opened()
    view.find("serve")
    view.press("r")
    view.page.fill("#search-text", "")
    show(view, "exceptions")
    command = view.page.locator(".command code").inner_text()
    assert "--from" in command and "--to" in command and "--task" not in command
    view.page.check("#answer-only")  # meanwhile, other threads may raise one, too
    assert "1 exception: 1 handled" in text_of(view)
    assert "--task" in view.page.locator(".command code").inner_text()
    view.page.get_by_role("button", name="Clear").click()
    view.loaded()
    assert "3 exceptions: 3 handled" in text_of(view)
    view.page.uncheck("#answer-only")
    assert "6 exceptions: 6 handled" in text_of(view)


def test_repeats_lead_to_calls_values_and_exceptions(opened: Open) -> None:
    view = opened()
    text = show(view, "repeat")
    assert "5 times or more" in text
    view.page.fill("#answer-least", "2")
    view.page.keyboard.press("Enter")
    text = text_of(view)
    assert "2 times or more" in text and view.state()["least"] == "2"
    below = view.page.get_by_role("table", name="The same call below one call").locator("tbody tr").first
    name = below.get_by_title("Show it on the time line").inner_text()
    below.get_by_title("Show it on the time line").click()
    spoken(view, name)
    discarded = view.page.get_by_role("table", name="Results that all callers discard")
    assert "__main__.Shop.total" not in discarded.inner_text() and discarded.locator("tbody tr").count()
    discarded.get_by_title("Show it on the time line").first.click()
    spoken(view, discarded.locator("tbody tr").first.locator("button").first.inner_text())
    swallowed = view.page.get_by_role("table", name="The same exception")
    swallowed.get_by_role("button", name="KeyError").click()
    assert "exception 1 of 6" in text_of(view) and view.state()["tab"] == "exceptions"
    view.page.go_back()
    view.until("document.getElementById('answer-least') !== null")
    cache = view.page.get_by_role("table", name="The same arguments")
    cache.get_by_role("button", name="__main__.fib").first.click()  # others have a Shop, at any address
    assert "What separates slow calls" in text_of(view) and view.state()["tab"] == "values"


def test_an_exception_is_followed_and_those_beside_it(opened: Open) -> None:
    view = opened()
    assert "6 exceptions: 6 handled" in show(view, "exceptions")
    assert "handled in __main__.Shop.total" in text_of(view)
    view.page.get_by_role("button", name="KeyError").click()
    text = text_of(view)
    assert "exception 1 of 6" in text and "raised in" in text
    assert view.page.get_by_role("button", name="← Previous").is_disabled()
    view.page.get_by_role("button", name="Next →").click()
    assert "exception 2 of 6" in text_of(view) and view.state()["nth"] == "2"
    view.until("document.activeElement.textContent === 'Next →'")  # so that a keyboard goes on
    frames = view.page.locator(".frames button")
    frames.first.click()
    spoken(view, PRICE)
    raising = chosen(view)
    frames.last.click()
    spoken(view, "__main__.Shop.total")
    handling = chosen(view)
    assert (handling[0], handling[2]) == (raising[0], raising[2] - 1) and handling[1] <= raising[1]
    assert view.page.locator(".command code").inner_text().startswith("funcgraph exceptions --nth 2 ")
    view.page.get_by_role("button", name="All kinds").click()
    assert "6 exceptions" in text_of(view)


def test_a_kernels_trace_says_what_it_lacks(opened: Open) -> None:
    view = opened("trace=3&tab=exceptions")
    assert "A kernel's trace has no exceptions of Python" in text_of(view)
    view.page.click("#tab-why")
    view.page.locator(".choices button").first.click()
    assert "All of a call" in text_of(view) or "All, to the nanosecond" in text_of(view)
    view.problems.clear()  # the browser names the request that was refused


def test_names_and_values_in_answers_are_text(opened: Open) -> None:
    view = opened("trace=1&tab=repeat&least=2&nth=1")
    title = view.page.title()

    def check(text: str) -> None:
        assert view.page.locator("#broken, #tabpanel img, #tabpanel script, #tabpanel iframe").count() == 0
        assert "\u202e" not in text and view.page.evaluate("document.body.scrollWidth <= innerWidth")

    assert "<img src=x" in text_of(view)
    for tab in ("repeat", "exceptions", "why", "values"):
        check(show(view, tab))
    names = view.page.locator(".choices button")
    for number in range(names.count()):
        names.nth(number).click()
        text = text_of(view)
        assert "What separates slow calls" in text
        check(text)
        view.page.fill("#answer-function", "")
        view.page.keyboard.press("Enter")
        view.until("document.querySelector('.choices') !== null")
    assert view.page.title() == title


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_answers(opened: Open, axe: str, scheme: str) -> None:
    view = opened(f"func={PRICE}&least=2&nth=2&panel=430", color_scheme=scheme)
    for tab in PANELS:
        show(view, tab)
        assert faults(view, axe) == [], tab
        view.screenshot(f"{tab}-{scheme}")
    view.page.get_by_role("button", name="All kinds").click()
    view.loaded()
    assert faults(view, axe) == []


def test_answers_fit_into_a_narrow_window_and_their_tabs_have_keys(opened: Open) -> None:
    view = opened(viewport={"width": 420, "height": 800})
    for key, tab in (("7", "why"), ("8", "values"), ("9", "repeat")):
        view.press(key)
        assert view.page.get_attribute(f"#tab-{tab}", "aria-selected") == "true"
    for tab in PANELS:
        show(view, tab)
        right = "document.getElementById('tabpanel').getBoundingClientRect().right"
        assert view.page.evaluate(f"{right} <= innerWidth"), "what is wider can be scrolled in the panel"


def test_an_exported_page_has_no_answers(opened: Open, tmp_path: Path) -> None:
    from funcgraph.tracedata.selection import Selection
    from view.test_view_export_page import SHOP, exported

    page = opened()
    assert page.page.locator("[role=tab]").count() == 7 + len(PANELS)
    path = tmp_path / "shop.html"
    path.write_text(exported(page, SHOP, Selection()))
    page.address = path.as_uri()
    page.open("tab=why")
    assert page.page.locator("[role=tab]").all_inner_texts()[-1] == "Text"
