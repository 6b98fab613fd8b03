"""The documents agree with the code: links have targets, a manual page has its command's options, every
file, folder and dependency is explained, the API reference is generated from the docstrings.
(test_tutorial.py runs the code of the tutorial and the README.)"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import funcgraph
from funcgraph import _engine, cli, selftest
from funcgraph.settings import table
from tools import changelog, comparison, file_table, manual_pages, rooms

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parent.parent
MAN = ROOT / "docs" / "man"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings."""
    found = set()
    for heading in re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE):
        kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(kept.replace(" ", "-"))
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_have_targets(document: Path) -> None:
    for link in _LINK.findall(document.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), f"{link}: no such file"
        if anchor:
            assert anchor in anchors(target), f"{link}: no such heading"


def test_the_index_has_one_line_for_each_page() -> None:
    """Broken by adding a page without a line in docs/README.md."""
    docs = ROOT / "docs"
    pages = {str(page.relative_to(docs)) for page in docs.rglob("*.md") if page.parent != MAN} - {"README.md"}
    listed = re.findall(r"^- \[[^\]]+\]\(([a-z][^)]*)\)", (docs / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted([*pages, "man/funcgraph.md"])


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_a_manual_page_has_exactly_its_commands_options(command: str) -> None:
    page = (MAN / f"funcgraph-{command}.md").read_text()
    body = re.search(r"^## Options$(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    assert body, "the page has no Options"
    listed = {
        flag
        for row in re.findall(r"^(`-.*?`)(?=:|$)", body[1], re.MULTILINE)
        for flag in _OPTION.findall(row)
    }
    assert listed == options_of(cli.parser_of(cli.load(command)))


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_each_manual_page_has_all_sections(command: str) -> None:
    page = (MAN / f"funcgraph-{command}.md").read_text()
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert {"Synopsis", "Options", "Examples", "Exit status", "Environment", "Files"} <= set(headings)


@pytest.mark.parametrize("page", sorted(MAN.glob("*.md")), ids=lambda page: page.stem)
def test_groff_takes_each_manual_page_without_a_warning(page: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("needs groff")
    text = manual_pages.manual_page(page.stem, page.read_text(), "1.0")
    words = ["groff", "-t", "-man", "-Tutf8", "-Kutf8", "-ww", "-rLL=80n"]
    done = subprocess.run(words, input=text, capture_output=True, text=True)
    # An example may be wider than a terminal: it is not broken.
    warnings = [line for line in done.stderr.splitlines() if "cannot adjust" not in line]
    assert (done.returncode, warnings) == (0, [])
    assert "`" not in done.stdout.replace("``", ""), "something is left of Markdown"


def test_markdown_becomes_the_macros_of_man() -> None:
    text = """# funcgraph x

Do it, with `-a`.

## Options

`-a FILE`, `--all`
: Read [the other](funcgraph-y.md#part) page,
  or [docs](../docs.md). It's "all".

  | key | what |
  |---|---|
  | `k` | a \\ word |

- one
  more

    $ .code
"""
    page = manual_pages.manual_page("funcgraph-x", text, "1.0").splitlines()
    assert page[0] == "'\\\" t"
    assert page[4:] == [
        '.SH "NAME"', r"funcgraph\-x \- do it, with \fB\-a\fR", '.SH "OPTIONS"',
        ".TP", r"\fB\-a FILE\fR, \fB\-\-all\fR",
        r"Read \fBfuncgraph\-y\fR(1) page, or docs. It\(aqs \(dqall\(dq.",
        ".PP", ".TS", "tab(\t);", "lb lb .", "l lx.", "key\tT{", "what", "T}",
        "\\fBk\\fR\tT{", r"a \e word", "T}", ".TE",
        '.IP "\\(bu" 4', "one more", ".PP", ".RS 4", ".nf", "$ .code", ".fi", ".RE",
    ]  # fmt: skip


def test_each_check_of_the_self_test_is_in_its_manual_page_in_order() -> None:
    page = (MAN / "funcgraph-selftest.md").read_text()
    table = page.partition("| check |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| ([^|]+) \| [^|]+ \|$", table, re.MULTILINE) == list(selftest.CHECKS)
    shown = re.findall(r"^    ([^$].*?)  +ok$", page, re.MULTILINE)
    assert shown == list(selftest.CHECKS)


def test_the_api_reference_is_what_the_docstrings_say() -> None:
    """tools.api_reference also fails for a public name without a docstring."""
    result = subprocess.run(
        [sys.executable, "-m", "tools.api_reference", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_options_of_manual_pages_are_those_of_the_parsers() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tools.manual_options", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_figures_beside_other_tools_are_those_of_the_benchmarks() -> None:
    """Broken by a figure that is measured again in performance.md alone, or typed in comparison.md."""
    assert comparison.main(["--check"]) == 0


def test_each_other_tool_has_its_version() -> None:
    page = (ROOT / "docs" / "reference" / "comparison.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \| [^|]+ \| [^|]+ \|$", page, re.MULTILINE)
    versions = {name: version for name, version in rows if name != "tool"}
    assert versions.pop("perf, eBPF") == "of the kernel"
    assert len(versions) == 7
    measured = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["bench"]
    assert f"viztracer=={versions['viztracer'].split()[0]}" in measured
    for name, version in versions.items():
        assert re.search(r"\d+\.\d+", version), name


def test_each_version_in_the_changelog_begins_with_its_highlights() -> None:
    """Who reads it wants these first; before a first release there is nothing that could have changed."""
    text = (ROOT / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## \[(.+)\]", text, re.MULTILINE)
    for version in versions:
        parts = re.findall(r"^### (.+)$", changelog.section(text, version), re.MULTILINE)
        assert parts[:2] == ["Highlights", "Added"], version
    assert "### Changed" not in changelog.section(text, versions[-1])


def test_docstrings_have_one_word_for_errors() -> None:
    """It is `Raises:`. Broken by a docstring with `Errors:`."""
    word = re.compile(r"\bErrors:( |$)", re.MULTILINE)
    files = [file for top in ("src", "tools", "benchmarks") for file in (ROOT / top).rglob("*.py*")]
    sources = [file for file in files if file.suffix in (".py", ".pyi")]
    assert [file.name for file in sources if word.search(file.read_text())] == []


def test_each_public_name_is_in_the_api_reference() -> None:
    text = (ROOT / "docs" / "reference" / "api.md").read_text()
    # docs/man/funcgraph-record.md documents recordings, docs/guides/instances.md the trace marker.
    elsewhere = {"RecordBlock", "__version__", "record", "trace_marker"}
    for name in set(funcgraph.__all__) - elsewhere:
        assert f"### `{name}`" in text, f"{name} is not in docs/reference/api.md"


#: What `ops.name` and the like in docs/reference/kernel-names.md stand for.
OWNERS = {
    "ops": _engine.FgraphOps,
    "trace": _engine.GraphRet,
    "regs": _engine.FtraceRegs,
    "link": _engine.KprobeMultiLink,
    "ctx": _engine.KprobeMultiCtx,
    "fp": _engine.Fprobe,
}
#: Names of the Python column that need no owner: arguments, and attributes of the objects of a row.
PARTS = {
    *("entryfunc", "retfunc", "slot", "generation", "offset", "line", "nmissed", "gone", "suspendfunc"),
    *("graph_time", "sleep_time", "thresh_us", "start", "stop", "enabled", "rows", "trace_stat", "symbol"),
    *("handler", "resumefunc", "save_regs"),
}


def kernel_rows() -> list[tuple[str, str, str]]:
    """Return the rows of docs/reference/kernel-names.md: the kernel's names, Python's, and those in C."""
    text = (ROOT / "docs" / "reference" / "kernel-names.md").read_text()
    rows = re.findall(r"^\| ([^|]*) \| ([^|]*) \| ([^|]*)\| ?[^|]*\|$", text, re.MULTILINE)
    return [row for row in rows if row[0] not in ("kernel", "") and "---" not in row[0]]


def is_ours(name: str, instance: funcgraph.Instance) -> bool:
    """Return whether a piece of code in the Python column names something that exists."""
    owner, dot, rest = re.sub(r"[(\[=].*", "", name).partition(".")
    if dot:
        return hasattr({**OWNERS, "i": instance}.get(owner), rest)
    option = re.fullmatch(r'options\["(.*)"\]', name)
    if option:
        return option[1] in table.OPTIONS
    parameter = re.fullmatch(r'FUNCGRAPH="(.*)="', name)
    if parameter:
        return parameter[1] in {"trace_instance", *(setting.boot for setting in table.SETTINGS)}
    tracer = re.fullmatch(r'Latency\("(.*)"\)', name)
    if tracer:
        return tracer[1] in _engine.LATENCY_TRACERS
    return hasattr(funcgraph, owner) or owner in PARTS


def test_the_names_beside_the_kernels_are_ours() -> None:
    """docs/reference/kernel-names.md: names of the Python column are in the API, those of C in a header."""
    header = (ROOT / "src" / "include" / "funcgraph.h").read_text()
    engine = "".join(path.read_text() for path in (ROOT / "src" / "engine" / "core").glob("*.h"))
    rows = kernel_rows()
    assert len(rows) > 100
    commands = ("with", "funcgraph status", "funcgraph selftest")
    for kernel, python, c in rows:
        with funcgraph.Instance("docs") as instance:
            for name in set(re.findall(r"`([^`]+)`", python)) - {*commands}:
                assert is_ours(name, instance), f"{kernel}: {name}"
        for name in re.findall(r"`(?:struct )?(\w+)", c):
            assert re.search(rf"\b{name}\b", header + engine), f"{kernel}: {name} is in no header"


def test_each_of_our_files_options_and_parameters_is_beside_the_kernels() -> None:
    """Broken by adding a file, an option, a boot parameter or a latency tracer without a row."""
    named = {name for _, python, _ in kernel_rows() for name in re.findall(r"`([^`]+)`", python)}
    attributes = {re.sub(r"\(.*", "", name).removeprefix("i.") for name in named if name.startswith("i.")}
    files = {setting.file.partition("/")[0] for setting in table.SETTINGS if setting.file}
    parameters = {"trace_instance", *(setting.boot for setting in table.SETTINGS if setting.boot)}
    assert files - attributes == set()
    assert {f'options["{name}"]' for name in table.OPTIONS} - named == set()
    assert {f'FUNCGRAPH="{name}="' for name in parameters} - named == set()
    assert {f'Latency("{name}")' for name in _engine.LATENCY_TRACERS} - named == set()


def test_the_table_of_files_is_what_their_comments_say() -> None:
    """Broken by a new file, a folder without a subject, and a file without a first comment."""
    assert file_table.PAGE.read_text() == file_table.page()


@pytest.mark.parametrize(
    ("name", "text", "subject"),
    [
        (
            "a.h",
            "/* Tasks, e.g. threads: one\n * for each. They end. */\n",
            "Tasks, e.g. threads: one for each",
        ),
        ("a.c", '/* See a.h. */\n#include "a.h"\n', "See a.h"),
        ("b.c", "int main(void);\n/* Not the first. */\n", ""),
        ("a.py", '"""Reads v1.2 files\n\nand more."""\n', "Reads v1.2 files"),
        ("b.py", "# no docstring\n", ""),
        ("a.sh", "#!/bin/sh\n# Finds it.\n", "Finds it"),
    ],
)
def test_the_subject_of_a_file_is_its_first_sentence(
    tmp_path: Path, name: str, text: str, subject: str
) -> None:
    (tmp_path / name).write_text(text)
    assert file_table.first_sentence(file_table.first_comment(tmp_path / name)) == subject


def test_files_and_folders_without_a_subject_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_table, "ROOT", tmp_path)
    monkeypatch.setattr(file_table, "FOLDERS", {"src": "all"})
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "a.h").write_text("/* What it is. */\n")
    (tmp_path / "src" / "a.c").write_text("/* See a.h. */\n")
    assert "| `a.[ch]` | What it is |" in file_table.page()
    (tmp_path / "src" / "b.c").write_text("/* See a.h. */\n")
    with pytest.raises(file_table.MissingError, match=r"src/b\.c"):
        file_table.page()
    (tmp_path / "src" / "b.c").write_text("int b;\n")
    with pytest.raises(file_table.MissingError, match=r"src/b\.c: no first comment"):
        file_table.page()
    (tmp_path / "src" / "b.c").unlink()
    (tmp_path / "src" / "deep" / "data.txt").write_text("1")
    with pytest.raises(file_table.MissingError, match="src/deep/"):
        file_table.page()
    monkeypatch.setattr(file_table, "FOLDERS", {"src": "all", "src/deep": "data", "src/gone": "nothing"})
    with pytest.raises(file_table.MissingError, match="src/gone/"):
        file_table.page()


def c_layers() -> dict[str, set[str]]:
    """Return for each layer in C those that it may use."""
    layers: dict[str, set[str]] = {}
    for room, below in rooms.KNOWS.items():
        layer = room.partition("/")[0]
        layers.setdefault(layer, set()).update({other.partition("/")[0] for other in below} - {layer})
    return layers


def test_the_picture_of_the_layers_has_each_above_those_it_uses() -> None:
    """Several rooms in a line: the left ones are above the right ones."""
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("## Layers\n")[2]
    pictures = re.split(r"^---+.*$", section.split("```\n")[1], flags=re.MULTILINE)
    for picture, knows in zip(pictures, (rooms.PYTHON_KNOWS, c_layers()), strict=True):
        lines = [re.split("  +", line)[0] for line in picture.strip().splitlines()]
        shown = ", ".join(lines).split(", ")
        assert sorted(shown) == sorted(knows)
        for room, below in knows.items():
            assert all(shown.index(room) < shown.index(other) for other in below), room


def test_each_file_that_the_map_names_is_there() -> None:
    """Broken by moving a file that a page about the code names."""
    tops = ("src", "tests", "tools", "benchmarks", "docs")
    there = [f"/{file.relative_to(ROOT)}" for top in tops for file in (ROOT / top).rglob("*.*")]
    for page in ("ARCHITECTURE.md", "docs/internals/engine.md", "docs/internals/adding.md"):
        for name in re.findall(r"`([a-z_0-9/]+\.(?:[ch]|py))\b", (ROOT / page).read_text()):
            assert any(path.endswith(f"/{name}") for path in there), f"{page}: {name}"


def test_the_map_fits_on_a_few_pages() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 300


def test_each_invariant_names_tests_that_are_there() -> None:
    """Broken by renaming a test file that ARCHITECTURE.md names."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition("## Invariants\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \*\*.*? \| (.*) \|$", section, re.MULTILINE)
    assert len(rows) > 10
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.\w+)(?:::(\w+))?`", row)
        assert named, row
        for file, function in named:
            assert f"{function}(" in (ROOT / file).read_text() or not function, f"{file}::{function}"


@pytest.mark.parametrize(
    ("heading", "knows"), [("room", rooms.KNOWS), ("room of the package", rooms.PYTHON_KNOWS)]
)
def test_the_rooms_of_the_layers_are_those_of_tools_rooms(
    heading: str, knows: dict[str, tuple[str, ...]]
) -> None:
    """In the same order, and each with the rooms that it may use. Rooms that may use the same share a row."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.partition(f"| {heading} | may use |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [[re.findall(r"`([^`]+)`", cell) for cell in row.split(" | ")] for row in table.splitlines()]
    shown = [(room, tuple(below)) for members, below in rows for room in members]
    assert shown == list(knows.items())


def test_each_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = (ROOT / "CONTRIBUTING.md").read_text()
    expected = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for group in project["dependency-groups"].values():
        expected += group
    for requirement in expected:
        name = re.split(r"[^\w.-]", requirement)[0]
        assert f"`{name}`" in text, f"{name} has no reason"
