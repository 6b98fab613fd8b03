"""Promise: an exported page shows a trace from its file alone, without a server, and answers as that does."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pytest

from funcgraph.tracedata.selection import Selection
from funcgraph.view.export_page import export_page
from funcgraph.view.served import Served
from view.pages import ViewPage

pytestmark = pytest.mark.one_python

SHOP, HOSTILE = 0, 1


def exported(page: ViewPage, trace: int, selection: Selection, first: str = "") -> str:
    """Return the exported page of one of the server's traces."""
    code = "async (n) => (await (await import('/page/base/api.js')).ask('traces')).traces[n].path"
    served = Served(0, page.page.evaluate(code, trace))
    try:
        return export_page(served, selection, first=first)[0]
    finally:
        served.close()


def answers(page: ViewPage, text: str, questions: list[tuple[str, dict[str, Any]]]) -> list[list[Any]]:
    """Return what the server, and what the modules of an exported page, answer to questions."""
    data = text.partition('id="embedded-trace">')[2].partition("<")[0]
    found: list[list[Any]] = page.page.evaluate(
        """async ([data, questions]) => {
            const {ask} = await import('/page/base/api.js');
            const {answersOf} = await import('/page/export/embedded_api.js');
            const {openEmbedded} = await import('/page/export/embedded_trace.js');
            const answers = answersOf(await openEmbedded(data)), found = [];
            for (const [name, question] of questions)
                found.push([await ask(name, question), JSON.parse(JSON.stringify(answers[name](question)))]);
            return found;
        }""",
        [data, questions],
    )
    return found


def test_an_exported_page_answers_as_the_server(opened: Callable[..., ViewPage]) -> None:
    """Each question of the page about a small trace; broken by counting own times without callees."""
    page = opened()
    text = exported(page, SHOP, Selection())
    names = [row["name"] for row in page.page.evaluate(
        "async () => (await (await import('/page/base/api.js')).ask('functions')).functions"
    )]  # fmt: skip
    price, fib = names.index("__main__.Shop.price"), names.index("__main__.fib")
    lane = {"lane": 1, "begin": 0, "end": 10**9}
    hits = answers(page, text, [("search", {"text": "price"}), ("search", {"text": "*fib"})])
    call = hits[0][0]["hits"][1]
    place = {"lane": call["lane"], "time": call["begin_ns"], "depth": call["depth"]}
    recursive = hits[1][0]["hits"][30]
    part = {"begin": recursive["begin_ns"], "end": recursive["end_ns"]}
    questions: list[tuple[str, dict[str, Any]]] = [
        ("search", {"text": "KeyError", "values": True}),
        ("marks", lane),
        ("call", place),
        ("call", {"lane": recursive["lane"], "time": recursive["begin_ns"]}),
        ("step", {"function": price, "time": call["begin_ns"]}),
        ("step", {"function": price, "time": 10**9, "direction": "previous", "raised": 1}),
        ("longest", {"function": fib, "most": 5}),
        ("histogram", {"function": fib}),
        *(("tree", {**part, **more}) for more in ({}, {"invert": 1}, {"merge": "recursion"})),
        *(("tree", more) for more in ({}, {"hide": "fib"}, {"focus": "price"}, {"waiting": "0"})),
        ("tree", {"collapse": "module"}),
        ("table", {}),
        ("table", part),
        ("butterfly", {"function": fib}),
        ("butterfly", {"function": price}),
    ]
    for (name, question), (served, embedded) in zip(questions, answers(page, text, questions), strict=True):
        if name == "call":
            for name_of_source in ("source", "caller_source"):  # only with --source
                served["call"].pop(name_of_source)
                assert embedded["call"].pop(name_of_source) is None
            served["call"].pop("report"), embedded["call"].pop("report")
        if name == "step":
            served.pop("complete", None), embedded.pop("complete", None)
        if name == "tree":
            served["nodes"], embedded["nodes"] = paths(served["nodes"]), paths(embedded["nodes"])
        assert embedded == served, (name, question)


