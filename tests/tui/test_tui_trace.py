"""Promise: the terminal viewer answers as the browser's does; each view is as its picture in screens/, at 80
and 200 columns; names are text, and figures are never cut.

FG_WRITE_SCREENS=1 writes the pictures: look at them before they are committed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("textual", reason="textual is not there for this CPython")

from funcgraph.names import printable
from funcgraph.tui.cells import Columns, fit
from funcgraph.tui.filters import Filters
from funcgraph.tui.queries import Queries
from funcgraph.tui.report_pages import ReportPages
from funcgraph.tui.trace_viewer import TraceViewer
from funcgraph.view.served import Served
from tui.running import BEGIN, EVIL, HOSTILE, MAIN, ROUNDS, US, screens, trace_of

SCREENS = Path(__file__).parent / "screens"
HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    one = Served(0, str(trace_of(tmp_path_factory.mktemp("tui") / "trace.dat")))
    one.start()
    one.index()
    yield one
    one.close()


def shown(served: Served, *steps: list[str], width: int = 80, height: int = 24) -> list[list[str]]:
    return screens(TraceViewer(served), (width, height), *steps)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50)])
def test_each_view_is_as_its_picture(served: Served, width: int, height: int) -> None:
    steps = {
        "table": ["1"],
        "tree": ["2", "E"],
        "callers": ["1", "enter"],
        "text": ["4", "j"],
        "call": ["1", "d"],
    }
    pictures = shown(served, *steps.values(), ["question_mark"], width=width, height=height)
    for name, lines in zip([*steps, "help"], pictures, strict=True):
        picture = SCREENS / f"{width}-{name}.txt"
        text = "".join(f"{line}\n" for line in lines)
        assert not HARMFUL.search("".join(lines))
        if os.environ.get("FG_WRITE_SCREENS"):
            picture.write_text(text)
        assert text == picture.read_text()


def test_search_finds_what_is_in_closed_branches_and_goes_round(served: Served) -> None:
    """Broken by: a search of the lines that are seen alone."""
    closed, found, again, before, none = shown(
        served, ["2", "C"], ["slash", " many_", "enter"], ["n"], ["N"], ["slash", " qqq", "enter"]
    )
    assert "many_" not in "".join(closed)
    assert "many_" in "".join(found[:-1])
    assert found[:-1] == again[:-1] == before[:-1]  # it is the only one
    assert none[-1].startswith("not found: qqq")


def test_search_in_the_text_goes_from_page_to_page(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken by: a search of the page alone, or of what comes after it alone."""
    monkeypatch.setattr(ReportPages, "MOST_CALLS", 10)
    last = f"[red]{ROUNDS - 1}\\x1b"
    first, found, back, end = shown(
        served, ["4"], ["slash", f" {last}", "enter"], ["slash", " [red]0", "enter", "N"], ["G"], width=200
    )
    assert "[red]0" in "".join(first) and last not in "".join(first)
    assert last in "".join(found) and "[red]0" not in "".join(found)
    assert "[red]0" in "".join(back)
    assert "} /* app.main */" in "".join(end)


def test_filters_are_for_each_view(served: Served) -> None:
    end = (BEGIN + 8 * US) / 1e9
    table, tree, part, thread, all_again = shown(
        served,
        ["1", "ampersand", " main", "enter"],
        ["2", "E"],
        ["1", "t", f" +0 {end:.9f}", "enter"],
        ["T", " 101", "enter"],
        ["ampersand", *(["backspace"] * 4), "enter"],
    )
    assert [line.split()[:2] for line in table[2:4]] == [["app.main", "2"], []]
    assert "&main" in table[-1] and "app.main" in tree[2]
    assert part[2].split()[:2] == ["app.main", "2"] and "us" in part[2]
    assert thread[2].split()[:2] == ["app.main", "1"] and "thread 101" in thread[-1]
    assert len([line for line in all_again[2:-1] if line]) == 4


@pytest.mark.parametrize(
    ("key", "answer", "message"),
    [
        ("t", "soon", "time 'soon': must be seconds"),
        ("t", "+1 +2 +3", "a time range has one or two times, got 3"),
        ("T", "102", "no thread matches '102': there is 100 main"),
        ("T", "nobody", "no thread matches 'nobody'"),
    ],
)
def test_a_bad_answer_is_one_sentence(served: Served, key: str, answer: str, message: str) -> None:
    (lines,) = shown(served, [key, f" {answer}", "enter"], width=200)
    assert lines[-1].startswith(message)
    assert lines[2]  # the table is as it was


def test_sorting_goes_through_the_columns(served: Served) -> None:
    *_, by_max, by_name, backwards = shown(served, ["s"], ["S", "S", "S", "S"], ["r"])
    assert by_max[-1].startswith("sorted by max")
    assert by_name[-1].startswith("sorted by function")
    assert by_name[2:6] == backwards[5:1:-1]


def test_a_call_has_neighbours(served: Served) -> None:
    first, second, last = shown(
        served, ["slash", " bold", "enter", "d"], ["right_square_bracket"], ["left_square_bracket"]
    )
    assert first[2].startswith("app.[bold]x[/bold]<b>")
    assert "value='[red]" in "".join(first)
    assert first[3] == last[3] != second[3]


# ---- the text's pages


def test_pages_are_the_whole_report_in_both_directions(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken by: a page that ends within a call without callees, or lines that are in two pages."""
    monkeypatch.setattr(ReportPages, "MOST_CALLS", 10)
    pages = ReportPages(Queries(served), Filters(lane=0))
    forward = [pages.first(), *pages.further(pages.first(), 1)]
    backward = [pages.last(), *pages.further(pages.last(), -1)]
    task = served.lane(0).task
    report = b"".join(served.reader().report(tasks=[task])).decode("utf-8", "backslashreplace").splitlines()
    whole = [_words(line) for line in report if not line.startswith("#")]
    for found in (forward, backward[::-1]):
        assert len(found) > ROUNDS // 4
        assert [_words(page.line(number, 80)) for page in found for number in range(len(page))] == whole
        assert max(map(len, found)) <= 4 * ReportPages.MOST_CALLS


def _words(line: str) -> str:
    """Return a line without its layout. A call that began in another page has its name at the end."""
    return " ".join(printable(line).removesuffix(" /* app.main */").split())


# ---- lines


def test_figures_are_whole_at_each_width_and_names_lose_their_middle() -> None:
    columns = Columns(("calls", "total"), [("1,234,567", "123.456 ms")])
    for cells in range(20, 120):
        line = columns.line(
            "package.module.Class.method", ("1,234,567", "123.456 ms"), cells, depth=cells % 40
        )
        assert line.endswith("  1,234,567  123.456 ms")
    assert fit("package.module.Class.method", 20) == "packag..Class.method"
    assert fit("\u5e83" * 30, 21).startswith("\u5e83" * 3)
    assert fit(HOSTILE, 200) == "[bold]x[/bold]<b>\\x1b]0;x\\x07\\u202e\\udc80"


def test_the_viewer_has_no_server() -> None:
    code = "import sys, funcgraph.tui.trace_viewer; print({'starlette', 'uvicorn'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_answers_are_those_of_the_page(served: Served) -> None:
    queries = Queries(served)
    assert queries.ask("longest", function=EVIL, most=1)["calls"][0]["function"] == EVIL
    assert queries.ask("butterfly", function=MAIN)["calls"] == 2
