"""Native functions below Python ones, as each reader of a trace shows them: by name, with their object.

Broken by hand: functions were named without their object; speedscope, otlp and firefox took the number that a
native function has in the place of its line.
"""

from __future__ import annotations

import json
import pstats
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Funcgraph
from counter import COUNTER
from exported import READERS, attributes, figures_of_summary, firefox_profile, head_of, otlp_spans
from planned import build, needs_decoder

from export.conftest import Ran

pytestmark = [needs_decoder, pytest.mark.one_python]

PROGRAM = """
    import ctypes, sys
    library = ctypes.CDLL(sys.argv[1])

    def outer(n):
        return library.walk(n)

    print(outer(6), outer(1))
"""
CALLS = {"__main__.outer": 2, "walk [libcounter]": 2, "step [libcounter]": 8}


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory, plans: Path) -> Path:
    """Return a trace of native calls below Python ones."""
    folder = tmp_path_factory.mktemp("native")
    fg = Funcgraph(folder, folder)
    fg.env["XDG_CACHE_HOME"] = str(plans)
    library = build(folder, COUNTER, "-Wl,--build-id", language="c", name="libcounter.so")
    filters = [word for name in ("walk", "step") for word in ("-l", f"{name}:mod:libcounter")]
    done = fg.record("-l", "__main__.outer", *filters, fg.script(PROGRAM), library)
    assert (done.returncode, done.stdout) == (0, "8 0\n"), done.stderr
    return fg.trace


@pytest.mark.parametrize("form", READERS)
def test_an_export_has_their_names_counts_and_times(
    form: str, native: Path, export: Callable[..., Path], summary: Callable[..., dict[str, Any]]
) -> None:
    suffix, read = READERS[form]
    found = read(export(native, form, suffix))
    expected = figures_of_summary(summary(native))
    assert found.stretches == expected.stretches == CALLS
    assert found.self_ns == expected.self_ns


@pytest.mark.parametrize(
    ("form", "suffix"), [("svg", ".svg"), ("callgrind", ".callgrind"), ("dot", ".dot"), ("mermaid", ".mmd")]
)
def test_a_text_has_their_names(form: str, suffix: str, native: Path, export: Callable[..., Path]) -> None:
    text = export(native, form, suffix).read_text()
    if form == "mermaid":
        text = re.sub(r"#(\d+);", lambda number: chr(int(number[1])), text)
    for name in CALLS:
        assert name in text


def test_stacks_have_them_below_their_callers(native: Path, export: Callable[..., Path]) -> None:
    text = export(native, "collapsed", ".folded").read_text()
    stacks = {line.rpartition(" ")[0] for line in text.splitlines()}
    assert {stack[stack.index("__main__") :] for stack in stacks} == {
        "__main__.outer",
        "__main__.outer;walk [libcounter]",
        "__main__.outer;walk [libcounter];step [libcounter]",
    }


def test_the_page_has_them(native: Path, export: Callable[..., Path]) -> None:
    head = json.dumps(head_of(export(native, "html", ".html").read_text()))
    assert all(name in head for name in CALLS)


def test_a_profile_of_python_has_their_callers(native: Path, export: Callable[..., Path]) -> None:
    """Without a file and a line, as C functions in cProfile."""
    stats = pstats.Stats(str(export(native, "pstats", ".pstats"))).stats  # type: ignore[attr-defined]
    called = {name[2]: (name[:2], {caller[2] for caller in stats[name][4]}) for name in stats}
    assert called["walk [libcounter]"] == (("~", 0), {"__main__.outer"})
    assert called["step [libcounter]"] == (("~", 0), {"walk [libcounter]"})


def test_they_have_no_source_file_and_line(native: Path, export: Callable[..., Path]) -> None:
    frames = json.loads(export(native, "speedscope", ".speedscope.json").read_text())["shared"]["frames"]
    lines = {frame["name"]: "file" in frame or "line" in frame for frame in frames}
    spans = otlp_spans(export(native, "otlp", ".otlp.jsonl"))
    has_place = {
        span.name: {"code.file.path", "code.line.number"} & attributes(span).keys() for span in spans
    }
    for name in CALLS:
        assert lines[name] == bool(has_place[name]) == (name == "__main__.outer")


def test_firefox_has_them_in_a_category(native: Path, export: Callable[..., Path]) -> None:
    profile = firefox_profile(export(native, "firefox", ".json.gz"))
    (thread,) = profile["threads"]
    frames, functions = thread["frameTable"], thread["funcTable"]
    found = {
        thread["stringArray"][functions["name"][function]]: (
            profile["meta"]["categories"][category]["name"],
            functions["fileName"][function] is None,
        )
        for function, category in zip(frames["func"], frames["category"], strict=True)
    }
    assert found == dict.fromkeys(CALLS, ("Native", True)) | {"__main__.outer": ("Python", False)}


def test_trace_cmd_and_report_have_them_of_a_trace_dat(
    native: Path, export: Callable[..., Path], command: Callable[..., Ran]
) -> None:
    path = export(native, "trace-dat", ".dat")
    report = command("report", path).out
    assert [report.count(f"{name}()") for name in CALLS] == [*CALLS.values()]
    assert report == command("report", native).out
    if shutil.which("trace-cmd"):
        printed = subprocess.run(["trace-cmd", "report", path], capture_output=True, text=True, check=True)
        names = ("__main__.outer()", "libcounter.walk()", "libcounter.step()")
        assert [printed.stdout.count(name) for name in names] == [*CALLS.values()]


def test_a_query_has_them(native: Path, command: Callable[..., Ran]) -> None:
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    query = """
        select below.function as name, above.function as caller, count(*) as n, min(below.depth) as depth
        from calls below left join calls above on below.parent = above.id group by all order by depth"""
    ran = command("sql", "--json", native, query)
    assert ran.status == 0, ran.err
    assert json.loads(ran.out) == [
        {"name": "__main__.outer", "caller": None, "n": 2, "depth": 0},
        {"name": "walk [libcounter]", "caller": "__main__.outer", "n": 2, "depth": 1},
        {"name": "step [libcounter]", "caller": "walk [libcounter]", "n": 8, "depth": 2},
    ]


def test_summary_and_diff_have_them(native: Path, command: Callable[..., Ran]) -> None:
    for words, first in ((["summary", native], "CALLS"), (["diff", native, native], "CALLS A")):
        ran = command(*words)
        assert ran.status == 0, ran.err
        assert ran.out.startswith(first)
        rows = {line.rpartition("  ")[2]: line.split()[0] for line in ran.out.splitlines()}
        assert {name: int(rows[name]) for name in CALLS} == CALLS
