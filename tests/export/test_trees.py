"""Formats of figures: what their own readers find in them is what `funcgraph summary` prints."""

from __future__ import annotations

import cProfile
import io
import json
import marshal
import os
import pstats
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest
from exported import head_of
from hypothesis import given, settings
from tracedata.programs import STEPS, Program, Step
from tracefile import RAISE, RESUME, SUSPEND, Trace

import funcgraph
from export import recursive_program
from funcgraph.export import export_trace
from funcgraph.export.format import ExportError
from funcgraph.export.formats import find_format
from funcgraph.export.source import Source
from funcgraph.tracedata import TraceFile
from funcgraph.tracedata.summary import FunctionSummary

pytestmark = pytest.mark.one_python

TREE_FORMATS = ("collapsed", "svg", "html", "pstats", "callgrind", "dot", "mermaid")

HOSTILE = (
    "plain", "<b>&amp;</b>", "</script><!--", "]]>", "quote\"'`", "semi;colon", "a b 12", "new\nline",
    "tab\t\r", "\x1b[31mred", "nul\0", "sur\udc80", "ünï→", "(1) name", "back\\slash\\n", "#quot;#35;",
    "%s {0} $x", "{|}", "+3 4", "calls=3 4", "fn=(1)", "\ufffe\uffff", "\u202eright", "",
)  # fmt: skip


def hostile_trace(path: Path) -> Path:
    """Write a trace with recursion, threads, exceptions and a generator that two callers run."""
    trace = Trace([("m", name, f"/src/<{name}>.py", 10 + n, 0, []) for n, name in enumerate(HOSTILE)])
    first, second = trace.task(1, pid=1), trace.task(2, pid=1)
    now = 1_000
    for n in range(len(HOSTILE)):
        begin = now
        inner = (n + 1) % len(HOSTILE)
        first.enter(begin, n, 0)
        first.enter(begin + 100, inner, 1)
        first.enter(begin + 200, n, 2)
        first.leave(begin + 700, n, 2, calltime=begin + 200, kind=RAISE)
        first.leave(begin + 800 + n, inner, 1, calltime=begin + 100)
        first.leave(begin + 1_000 + n, n, 0, calltime=begin)
        now += 3_000
    second.enter(now, 1, 0)
    second.enter(now + 10, 0, 1)
    second.leave(now + 60, 0, 1, calltime=now + 10, kind=SUSPEND, start=now + 10)
    second.leave(now + 100, 1, 0, calltime=now)
    first.enter(now + 200, 2, 0)
    first.enter(now + 210, 0, 1, kind=RESUME, start=now + 10)
    first.leave(now + 290, 0, 1, calltime=now + 210, start=now + 10)
    first.leave(now + 300, 2, 0, calltime=now + 200)
    return trace.save(path)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_trace(tmp_path_factory.mktemp("hostile") / "trace.dat")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("trees") / "trace.dat"


def exported(path: Path, form: str) -> bytes:
    file = io.BytesIO()
    export_trace(path, file, form)
    return file.getvalue()


def summary(path: Path) -> dict[str, FunctionSummary]:
    rows = {row.name: row for row in TraceFile(path).summary()}
    assert rows
    return rows


def unescaped(text: str) -> str:
    """Undo the escapes of names."""
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    pattern = r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([ntr]))"
    return re.sub(pattern, lambda m: escapes[m[4]] if m[4] else chr(int(m[1] or m[2] or m[3], 16)), text)


# ---- collapsed stacks


def read_collapsed(data: bytes) -> dict[tuple[str, ...], int]:
    """Read the lines as flamegraph.pl does: what comes after the last space is the number."""
    found = {}
    for line in data.decode().split("\n")[:-1]:
        match = re.fullmatch(r"(.*)\s+?(\d+)", line)
        assert match, line
        found[tuple(map(unescaped, match[1].split(";")))] = int(match[2])
    return found


