"""Promise: in Jupyter, `%%funcgraph` records a cell and shows its calls below it; the cell's results, errors
and names stay as they are without it. docs/guides/notebooks.md shows what is printed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import funcgraph
from funcgraph.view import notebook_html
from notebooks.cells import PAGE, Outputs, page_cells

pytestmark = pytest.mark.one_python

Below = Callable[[str], Outputs]


def functions(table: str) -> list[str]:
    """Return the functions of a summary."""
    return re.findall(r"\d [mnu]?s  (__main__\.\S+)$", table, re.MULTILINE)


def test_a_cell_prints_what_the_page_shows(outputs: Below) -> None:
    """But for the times."""
    (shown,) = re.findall(r"```\n(9\nCALLS.*?)```", PAGE.read_text(), re.DOTALL)
    value, table = outputs(page_cells()[2]).texts

    def plain(text: str) -> list[list[str]]:
        return [re.sub(r"[\d.]+ [mnu]?s", "TIME", line).split() for line in text.splitlines()]

    assert sorted(plain(f"{value}\n{table}")) == sorted(plain(shown))


def test_a_failing_cell_has_its_own_traceback_and_its_calls(outputs: Below) -> None:
    error, table = outputs(page_cells()[3]).texts
    places = re.findall(r"In\[(\d+)\], line (\d+)", error)
    assert places == [("4", "2"), ("2", "10"), ("2", "10"), ("2", "4")]
    assert "KeyError: 'cup'" in error
    failed = {"__main__.checkout", "__main__.checkout.<locals>.<genexpr>", "__main__.price"}
    assert set(functions(table)) == failed


@pytest.mark.parametrize(("cell", "title"), [(4, "RecordBlock"), (5, "Trace"), (6, "Instance")])
def test_other_objects_have_a_page(outputs: Below, cell: int, title: str) -> None:
    below = outputs(page_cells()[cell])
    assert title in below.texts[0]
    text, frame = below.html[0].split("<iframe ")
    assert title in text
    assert "__main__.checkout" in text
    assert 'id="embedded-trace"' in html.unescape(frame)


@pytest.mark.filterwarnings("ignore:funcgraph. nothing matched")
def test_objects_without_a_trace_have_their_text_alone(tmp_path: Path) -> None:
    path = str(tmp_path / "t.fg")
    recording = funcgraph.record(path, filter=["no.such.function"])
    assert recording._repr_html_() is None
    assert repr(recording) == f"<funcgraph.RecordBlock {path!r}, not started>"
    with recording:
        assert recording._repr_html_() is None
        assert "in progress" in repr(recording)
    assert "complete" in (recording._repr_html_() or "")
    trace = funcgraph.open(path)
    trace.close()
    assert trace._repr_html_() is None
    with open(path, "rb") as file:
        trace = funcgraph.open(file.fileno())
    assert "0 functions" in (trace._repr_html_() or "")
    instance = funcgraph.Instance("shown")
    assert "shown" in (instance._repr_html_() or "")
    instance.close()
    assert instance._repr_html_() is None


def test_the_page_is_in_a_frame_that_reaches_nothing(outputs: Below) -> None:
    """Without scripts the text is left, which is before it."""
    (text,) = outputs(page_cells()[2]).html
    before, _, frame = text.partition("<iframe ")
    assert re.fullmatch(r"<pre style=[^>]*>[^<]*</pre>\n", before)
    assert functions(html.unescape(before))
    page, _, attributes = frame.removeprefix('srcdoc="').partition('"')
    assert attributes.startswith(' sandbox="allow-scripts" ')
    assert "<" not in page
    assert html.unescape(page).startswith("<!doctype html>")


def test_await_works_in_a_recorded_cell(outputs: Below) -> None:
    value, table = outputs("await").texts
    assert value == "2"
    assert functions(table) == ["__main__.later"]


def test_an_interrupted_cell_is_shown(outputs: Below) -> None:
    error, table = outputs("interrupted").texts
    assert "KeyboardInterrupt" in error
    assert functions(table) == ["__main__.wait"]


def test_the_threads_of_the_kernel_are_not_recorded(outputs: Below) -> None:
    """Broken by recording what sends the output."""
    printed, table = outputs("printing").texts
    assert printed.split() == [str(number) for number in range(100)]
    assert not re.search("zmq|tornado|ipykernel|asyncio", table)


def test_the_display_of_the_value_is_not_recorded(outputs: Below) -> None:
    value, table = outputs("display").texts
    assert value == "shown"
    assert functions(table) == []


def test_a_semicolon_hides_the_value(outputs: Below) -> None:
    (table,) = outputs("silent").texts
    assert functions(table) == ["__main__.price"]


def test_another_magic_can_follow(outputs: Below) -> None:
    assert "Wall time" in outputs("time").texts[0]
    assert outputs("time").texts[1] == "4"
    assert functions(outputs("time").texts[2]) == ["__main__.price"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("quotes", "-l 'a: No closing quotation"),
        ("option", "unrecognized arguments: --argz; did you mean '--args'? (see '%%funcgraph --help')"),
        ("folder", "/nowhere/x.fg: no folder /nowhere"),
    ],
)
def test_a_wrong_option_is_one_line_and_the_cell_does_not_run(
    outputs: Below, cell: str, message: str
) -> None:
    (text,) = outputs(cell).texts
    assert text == f"UsageError: %%funcgraph: {message}\n"
    assert "'ran'" not in outputs("names").texts[0]


def test_the_help_lists_the_options_of_record(outputs: Below) -> None:
    text = outputs("help").texts[0]
    assert "-l PATTERN" in text
    assert "-o FILE" in text


def test_a_trace_is_kept_only_if_it_has_a_name(outputs: Below) -> None:
    assert functions(outputs("kept").texts[1]) == ["__main__.price"]
    assert outputs("left").texts == ["[]"]


def test_a_trace_without_calls_has_a_text_alone(outputs: Below) -> None:
    value, table = outputs("nothing").texts
    assert value == "1"
    assert "0 functions" in table
    assert "no.such.function" in table
    assert "<iframe" not in outputs("nothing").html[0]


def test_a_large_page_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def double(n: int) -> int:
        return 2 * n

    with funcgraph.record(tmp_path / "t.fg", filter=["*.double"]) as recording:
        for n in range(20_000):
            double(n)
    size = len(recording._repr_html_() or "")
    monkeypatch.setattr(notebook_html, "_MOST_BYTES", 200_000)  # a page without any call has more
    text = recording._repr_html_()
    assert text is not None
    assert len(text) < size
    assert "calls shorter than" in text.partition("<iframe")[0]
    assert "are shown only as how much time they take" in text.partition("<iframe")[0]
    monkeypatch.setattr(notebook_html, "_MOST_BYTES", 20_000)
    text = recording._repr_html_()
    assert text is not None
    assert "<iframe" not in text
    assert "the page is not shown: it has " in text
    monkeypatch.setattr(notebook_html, "_MOST_EVENTS", 39_999)
    assert "the page is not shown: the trace has 40,000 events" in (recording._repr_html_() or "")


def test_no_name_of_ours_is_left(outputs: Below) -> None:
    assert outputs("names").texts == ["['funcgraph']"]  # the page imports it


def test_the_magic_can_be_unloaded(outputs: Below) -> None:
    assert "Cell magic `%%funcgraph` not found" in outputs("after").texts[0]
