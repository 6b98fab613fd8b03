"""`make bench`: measures and writes the figures of docs/reference/performance.md, on CPython 3.11 and 3.13.

benchmarks/ runs on the Python under test and measures. This module prepares the environments and writes the
tables into the page. A missed target is shown as MISS and is not an error. The page has sections of tables:
one can be measured without the others.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import comparison
from tools.console import CommandFailedError, heading, print_message, run
from tools.layout import BUILD, ROOT
from tools.pythons import Interpreter, choose
from tools.venvs import installed

_PAGE = ROOT / "docs" / "reference" / "performance.md"
_SECTIONS = (
    "files",
    "events",
    "questions",
    "pages",
    "native",
    "attach",
    "figures",
)  # as benchmarks/figures.py names them, and as the page has them


def processor() -> str:
    """Return the processor's name."""
    try:
        named = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        named = None
    return named[1] if named else platform.machine()


def as_markdown(python: Interpreter, figures: Sequence[dict[str, object]]) -> str:
    """Return one Python's table; "" if nothing was measured on it."""
    if not figures:
        return ""
    verdicts = {True: "ok", False: "**MISS**", None: ""}
    rows = [f"### CPython {python.release}", "", "| figure | measured | target | |", "|---|---:|---:|---|"]
    for figure in figures:
        good = figure["good"]
        assert good is None or isinstance(good, bool)
        rows.append(f"| {figure['name']} | {figure['measured']} | {figure['target']} | {verdicts[good]} |")
    return "\n".join(rows)


def with_tables(page: str, section: str, head: str, tables: Sequence[str]) -> str:
    """Return the page with these tables in a section."""
    begin, end = f"<!-- {section}: written by make bench -->", f"<!-- end of {section} -->"
    before, _, rest = page.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise LookupError(f"{_PAGE.name} has no section {section}")
    return "\n\n".join([before + begin, head, *filter(None, tables), end + after])


def _measured(tag: str, section: str, arguments: Sequence[str]) -> str:
    """Measure a section on one Python; return its table."""
    python = choose(tag)
    heading(f"CPython {python.release}: {section}")
    environment = installed(f"bench-{tag}", python, "bench")
    found = BUILD / f"bench-{section}-{tag}.json"
    found.parent.mkdir(parents=True, exist_ok=True)
    run([environment.python, "-m", "benchmarks", "--section", section, "--json", found, *arguments])
    return as_markdown(python, json.loads(found.read_text()))


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tools.bench", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", action="append", metavar="TAG", help="3.11 and 3.13 if not given")
    parser.add_argument("--section", action="append", choices=_SECTIONS, help="only these tables")
    parser.add_argument("--dry-run", action="store_true", help="leave docs/reference/performance.md as it is")
    parser.add_argument(
        "arguments", nargs="*", metavar="ARGUMENT", help="after --: for `python -m benchmarks`"
    )
    options = parser.parse_args(argv)
    head = f"Measured {datetime.datetime.now(datetime.UTC).date()} on {processor()}."
    sections = options.section or _SECTIONS
    try:
        for section in sections:
            tables = [
                _measured(tag, section, options.arguments) for tag in options.python or ("3.11", "3.13")
            ]
            if not options.dry_run:
                _PAGE.write_text(with_tables(_PAGE.read_text(), section, head, tables))
                comparison.main([])
    except (CommandFailedError, LookupError) as error:
        print_message(f"bench: {error}")
        return 1
    if not options.dry_run:
        print_message(f"\n{_PAGE.relative_to(ROOT)} has these figures now")
    return 0


if __name__ == "__main__":
    sys.exit(main())