def paths(nodes: list[list[int]]) -> dict[tuple[int, ...], list[int]]:
    """Return the figures of each path of a tree, in whatever order its nodes are."""
    found: list[tuple[int, ...]] = []
    for parent, function, *_ in nodes:
        found.append((*(found[parent] if parent >= 0 else ()), function))
    return {path: node[2:] for path, node in zip(found, nodes, strict=True)}


def test_an_exported_page_works_from_its_file(opened: Callable[..., ViewPage], tmp_path: Path) -> None:
    """Of a hostile trace: its names and values are text. Nothing is asked of anybody."""
    page = opened()
    path = tmp_path / "hostile.html"
    path.write_text(exported(page, HOSTILE, Selection()))
    requests: list[str] = []
    page.page.on("request", lambda request: requests.append(request.url))
    page.address = path.as_uri()
    page.open()
    page.find("<script>")
    panel = page.page.locator("#tabpanel")
    assert "<script>document.title='broken'</script>" in panel.inner_text()
    page.screenshot("exported")
    for tab, words in (("Table", "<script>"), ("Flame graph", ""), ("Butterfly", "<script>")):
        page.page.get_by_role("tab", name=tab).click()
        page.loaded()
        assert words in panel.inner_text()
    page.page.fill("#search-text", "<b id=broken>")
    page.page.check("#search-values")
    page.until("/hit/.test(document.getElementById('search-count').textContent)")
    assert page.page.title() == "hostile.fg - funcgraph view"
    assert page.page.locator("#broken").count() == 0
    assert {url.partition("#")[0] for url in requests if not url.startswith(("data:", "about:"))} == {
        page.address
    }


def test_an_exported_page_works_in_a_frame_without_an_origin(opened: Callable[..., ViewPage]) -> None:
    """As in a notebook. The page around it keeps its address, its history and its wheel.

    Broken by steps in the browser's history, which refuses them there; and by a wheel that zooms.
    """
    page = opened()
    text = exported(page, SHOP, Selection(), first="tab=flame")
    frames = f"<iframe sandbox='allow-scripts' width=900 height=600 srcdoc='{escape(text)}'></iframe>" * 2
    notebook = {"body": frames, "content_type": "text/html; charset=utf-8"}
    page.page.route("http://notebook.test/*", lambda route: route.fulfill(**notebook))
    page.page.goto("http://notebook.test/lab?one")
    steps = page.page.evaluate("history.length")
    frame = page.page.frame_locator("iframe").first
    frame.locator("body[data-picture=complete]").wait_for()
    assert frame.get_by_role("tab", selected=True).inner_text() == "Flame graph"
    assert frame.locator("#panel").bounding_box()["height"] == 320  # as in a window of that size
    frame.get_by_role("tab", name="Table").click()
    assert "price" in frame.locator("#tabpanel table").inner_text()
    page.page.keyboard.press("u")
    frame.locator("#tab-flame[aria-selected=true]").wait_for()
    frame.locator("#axis").hover()
    page.page.mouse.wheel(0, 300)
    page.page.wait_for_function("scrollY > 0")
    assert frame.locator("body").get_attribute("data-begin") == "0"
    assert page.page.evaluate("[location.href, history.length]") == ["http://notebook.test/lab?one", steps]


def test_no_script_runs_in_an_exported_page_but_its_own(
    opened: Callable[..., ViewPage], tmp_path: Path
) -> None:
    """Broken by 'unsafe-inline' in the policy."""
    page = opened()
    path = tmp_path / "shop.html"
    text = exported(page, SHOP, Selection(functions=["*price"]))
    path.write_text(text.replace("</body>", "<script>document.title = 'broken'</script></body>"))
    page.address = path.as_uri()
    page.open()
    assert page.page.title() == "shop.fg (a part) - funcgraph view"
    assert json.dumps(page.problems).count("Content Security Policy") == 1
    page.problems.clear()
