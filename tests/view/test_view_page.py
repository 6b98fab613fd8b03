"""The time line of the page: what is drawn, and how a person moves in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Open = Callable[..., Any]


def lanes(view: Any) -> list[str]:
    texts = view.page.locator("#labels .lane-name bdi").all_text_contents()
    return [text.strip() for text in texts]


def hover(view: Any, x: float, y: float) -> str:
    box = view.page.locator("#stage").bounding_box()
    view.page.mouse.move(box["x"] + x, box["y"] + y)
    view.settle()
    tip = view.page.locator("#tooltip")
    return tip.inner_text() if tip.is_visible() else ""


def middle(view: Any) -> float:
    return float(view.page.locator("#stage").bounding_box()["width"]) / 2


@pytest.mark.parametrize("query", ["", "&boxes=2d"], ids=["webgl2", "canvas"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_calls_are_boxes_below_their_callers(opened: Open, query: str, scheme: str) -> None:
    view = opened(query=query, color_scheme=scheme)
    assert view.page.evaluate("document.body.dataset.boxes") == ("2d" if query else "webgl2")
    module = view.module(
        "base/colours",
        "m.colourOf({name: '__main__.<module>', module: '__main__'}, %s)"
        % ("true" if scheme == "dark" else "false"),
    )
    assert view.colour(middle(view), 26 + 10 + 3) == tuple(module)
    view.screenshot(f"time-line-{scheme}{'-2d' if query else ''}")


def test_both_ways_of_drawing_make_the_same_picture(opened: Open) -> None:
    pictures = []
    for query in ("", "&boxes=2d"):
        view = opened(query=query)
        box = view.page.locator("#stage").bounding_box()
        pictures.append(view.pixels({**box, "height": 200}))
    one, other = pictures
    different = sum(
        max(abs(a - b) for a, b in zip(*pair, strict=True)) > 2 for pair in zip(one, other, strict=True)
    )
    assert len(one) == len(other)
    assert different == 0


def test_lanes_are_grouped_by_process_with_names_of_threads(opened: Open) -> None:
    view = opened()
    assert lanes(view) == ["python", "worker-0", "worker-1", "main", "fetch 1", "fetch 2"]
    groups = view.page.locator(".group-row").all_inner_texts()
    assert groups[0].startswith("python shop.py")
    assert groups[1].startswith("Tasks of python") and groups[1].endswith("3 tasks")


def test_a_task_has_a_lane_whose_group_folds(opened: Open) -> None:
    view = opened()
    task = view.page.evaluate("""async () => {
        const {ask} = await import('/page/base/api.js');
        return (await ask('lanes', {trace: 0})).lanes.find((lane) => lane.name === 'fetch 1');
    }""")
    place = f"call={task['number']},{task['begin_ns']},0"
    view.open(f"{place}&begin={task['begin_ns']}&end={task['end_ns']}")
    view.loaded()
    assert view.page.locator("#tabpanel h2").inner_text().endswith("fetch")
    flows = view.page.locator(".flows").inner_text()
    assert flows.startswith("Task created by: not recorded") and "-e asyncio:task_create" in flows
    view.screenshot("tasks")
    view.page.locator(".group-row .fold").nth(1).click()
    view.settle()
    assert "fetch 1" not in lanes(view)


def test_a_kernels_cpus_have_lanes_above_its_threads(opened: Open) -> None:
    view = opened("trace=3")
    assert view.page.locator(".group-row bdi").all_inner_texts() == [
        "CPUs, instance two",
        "CPUs, instance one",
        "work 84, instance two",
        "work 84, instance one",
        "trace-cmd 78, instance two",
    ]
    names = view.page.locator(".lane-name bdi").all_inner_texts()
    assert names == ["CPU 0", "CPU 1", "CPU 0", "work", "work", "trace-cmd"]
    view.screenshot("kernel")
    view.open("trace=3&call=1048577,2880000,0&tab=text&begin=2800000&end=2930000&range=2870000,2900000")
    view.loaded()
    text = view.page.locator("#panel").inner_text()
    assert text.count("vfs_write") == 2 and "funcgraph report --task 84" in text
    view.screenshot("kernel-text")


def test_keys_zoom_and_move(opened: Open) -> None:
    view = opened()
    begin, end = view.part()
    view.press("w", "w")
    closer = view.part()
    assert begin < closer[0] < closer[1] < end
    view.press("d")
    later = view.part()
    assert later[0] > closer[0] and later[1] > closer[1]
    view.press("ArrowLeft")
    assert view.part() == pytest.approx(closer)
    view.press("s", "s", "s")
    assert view.part() == (begin, end)
    view.press("+", "0")
    assert view.part() == (begin, end)


def test_the_wheel_zooms_around_the_pointer_and_moves(opened: Open) -> None:
    view = opened()
    box = view.page.locator("#stage").bounding_box()
    begin, end = view.part()
    view.page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 50)
    time = begin + (end - begin) / 4
    view.page.keyboard.down("Control")
    view.page.mouse.wheel(0, -300)
    view.page.keyboard.up("Control")
    view.until(f"document.body.dataset.begin > {begin}")
    view.settle()
    part = view.part()
    assert part[0] + (part[1] - part[0]) / 4 == pytest.approx(time, rel=0.01)
    view.page.keyboard.down("Shift")
    view.page.mouse.wheel(0, 200)
    view.page.keyboard.up("Shift")
    view.until(f"document.body.dataset.begin > {part[0]}")
    view.settle()
    assert view.part()[1] - view.part()[0] == pytest.approx(part[1] - part[0])


def test_dragging_moves_and_dragging_with_shift_selects(opened: Open) -> None:
    view = opened()
    view.press("w", "w", "w")
    begin, _ = view.part()
    box = view.page.locator("#stage").bounding_box()
    x, y = box["x"] + 400, box["y"] + 150
    mouse = view.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 100, y, steps=2)
    mouse.up()
    view.settle()
    assert view.part()[0] < begin
    view.page.keyboard.down("Shift")
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + 100, y, steps=2)
    mouse.up()
    view.page.keyboard.up("Shift")
    from_ns, to_ns = map(int, view.state()["range"].split(","))
    part = view.part()
    assert to_ns - from_ns == pytest.approx((part[1] - part[0]) * 100 / box["width"], rel=0.1)
    assert (
        view.page.locator("#range")
        .inner_text()
        .startswith(view.module("base/times", f"m.duration({to_ns - from_ns})"))
    )
    view.screenshot("range")
    view.press("Escape")
    assert "range" not in view.state()


def test_the_minimap_moves_to_where_it_is_pressed(opened: Open) -> None:
    view = opened()
    view.press("w", "w", "w", "w", "w", "w")
    box = view.page.locator("#minimap").bounding_box()
    view.page.mouse.click(box["x"] + box["width"] * 0.9, box["y"] + 20)
    view.settle()
    begin, end = view.part()
    whole = view.module("base/api", "(await m.ask('traces')).traces[0].duration_ns")
    assert begin < 0.9 * whole < end


def test_hovering_names_the_call_and_its_duration(opened: Open) -> None:
    view = opened()
    text = hover(view, middle(view), 26 + 10 + 9)
    assert text.startswith("__main__.<module>") and "ms" in text and "level 0" in text and "shop.py:1" in text
    assert hover(view, middle(view), 5) == ""


def test_marks_of_exceptions_are_drawn_and_explained(opened: Open) -> None:
    view = opened()
    marks = view.module("base/api", "(await m.ask('marks', {lane: 1, begin: 0, end: 1e12})).marks")
    raised = [mark for mark in marks if mark["kind"] == "raise"]
    assert len(raised) == 3
    place = (
        view.page.locator("#labels .lane-row").nth(1).bounding_box()["y"]
        - view.page.locator("#stage").bounding_box()["y"]
    )
    begin, end = view.part()
    x = (raised[0]["time_ns"] - begin) / (end - begin) * middle(view) * 2
    assert "Exception of __main__.Shop.price" in hover(view, x, place + 4)
    view.page.mouse.move(5, 5)
    view.settle()
    red, green, blue = view.colour(x, place + 3)
    assert red > 150 and green < 90 and blue < 110


def test_zooming_in_asks_for_what_was_too_short_to_see(opened: Open) -> None:
    view = opened()
    view.find("fib")
    assert "__main__.fib" in view.page.locator(".call-head h2").inner_text()
    begin, end = view.part()
    call = view.state()["call"].split(",")
    assert begin < int(call[1]) < end
    assert view.page.evaluate("document.body.dataset.picture") == "complete"
    view.screenshot("zoomed")


def test_lanes_fold_pin_sort_and_filter(opened: Open) -> None:
    view = opened()
    height = view.page.locator("#labels .lane-row").nth(1).bounding_box()["height"]
    view.page.click("#lane-1")
    view.settle()
    assert view.page.get_attribute("#lane-1", "aria-expanded") == "false"
    assert view.page.locator("#labels .lane-row").nth(1).bounding_box()["height"] < height
    view.page.click("#pin-2")
    assert lanes(view)[:3] == ["worker-1", "python", "worker-0"]
    assert view.page.get_attribute("#pin-2", "aria-pressed") == "true"
    view.page.fill("#lane-filter", "worker-0")
    view.settle()
    assert lanes(view) == ["worker-0"]
    state = view.state()
    assert (state["folded"], state["pinned"], state["filter"]) == ("1", "2", "worker-0")
    view.page.fill("#lane-filter", "nothing")
    assert "Clear the filter" in view.page.locator("#empty").inner_text()
    view.page.fill("#lane-filter", "")
    view.page.select_option("#lane-sort", "name")
    view.page.click("#pin-2")
    assert lanes(view)[:3] == ["python", "worker-0", "worker-1"]
    view.page.click(".group-row .fold")
    assert "python" not in lanes(view)


def test_back_and_forward_and_links_lead_to_the_same_view(opened: Open) -> None:
    view = opened()
    view.press("w", "w", "Enter")
    view.page.wait_for_selector(".call-head")
    name, part = view.page.locator(".call-head h2").inner_text(), view.part()
    link = view.page.evaluate("location.hash")
    view.page.click("#show-all")
    view.settle()
    assert view.part() != part
    view.page.go_back()
    view.settle()
    assert view.part() == pytest.approx(part, abs=1)
    view.page.go_back()
    view.page.wait_for_selector(".hint")
    view.page.go_forward()
    view.page.wait_for_selector(".call-head")
    other = opened(link.removeprefix("#"))
    other.page.wait_for_selector(".call-head")
    assert other.page.locator(".call-head h2").inner_text() == name
    assert other.part() == pytest.approx(part, abs=1)


def test_anything_in_the_address_is_a_view(opened: Open) -> None:
    view = opened("trace=99&begin=x&end=-5&call=1,2&range=9,3&pinned=a,b&tab=nothing&q=%00&shape=odd")
    assert lanes(view)[:3] == ["python", "worker-0", "worker-1"]


def test_500_lanes_and_20000_levels_stay_usable(opened: Open) -> None:
    view = opened("trace=2")
    assert len(lanes(view)) == 501
    view.screenshot("500-lanes")
    view.page.click("#deep-0")
    view.settle()
    scroll = "document.getElementById('scroll')"
    view.page.evaluate(f"{scroll}.scrollTop = 26 + 10 + 15000 * 18")
    view.settle()
    begin, end = view.part()
    question = "{trace: 2, lane: 0, begin: 0, end: 1e9, pixels: 1000, first: 15002, last: 15002}"
    places = view.module(
        "base/api", f"m.askSpans({question}).then((rows) => [rows.begin[0], rows.end[rows.n - 1]])"
    )
    time = sum(places) / 2
    assert "__main__.deep" in hover(view, middle(view) * 2 * (time - begin) / (end - begin), 40)
    view.screenshot("deep")


def test_text_of_200_percent_breaks_nothing(opened: Open) -> None:
    """Rows are as high as their text. Broken by rows of 18 pixels: their names lie on each other."""
    view = opened(viewport={"width": 900, "height": 1100})
    outermost = hover(view, middle(view), 26 + 10 + 9).splitlines()[0]
    view.page.evaluate("document.documentElement.style.fontSize = '26px'")
    view.settle()
    width = view.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]
    assert hover(view, middle(view), 2 * (26 + 10) + 27).splitlines()[0] == outermost
    view.screenshot("text-200")
