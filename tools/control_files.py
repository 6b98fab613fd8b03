"""Writes the table of control files in docs/reference/tracefs.md from the rows of instance/file_table.py."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Iterable

from funcgraph.instance.control_files import file_table
from funcgraph.instance.control_files.control_file import Row
from tools.layout import ROOT
from tools.written_pages import after_marker, update

PAGE = ROOT / "docs" / "reference" / "tracefs.md"
#: After this line of the page comes what is written here, up to the next heading.
MARKER = "<!-- The table is written by python -m tools.control_files. -->"
_HEAD = "| file | mode | in | write | errors | what differs from the kernel |\n|---|---|---|---|---|---|\n"


def table(rows: Iterable[Row]) -> str:
    """Return the table of some rows, in Markdown."""
    return _HEAD + "".join(f"| {' | '.join(_cells(row))} |\n" for row in rows)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        f"`{row.tree_name or row.name}`",
        f"{row.mode:04o}",
        "root" if row.is_of_process else "instance",
        row.writes if "w" in row.access else "pipe" if row.is_pipe else "",
        ", ".join(map(_error_name, row.errors)),
        row.notes,
    )


def _error_name(number: int) -> str:
    return "EOPNOTSUPP" if number == errno.EOPNOTSUPP else errno.errorcode[number]


def page(text: str, rows: Iterable[Row]) -> str:
    """Return the text that the page has to have.

    Args:
        text: as it is.
        rows: those of the table.
    """
    return after_marker(text, MARKER, table(rows))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.control_files", description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the page is what it has to be")
    arguments = parser.parse_args()
    text = page(PAGE.read_text(), file_table.rows())
    command = "python -m tools.control_files"
    return update({PAGE: text}, check=arguments.check, tool="control_files", command=command)


if __name__ == "__main__":
    sys.exit(main())
