"""Writes the figures of comparison.md: those of performance.md that another tool was measured for, too.

`--check` says whether they are the same. They are never typed: what is measured again changes both pages.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.layout import ROOT
from tools.written_pages import after_marker, update

PAGE = ROOT / "docs" / "reference" / "comparison.md"
FIGURES = ROOT / "docs" / "reference" / "performance.md"
MARKER = "<!-- written by python -m tools.comparison -->"


@dataclass(frozen=True)
class Comparison:
    """A row: what is compared, and the ends of the names of its figures in a section of performance.md."""

    what: str
    section: str
    figures: tuple[str, ...]


ROWS = (
    Comparison(
        "a recorded call, of what viztracer adds",
        "figures",
        ("fib, default record, without end: of viztracer", "fib, default record, bursts: of viztracer"),
    ),
    Comparison(
        "a call with arguments and results, of what viztracer adds",
        "figures",
        ("fib, --args --retval: of viztracer",),
    ),
    Comparison(
        "the least for two time stamps, of what viztracer adds",
        "figures",
        (
            "a frame evaluator that only reads the clock: of viztracer",
            "a callback pair that only reads the clock: of viztracer",
        ),
    ),
    Comparison(
        "the function profiler, of what cProfile adds",
        "figures",
        ("fib, the function profiler: of cProfile",),
    ),
    Comparison(
        "size of the trace, of viztracer's JSON", "files", (" calls: the .fg, of the JSON of viztracer",)
    ),
    Comparison(
        "the same, Python functions alone",
        "files",
        ("the .fg, of the JSON of viztracer, Python functions only",),
    ),
    Comparison(
        "a recorded native call, of what uftrace adds",
        "native",
        ("a native call, recorded: of what uftrace adds to it (dynamic)",),
    ),
)


def _section(page: str, name: str) -> str:
    """Return the tables of a section. Raises LookupError: there is none."""
    match = re.search(rf"<!-- {name}: written by make bench -->(.*?)<!-- end of {name} -->", page, re.DOTALL)
    if match is None:
        raise LookupError(f"{FIGURES.name} has no section {name}")
    return match[1]


def _by_python(tables: str) -> Iterator[tuple[str, str]]:
    """Yield each CPython's release, and its table."""
    _, *parts = re.split(r"^### CPython (\S+)\n", tables, flags=re.MULTILINE)
    yield from zip(parts[::2], parts[1::2], strict=True)


def _cell(row: Comparison, table: str) -> str:
    """Return the figures of a row on one Python: their range, and the target that one misses.

    Raises:
        LookupError: the table has none of them.
    """
    found: list[tuple[str, str, bool]] = []
    for line in table.splitlines():
        name, _, rest = line.removeprefix("| ").partition(" | ")
        if name.endswith(row.figures):
            measured, target, verdict = (cell.strip() for cell in rest.removesuffix("|").split("|"))
            found.append((measured, target, "MISS" in verdict))
    if not found:
        raise LookupError(f"{FIGURES.name} has no figure {row.figures[0]!r}")
    values = sorted(measured for measured, _, _ in found)
    shown = values[0] if values[0] == values[-1] else f"{values[0]} to {values[-1]}"
    missed = {target for _, target, miss in found if miss}
    return shown + "".join(f" (target: {target})" for target in sorted(missed))


def written(page: str) -> str:
    """Return the table, of the text of performance.md. Raises LookupError: a figure is not in it."""
    lines: list[str] = []
    releases: list[str] = []
    for row in ROWS:
        tables = _section(page, row.section)
        day = re.search(r"^Measured (\S+) on (.*)\.$", tables, re.MULTILINE)
        if day is None:
            raise LookupError(f"{FIGURES.name}: section {row.section} has no date")
        cells = {release: _cell(row, table) for release, table in _by_python(tables)}
        releases = releases or [*cells]
        shown = [row.what, *(cells[release] for release in releases), f"{day[1]}, {day[2]}"]
        lines.append(f"| {' | '.join(shown)} |")
    head = ["| |", *(f" {release} |" for release in releases), " measured |"]
    return "\n".join(["".join(head), "|---|" + "---|" * (len(releases) + 1), *lines]) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.comparison", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    options = parser.parse_args(argv)
    text = after_marker(PAGE.read_text(), MARKER, written(FIGURES.read_text()))
    return update({PAGE: text}, check=options.check, tool="comparison", command="python -m tools.comparison")


if __name__ == "__main__":
    sys.exit(main())
