"""Promise: the panels of answers say of a process that is recorded what it did until now, how much was
recorded since then, and the same anew when they are asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from view.pages import ViewPage
from view.servers import Server
from view.test_view_live import Program, settings
from view.test_view_page_views import panel as text_of
from view.test_view_page_views import show

pytestmark = pytest.mark.one_python

_PROGRAM = """
import sys, threading
def price(item):
    if item == 13:
        raise KeyError(item)
    return item
def total(cart):
    found = 0
    for item in cart:
        try:
            found += price(item)
        except KeyError:
            pass
    return found
def discount(part):
    return price(1) - part
def work(times):
    for _ in range(times):
        total([1, 1, 13])
    if times > 10:
        discount(0)
print("begun", flush=True)
for line in sys.stdin:
    thread = threading.Thread(target=work, args=(int(line),), name="worker")
    thread.start()
    thread.join()
    print("done", flush=True)
"""
PRICE = "__main__.price"
#: What each panel says of 3 calls of total(), and then of 23 and one of discount().
PANELS = {
    "values": (f"tab=values&func={PRICE}", "9 calls", "70 calls"),
    "why": ("tab=why&func=__main__.total", "3 calls", "23 calls"),
    "repeat": ("tab=repeat&least=2", "3", "23"),
    "exceptions": ("tab=exceptions", "3 exceptions: 3 handled", "23 exceptions: 23 handled"),
    "expect": ("tab=expect", "Compared: 3 calls of 1 function", "Compared: 23 calls of 1 function"),
}
EXPECTED = "functions: *total\nthread *:\n__main__.total = 2 x3"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    one = Program(tmp_path, _PROGRAM)
    yield one
    assert one.end() == 0


def calls_are(page: ViewPage, calls: int) -> None:
    """Wait until the page has so many calls."""
    page.until(f"/[^,0-9]{calls} calls/.test(document.getElementById('facts').textContent)")


def test_answers_are_of_what_was_recorded_and_say_how_old_they_are(
    tmp_path: Path, program: Program, start: Callable[..., Server], browser: Any
) -> None:
    """Broken by answers that are kept although the trace has grown."""
    words = ("-P", program.process.pid, "-l", "__main__.*", "--args", "--retval")
    server = start(*words, **settings(tmp_path))
    context = browser.new_context(viewport={"width": 1100, "height": 720}, reduced_motion="reduce")
    page = ViewPage(context.new_page(), server.address)
    program.call(3)
    page.open("tab=values")
    calls_are(page, 13)
    for tab in PANELS:
        answer_of(page, tab, 0)
    program.call(20)
    age = page.page.locator(".age")
    page.until("/ more are recorded/.test(document.querySelector('.age').textContent)")
    calls_are(page, 96)
    for tab in PANELS:
        answer_of(page, tab, 1)
    page.screenshot("live-expect")
    said = " ".join(age.inner_text().split())
    assert said.startswith("Ask again Of the first ") and "more" not in said
    assert page.page.locator(".notes").inner_text().startswith("a live recording")
    page.page.get_by_role("button", name="Ask again").click()
    assert "23 calls" in text_of(page)
    assert page.problems == []
    context.close()


def answer_of(page: ViewPage, tab: str, nth: int) -> None:
    """Show a panel, and look whether it answers from what there is."""
    fragment = PANELS[tab][0]
    page.page.evaluate(f"location.hash = {fragment!r}")
    show(page, tab)
    if tab == "expect":
        page.page.fill("#answer-calls", EXPECTED)
        page.page.click("#expect-check")
    page.page.get_by_role("button", name="Ask again").click()
    text = text_of(page)
    assert PANELS[tab][1 + nth] in text and "Of the first" in text, (tab, text)
