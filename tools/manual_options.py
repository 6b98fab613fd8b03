"""Writes the options of manual pages from the commands' parsers: those of the pages that have the marker.

The verbs for running processes share most of their flags, and those come from the table of settings.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

from funcgraph import cli
from tools.console import say
from tools.layout import ROOT

MAN = ROOT / "docs" / "man"
#: After this line of a page come the options, up to the next heading.
MARKER = "<!-- The options are written by python -m tools.manual_options. -->"
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


def page(path: Path) -> str:
    """Return the text that a page has to have."""
    before, marker, rest = path.read_text().partition(MARKER)
    if not marker:
        return before
    _, heading, after = rest.partition("\n## ")
    command = path.stem.removeprefix("funcgraph-")
    return f"{before}{MARKER}\n\n{options(command)}\n{heading}{after}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tools.manual_options", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="only say which page is not what it has to be")
    arguments = parser.parse_args()
    stale = [path for path in sorted(MAN.glob("*.md")) if page(path) != path.read_text()]
    for path in stale:
        if arguments.check:
            say(f"manual_options: {path.name} is out of date: run python -m tools.manual_options")
        else:
            path.write_text(page(path))
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
