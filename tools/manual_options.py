"""Writes what manual pages have from the program: options of the commands' parsers, and the list of commands.

A page has a marker where that stands. The verbs for running processes share most of their flags, and those
come from the table of settings.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from funcgraph import cli
from tools.layout import ROOT
from tools.written_pages import after_marker, update

MAN = ROOT / "docs" / "man"
#: After one of these lines of a page comes what is written here, up to the next heading.
OPTIONS_MARKER, COMMANDS_MARKER = (
    f"<!-- The {what} are written by python -m tools.manual_options. -->" for what in ("options", "commands")
)
_WIDTH = 120


def options(command: str) -> str:
    """Return the options of a command as a manual page has them."""
    entries = []
    for action in cli.parser_of(cli.load(command))._actions:
        if action.dest == "help":
            continue
        value = f" {action.metavar}" if action.metavar and action.nargs != 0 else ""
        if action.nargs == "?":
            value = f" [{value.strip()}]"
        names = [f"`{flag}{value}`" for flag in action.option_strings] or [f"`{action.metavar}`"]
        text = f"{(action.help or '')[:1].upper()}{(action.help or '')[1:]}."
        lines = textwrap.wrap(
            text, _WIDTH, initial_indent=": ", subsequent_indent="  ", break_on_hyphens=False
        )
        entries.append("\n".join([", ".join(names), *lines]))
    entries.append("`-h`, `--help`\n: Show a summary of the options and exit.")
    return "\n\n".join(entries)


def commands() -> str:
    """Return the commands in their groups."""
    groups = {"to begin with": cli.FIRST, **cli.GROUPS}
    texts = []
    for title, names in groups.items():
        rows = [f"- [`{name}`](funcgraph-{name}.md): {cli.load(name).HELP}" for name in names]
        texts.append("\n".join([f"### {title[:1].upper()}{title[1:]}", "", *rows]))
    return "\n\n".join(texts)


def page(path: Path) -> str:
    """Return the text that a page has to have."""
    text = path.read_text()
    marker = next((marker for marker in (OPTIONS_MARKER, COMMANDS_MARKER) if marker in text), None)
    if marker is None:
        return text
    written = commands() if marker == COMMANDS_MARKER else options(path.stem.removeprefix("funcgraph-"))
    return after_marker(text, marker, f"{written}\n")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tools.manual_options", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="only say which page is not what it has to be")
    arguments = parser.parse_args()
    pages = {path: page(path) for path in sorted(MAN.glob("*.md"))}
    command = "python -m tools.manual_options"
    return update(pages, check=arguments.check, tool="manual_options", command=command)


if __name__ == "__main__":
    sys.exit(main())
