"""Functions of the page's modules that need no page: times, colours, layout, names, the address."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

Open = Callable[..., Any]


@pytest.fixture
def page(opened: Open) -> Any:
    return opened()


def test_times_have_units_that_people_read(page: Any) -> None:
    numbers = [
        0,
        7,
        999,
        1000,
        12_345,
        999_600,
        1_234_567,
        59_000_000_000,
        125_000_000_000,
        90_000_000_000_000,
        365 * 86400 * 10**9,
    ]
    shown = "0 ns, 7 ns, 999 ns, 1.00 µs, 12.3 µs, 1.00 ms, 1.23 ms, 59.0 s, 2 min 5 s, 25 h 0 min, 365 d 0 h"
    assert page.module("base/times", f"{numbers}.map(m.duration)") == shown.split(", ")
    assert page.module("base/times", "m.exact(61211326).replaceAll('\\u202f', ' ')") == "61.211 326 ms"
    assert page.module("base/times", "m.percent(1, 8)") == "12.5%"
    year = 365 * 86400 * 10**9
    assert page.module("base/times", f"m.tick({year} / 5, m.axisStep({year} / 1000, 110))") == "73 d"
    steps = page.module(
        "base/times", "[0.3, 7, 5e3, 1e6, 3e8, 1e11].map((each) => m.axisStep(each, 100) / (each * 100))"
    )
    assert all(1 <= step <= 10 for step in steps)


def test_the_colour_of_a_module_is_stable_and_its_names_can_be_read(page: Any) -> None:
    names = [f"package{n}.module.function{n}" for n in range(200)]
    for dark, text in ((False, [27, 31, 36]), (True, [243, 240, 234])):
        code = (
            f"{json.dumps(names)}.map((name) => m.contrast(m.colourOf({{name, module: name.slice(0, -9), "
            f"native: name.endsWith('7')}}, {json.dumps(dark)}), {text}))"
        )
        assert min(page.module("base/colours", code)) >= 4.5
    same = "JSON.stringify(m.colourOf({name: 'shop.f', module: 'shop'}, false))"
    assert page.module("base/colours", same) == opened_again(page, same)
    modules = "['json', 'asyncio', 'shop', 'sqlite3', 'http']"
    colours = f"new Set({modules}.map((name) => String(m.colourOf({{name, module: name}}, false))))"
    assert page.module("base/colours", f"{colours}.size") == 5


def opened_again(page: Any, code: str) -> Any:
    return page.open().module("base/colours", code)


def test_hidden_characters_are_shown_and_long_names_cut(page: Any) -> None:
    shown = page.module("base/names", "m.visible('a\\u202eb\\x07\\u200b\\ud800c\\u{1f600}')")
    assert shown == "a<U+202E>b␇<U+200B><U+D800>c😀"
    assert len(page.module("base/names", "m.visible('x'.repeat(1e6))")) == 301
    assert page.module("base/names", "m.shortName('shop.Shop.run.<locals>.f', 'shop')") == "Shop.run.f"


def test_zooming_keeps_the_time_under_the_pointer(page: Any) -> None:
    whole = "{begin: 0, end: 1e9}"
    part = page.module("timeline/window", f"m.zoomed({{begin: 2e8, end: 6e8}}, 0.5, 3e8, {whole})")
    assert part == {"begin": 2.5e8, "end": 4.5e8}
    assert page.module("timeline/window", f"m.zoomed({{begin: 0, end: 1e9}}, 50, 5e8, {whole})") == {
        "begin": 0,
        "end": 1e9,
    }
    least = page.module("timeline/window", f"m.zoomed({{begin: 5, end: 30}}, 1e-9, 10, {whole})")
    assert least["end"] - least["begin"] == pytest.approx(20)
    moved = page.module("timeline/window", f"m.moved({{begin: 9.5e8, end: 10e8}}, 5, {whole})")
    assert moved["end"] == pytest.approx(1.02e9)


def test_small_moves_need_no_further_request(page: Any) -> None:
    whole = "{begin: 0, end: 1e12}"
    parts = "Array.from({length: 40}, (_, i) => ({begin: 1e9 + i * 1e6, end: 1.1e9 + i * 1e6}))"
    pieces = page.module("timeline/window", f"{parts}.map((part) => m.piece(part, 1000, {whole}))")
    assert len({json.dumps(piece) for piece in pieces}) <= 2
    for i, piece in enumerate(pieces):
        assert piece["begin"] <= 1e9 + i * 1e6
        assert piece["end"] >= 1.1e9 + i * 1e6
        assert (piece["end"] - piece["begin"]) / piece["pixels"] <= 1e8 / 1000
        assert piece["pixels"] < 16384


def test_rows_out_of_order_are_put_in_order(page: Any) -> None:
    code = """(() => {
        const n = 3, buffer = new ArrayBuffer(8 + 3 * 24 + 3 * 16 + 2 * 8), at = new DataView(buffer);
        at.setUint32(0, 0x31534746, true); at.setUint32(4, n, true);
        [30, 10, 20].forEach((begin, i) => {
            at.setFloat64(8 + 8 * i, begin, true); at.setFloat64(32 + 8 * i, begin + 5, true);
            at.setUint32(96 + 4 * i, i, true); at.setUint32(80 + 4 * i, 1, true);
        });
        const spans = m.decodeSpans(buffer);
        const found = [[12, 0], [17, 0], [17, 3]].map(([time, within]) => m.rowAt(spans, 0, time, within));
        return [[...spans.begin], [...spans.function], found];
    })()"""
    assert page.module("base/spans", code) == [[10, 20, 30], [1, 2, 0], [0, -1, 0]]
    with pytest.raises(Exception, match="not an answer with spans"):
        page.module("base/spans", "m.decodeSpans(new ArrayBuffer(16))")


def test_a_merged_tree_is_placed_by_time(page: Any) -> None:
    code = """(async () => {
        const {treeOf} = await import('/page/views/question.js');
        const tree = treeOf([[-1, 0, 1, 100, 10, 0], [0, 1, 2, 30, 30, 0], [0, 2, 1, 60, 60, 1]]);
        return m.placeNodes(tree, null, 200).map(({node, level, x, width}) => [node.func, level, x, width]);
    })()"""
    assert page.module("views/flame", f"await {code}") == [[0, 0, 0, 200], [2, 1, 0, 120], [1, 1, 120, 60]]


def test_the_address_holds_what_it_is_given_and_nothing_else(page: Any) -> None:
    values = {
        "begin": 5,
        "end": 90,
        "call": {"lane": 1, "time": 7, "depth": 2},
        "range": {"begin": 1, "end": 9},
        "folded": [1, 2],
        "q": "a&b=c#d",
        "merge": True,
    }
    assert page.module("base/state", f"m.parse(m.format({json.dumps(values)}))") == values
    assert page.module("base/state", "m.parse('#begin=NaN&folded=1,x,2&evil=1&call=1,2,-3')") == {
        "folded": [1, 2],
        "call": None,
    }


def test_bins_that_are_empty_are_shown(page: Any) -> None:
    bins = page.module("views/histogram", "m.filledBins([[0, 1], [1, 2], [8, 3]])")
    assert [(row["least"], row["count"]) for row in bins] == [(0, 1), (1, 2), (2, 0), (4, 0), (8, 3)]
    assert page.module("views/histogram", f"m.binOf({json.dumps(bins)}, 5)") == 3


def test_many_boxes_are_one_call_of_the_driver_and_the_same_picture_as_by_the_canvas(page: Any) -> None:
    """Without a GPU a call takes ten microseconds. Broken by an instance for each box, and by a texture of
    one row. A second picture has more boxes than the first, so that the textures grow."""
    found = page.page.evaluate("""async () => {
        const {GlBoxes} = await import('/page/timeline/gl_boxes.js');
        const {CanvasBoxes} = await import('/page/timeline/canvas_boxes.js');
        const {Boxes} = await import('/page/timeline/layout.js');
        const canvas = () => Object.assign(document.createElement('canvas'), {width: 300, height: 200});
        const painters = [new GlBoxes(canvas()), new CanvasBoxes(canvas())], {gl} = painters[0];
        let calls = 0;
        for (const name of ['drawArrays', 'drawElements', 'drawArraysInstanced', 'drawElementsInstanced']) {
            const draw = gl[name].bind(gl);
            gl[name] = (...words) => {
                calls += name.endsWith('Instanced') ? words.at(-1) : 1;
                return draw(...words);
            };
        }
        const different = [];
        for (const n of [3, 2048, 5000]) {
            const boxes = new Boxes();
            for (let i = 0; i < n; i++)
                boxes.add((i % 100) * 3, Math.floor(i / 100) * 4, 2, 3, [i & 255, i >> 8, 7], 255);
            const [one, other] = painters.map((painter) => {
                painter.draw(boxes, 300, 200);
                const copy = canvas().getContext('2d');
                copy.drawImage(painter.canvas, 0, 0);
                return copy.getImageData(0, 0, 300, 200).data;
            });
            different.push(one.reduce((sum, value, i) => sum + (Math.abs(value - other[i]) > 1), 0));
        }
        return {calls, different, error: gl.getError()};
    }""")
    assert found == {"calls": 3, "different": [0, 0, 0], "error": 0}