def test_collapsed_stacks_add_up_to_self_times(hostile: Path) -> None:
    sums: Counter[str] = Counter()
    stacks = read_collapsed(exported(hostile, "collapsed"))
    for stack, value in stacks.items():
        sums[stack[-1]] += value
    assert dict(sums) == {name: row.self_ns for name, row in summary(hostile).items() if row.self_ns}
    assert stacks["m.plain", "m.<b>&amp;</b>", "m.plain"] == 500
    assert {stack for stack in stacks if len(stack) == 1} == {(f"m.{name}",) for name in HOSTILE}


@settings(max_examples=25, deadline=None)
@given(steps=STEPS)
def test_collapsed_stacks_of_random_programs_add_up(scratch: Path, steps: list[Step]) -> None:
    program = Program([*steps, Step(0, "call", 0, 5), Step(0, "return", 0, 5)])
    program.trace.save(scratch)
    sums: Counter[str] = Counter()
    for stack, value in read_collapsed(exported(scratch, "collapsed")).items():
        sums[stack[-1]] += value
    assert dict(sums) == {name: f.self for name, f in program.figures.items() if f.self}


# ---- SVG


def boxes(data: bytes) -> list[tuple[str, str, float, float, float]]:
    """Return name, details, x, y and width of each box."""
    space = "{http://www.w3.org/2000/svg}"
    found = []
    for group in ElementTree.fromstring(data).iter(f"{space}g"):
        if group.get("class") != "box":
            continue
        title, rect = group.find(f"{space}title"), group.find(f"{space}rect")
        assert title is not None and title.text is not None and rect is not None
        name, details = title.text.split("\n")
        x, y, width = (float(rect.get(key, "")) for key in ("x", "y", "width"))
        found.append((unescaped(name), details, x, y, width))
    return found


def test_the_boxes_of_an_svg_have_summarys_calls_and_are_as_wide_as_their_times(hostile: Path) -> None:
    found = boxes(exported(hostile, "svg"))
    rows = summary(hostile)
    calls: Counter[str] = Counter()
    for name, details, _, _, _ in found[1:]:
        match = re.search(r"self .*?, ([\d,]+) calls?(?:, (\d+) resume)?", details)
        assert match, details
        calls[name] += int(match[1].replace(",", ""))
    assert dict(calls) == {name: row.calls for name, row in rows.items()}
    assert found[0][0] == "all"
    whole = sum(row.self_ns for row in rows.values())
    for name, details, _, _, width in found[1:]:
        time = re.match(r"([\d.]+) (ns|us)", details)
        assert time, details
        ns = float(time[1]) * {"ns": 1, "us": 1_000}[time[2]]
        assert width + 0.3 == pytest.approx(1180 * ns / whole, abs=0.02), name
    by_level = defaultdict(list)
    for _, _, x, y, width in found:
        by_level[y].append((x, x + width))
    for places in by_level.values():
        places.sort()
        assert all(before[1] <= after[0] + 0.01 for before, after in pairwise(places))


# ---- HTML


def test_a_page_has_summarys_figures(hostile: Path) -> None:
    """Broken by paths that are added up without their exceptions."""
    head = head_of(exported(hostile, "html").decode())
    names = {row["number"]: row["name"] for row in head["functions"]}
    functions = {names[row["number"]]: (row["calls"], row["total_ns"]) for row in head["functions"]}
    rows = summary(hostile).values()
    assert functions == {row.name: (row.calls, row.total_ns) for row in rows if row.function}
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for n, (parent, function, *figures) in enumerate(head["tree"]):
        assert parent < n
        sums[names.get(function, "<unknown>")] = [
            a + b for a, b in zip(sums[names.get(function, "<unknown>")], figures, strict=True)
        ]
    assert sums == {row.name: [row.calls, row.self_ns, row.exceptions] for row in rows}
    assert {names[int(number)]: pair for number, pair in head["limits"].items()} == {
        row.name: [row.min_ns, row.max_ns] for row in rows if row.function and row.ended
    }


def test_a_page_of_many_paths_sums_up_the_least(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken by paths that are left out: their time was missing then."""
    path = two_instances(tmp_path)
    whole = head_of(exported(path, "html").decode())["tree"]
    monkeypatch.setattr("funcgraph.export.formats.html_page.MOST_PATHS", 3)
    out = io.BytesIO()
    with funcgraph.open(path) as trace:
        source = Source(trace)
        find_format("html").write(source, out)
    head = head_of(out.getvalue().decode())
    assert len(head["tree"]) <= 3 and sum(row[3] for row in head["tree"]) == sum(row[3] for row in whole)
    assert any("paths are summed up as (others)" in remark for remark in source.remarks)
    assert "paths are summed up as (others)" in head["trace"]["message"]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_is_javascript() -> None:
    import funcgraph.export

    script = Path(funcgraph.export.__file__).parent / "formats" / "flame_svg.js"
    subprocess.run(["node", "--check", str(script)], check=True)


# ---- pstats


def test_pstats_has_summarys_figures(hostile: Path, tmp_path: Path) -> None:
    export_trace(hostile, tmp_path / "t.pstats")
    stats: Any = pstats.Stats(str(tmp_path / "t.pstats"), stream=io.StringIO())
    found = {
        label[2]: (nc, round(tt * 1e9), round(ct * 1e9)) for label, (_, nc, tt, ct, _) in stats.stats.items()
    }
    assert found == {name: (r.calls, r.self_ns, r.total_ns) for name, r in summary(hostile).items()}
    for label, (_, calls, own, _, callers) in stats.stats.items():
        assert label[0] == f"/src/<{label[2][2:]}>.py" and label[1] == 10 + HOSTILE.index(label[2][2:])
        top_calls = calls - sum(row[0] for row in callers.values())
        assert top_calls in (1, 2), label
        assert sum(row[2] for row in callers.values()) <= own
    stats.sort_stats("cumulative").print_stats()
    stats.print_callers()
    stats.print_callees()


def test_calls_and_callers_are_those_of_cprofile(tmp_path: Path) -> None:
    """A recording of a recursive program: calls, outermost calls and callers, as cProfile counts them."""
    code = "import recursive_program; recursive_program.program()"
    command = [
        sys.executable,
        "-m",
        "funcgraph",
        "record",
        "-q",
        "-o",
        str(tmp_path / "t.fg"),
        "-l",
        "recursive_program.program*",
    ]
    run = subprocess.run(
        [*command, sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    profile = cProfile.Profile(builtins=False)
    profile.runcall(recursive_program.program)
    profile.create_stats()
    mine = marshal.loads(exported(tmp_path / "t.fg", "pstats"))
    theirs: Any = profile.stats  # type: ignore[attr-defined]

    def counts(stats: Any) -> dict[int, Any]:
        return {
            line: (cc, nc, {caller[1]: row[:2] for caller, row in callers.items()})
            for (_, line, _), (cc, nc, _, _, callers) in stats.items()
        }

    assert counts(mine) == counts(theirs)


# ---- callgrind


@pytest.mark.skipif(shutil.which("callgrind_annotate") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("inclusive", [False, True])
def test_callgrind_annotate_prints_summarys_figures(hostile: Path, tmp_path: Path, inclusive: bool) -> None:
    export_trace(hostile, tmp_path / "t.callgrind")
    words = ["--threshold=100", "--auto=no", "--show-percs=no", f"--inclusive={'yes' if inclusive else 'no'}"]
    ran = subprocess.run(
        ["callgrind_annotate", *words, str(tmp_path / "t.callgrind")], capture_output=True, cwd=tmp_path
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    found = {}
    for line in ran.stdout.decode().split("\n"):
        match = re.match(r"\s*([\d,]+)\s+(/src/<.*?>\.py|\?\?\?):(.*)$", line)
        if match:
            found[unescaped(match[3])] = int(match[1].replace(",", ""))
    whole = found.pop("<top>", 0)
    rows = summary(hostile)
    assert found == {name: row.total_ns if inclusive else row.self_ns for name, row in rows.items()}
    assert whole == (sum(row.self_ns for row in rows.values()) if inclusive else 0)
    assert f"{sum(row.self_ns for row in rows.values()):,}" in ran.stdout.decode()


def test_calls_into_a_function_in_callgrind_are_summarys_calls_and_resumes(hostile: Path) -> None:
    names, calls, callee = {}, Counter[str](), ""
    for line in exported(hostile, "callgrind").decode().split("\n"):
        if match := re.fullmatch(r"c?fn=(\(\d+\))(?: (.*))?", line):
            names.setdefault(match[1], match[2])
            callee = match[1]
        elif match := re.fullmatch(r"calls=(\d+) \d+", line):
            calls[unescaped(names[callee])] += int(match[1])
    assert dict(calls) == {name: row.calls + row.resumes for name, row in summary(hostile).items()}


# ---- pictures of call graphs


def figures_of(lines: list[str]) -> tuple[str, int, int]:
    """Return name, calls and resumes of a label."""
    match = re.fullmatch(r"([\d,]+) calls?(?:, ([\d,]+) resumes?)?", lines[-1])
    assert match, lines
    return unescaped(lines[0]), int(match[1]), int(match[2] or 0)


def counted(path: Path) -> set[tuple[str, int, int]]:
    return {(name, row.calls, row.resumes) for name, row in summary(path).items()}


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_dot_reads_summarys_figures(hostile: Path) -> None:
    ran = subprocess.run(["dot", "-Tjson0"], input=exported(hostile, "dot"), capture_output=True, check=True)
    assert ran.stderr == b""
    graph = json.loads(ran.stdout)
    # In dot's JSON a label has Graphviz's escapes yet: \n between lines, and \\ for a backslash.
    labels = [re.split(r"(?<!\\)(?:\\\\)*\\n", node["label"]) for node in graph["objects"]]
    assert {figures_of([part.replace("\\\\", "\\") for part in lines]) for lines in labels} == counted(
        hostile
    )
    assert len(graph["edges"]) == len({(edge["tail"], edge["head"]) for edge in graph["edges"]})


def test_mermaid_has_summarys_figures_and_no_special_character_in_a_label(hostile: Path) -> None:
    lines = exported(hostile, "mermaid").decode().splitlines()
    assert lines[0] == "flowchart TD"
    nodes = {}
    for line in lines[1:]:
        match = re.fullmatch(
            r'    (?:(f\d+)\["([^"]*)"\]|f\d+ -->\|"([^"]*)"\| f\d+'
            r"|style f\d+ fill:#\w{6},color:#\w{6},stroke:none)",
            line,
        )
        assert match, line
        if match[1]:
            nodes[match[1]] = match[2].split("<br/>")
    texts = [
        [re.sub(r"#(\d+);", lambda m: chr(int(m[1])), part) for part in parts] for parts in nodes.values()
    ]
    assert {figures_of(parts) for parts in texts} == counted(hostile)
    assert not re.search(
        r'[<>"`*_~|{}\[\]()\\$%;&#]', re.sub(r"#\d+;|<br/>", "", "".join(chain.from_iterable(nodes.values())))
    )


def test_a_picture_leaves_out_what_took_no_time_and_says_so(tmp_path: Path) -> None:
    trace = Trace(["m.main", *(f"m.f{n}" for n in range(300))])
    task = trace.task(1)
    task.enter(0, 0, 0)
    for n in range(300):
        took = 1_000 if n < 100 else 1
        task.enter(10_000 * n + 1, n + 1, 1)
        task.leave(10_000 * n + 1 + took, n + 1, 1, calltime=10_000 * n + 1)
    task.leave(110_000_000, 0, 0, calltime=109_900_000)
    path = trace.save(tmp_path / "trace.dat")
    file = io.BytesIO()
    notes = export_trace(path, file, "dot")
    assert file.getvalue().count(b"tooltip") == 60
    assert any(note.startswith("241 functions are left out") for note in notes)


# ---- all of them


@pytest.mark.parametrize("form", TREE_FORMATS)
def test_functions_without_calls_take_no_room(form: str, tmp_path: Path) -> None:
    pages = []
    for others in (0, 1000):
        names = ["called", *(f"other{number}" for number in range(others))]
        trace = Trace([("m", name, "/src/m.py", 1, 0, []) for name in names])
        task = trace.task(1, pid=1)
        task.enter(1000, 0, 0)
        task.leave(2000, 0, 0, calltime=1000)
        pages.append(exported(trace.save(tmp_path / "t.dat"), form))
    assert pages[0] == pages[1]


@pytest.mark.parametrize("form", TREE_FORMATS)
def test_a_trace_without_calls_or_without_times_is_exported(form: str, tmp_path: Path) -> None:
    empty = Trace(["m.f"])
    empty.task(1).wait(10, 5)
    assert exported(empty.save(tmp_path / "empty.dat"), form) or form == "collapsed"
    flat = Trace(["m.f", "m.g"], tracer="function")
    task = flat.task(1)
    for time in range(6):
        task.function(time, 1, 0)
    text = exported(flat.save(tmp_path / "flat.dat"), form)
    if form == "collapsed":
        assert text == b"m.f;m.g 6\n"
    elif form == "svg":
        assert [(box[0], box[1]) for box in boxes(text)] == [
            ("all", "6 calls, 100.00%"), ("m.f", "0 calls, 100.00%"), ("m.g", "6 calls, 100.00%"),
        ]  # fmt: skip


@pytest.mark.parametrize("form", TREE_FORMATS)
def test_what_a_format_lacks_is_in_its_document_and_said_once(
    form: str, hostile: Path, tmp_path: Path, command: Callable[..., Any]
) -> None:
    ran = command("export", form, hostile, "-o", tmp_path / "out")
    lines = ran.err.splitlines()
    assert ran.status == 0 and lines[0].startswith(f"funcgraph: {form}: it has ")
    assert len(lines) == len(set(lines))
    lacks = lines[0].partition(": ")[2].partition(": ")[2]
    page = (Path(__file__).parents[2] / "docs" / "reference" / "export.md").read_text()
    assert " ".join(lacks.split()) in " ".join(page.split())


@pytest.mark.parametrize("form", TREE_FORMATS)
def test_a_selection_holds_for_trees(
    form: str, hostile: Path, tmp_path: Path, command: Callable[..., Any]
) -> None:
    ran = command("export", form, hostile, "-o", tmp_path / "out", "-l", "m.plain")
    assert ran.status == 0
    text = (tmp_path / "out").read_bytes()
    if form == "html":
        text = json.dumps(head_of(text.decode())).encode()
    assert b"plain" in text and b"semi" not in text


def test_instances_are_apart_in_paths_and_refused_in_figures_of_functions(tmp_path: Path) -> None:
    path = two_instances(tmp_path)
    stacks = read_collapsed(exported(path, "collapsed"))
    assert {stack[0] for stack in stacks} == {"more", "other"}
    assert boxes(exported(path, "svg"))[1][0] in ("more", "other")
    head = head_of(exported(path, "html").decode())
    assert [row["calls"] for row in head["functions"] if row["name"] == "__main__.f"] == [6]
    roots = {row[1] for row in head["tree"] if row[0] < 0}
    assert roots == set(head["groups"])
    assert {head["functions"][root]["name"] for root in roots} == {"more", "other"}
    for form in ("pstats", "callgrind", "dot", "mermaid"):
        with pytest.raises(ExportError, match=r"choose one with -B: '(more|other)', "):
            exported(path, form)


def two_instances(folder: Path) -> Path:
    script = folder / "two.py"
    script.write_text("def f():\n    pass\nfor _ in range(3):\n    f()\n")
    command = [
        sys.executable,
        "-m",
        "funcgraph",
        "record",
        "-q",
        "-o",
        str(folder / "two.fg"),
        "-B",
        "other",
        "-B",
        "more",
    ]
    ran = subprocess.run([*command, sys.executable, str(script)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return folder / "two.fg"
