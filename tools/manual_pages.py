"""Makes pages for man(1) of docs/man/: `python -m tools.manual_pages FOLDER`, which the build runs.

It knows as much of Markdown as these pages have: headings, paragraphs, terms with definitions, lists, tables
and code. The result is in the macros of man(7), with tables for tbl(1). It needs nothing but the standard
library.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "man"
_SECTION = "1"

_SPAN = re.compile(r"`(?P<code>[^`]+)`|\[(?P<text>[^\]]+)\]\((?P<target>[^)]+)\)|\*\*(?P<bold>[^*]+)\*\*")
_ITEM = re.compile(r"(?P<mark>-|\d+\.) +")


def pages() -> list[Path]:
    """Return the pages as they are written."""
    return sorted(PAGES.glob("*.md"))


def version() -> str:
    """Return the version of the package."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return str(tomllib.load(file)["project"]["version"])


def manual_page(name: str, text: str, release: str) -> str:
    """Return a page for man(1).

    Args:
        name: of the command, as funcgraph-record.
        text: the page in Markdown. Its first paragraph says what the command does.
        release: the version of funcgraph.
    """
    blocks = [block for block in re.split(r"\n{2,}", text.strip("\n")) if not block.startswith("<!--")]
    summary = blocks[1].replace("\n", " ").rstrip(".")
    lines = [
        "'\\\" t",
        f'.TH {name.upper()} {_SECTION} "" "funcgraph {release}" "funcgraph"',
        ".nh",
        ".ad l",
        '.SH "NAME"',
        f"{_escaped(name)} \\- {_inline(summary[:1].lower() + summary[1:])}",
    ]
    for block in blocks[2:]:
        lines += _block(block)
    return "\n".join(lines) + "\n"


def _block(block: str) -> Iterator[str]:
    """Yield the lines of one block: what stands between two empty lines."""
    lines = block.splitlines()
    if heading := re.fullmatch(r"(##+) (.*)", block):
        is_section = heading[1] == "##"
        title = heading[2].upper() if is_section else heading[2]
        yield f'.{"SH" if is_section else "SS"} "{_inline(title)}"'
    elif all(line.startswith("    ") for line in lines):
        yield from (".PP", ".RS 4", ".nf", *(_line(_escaped(line[4:])) for line in lines), ".fi", ".RE")
    elif lines[0].lstrip().startswith("|"):
        yield from _table(lines)
    elif len(lines) > 1 and lines[1].startswith(": "):
        yield from (".TP", _line(_inline(lines[0])), _paragraph([lines[1][2:], *lines[2:]]))
    elif _ITEM.match(lines[0]):
        yield from _list(lines)
    elif block.startswith("  "):  # more of a definition
        yield from (".IP", _paragraph(lines))
    else:
        yield from (".PP", _paragraph(lines))


def _list(lines: list[str]) -> Iterator[str]:
    items: list[list[str]] = []
    for line in lines:
        if item := _ITEM.match(line):
            items.append([item["mark"], line[item.end() :]])
        else:
            items[-1].append(line)
    for mark, *text in items:
        bullet = "\\(bu" if mark == "-" else mark
        yield f'.IP "{bullet}" 4'
        yield _paragraph(text)


def _table(lines: list[str]) -> Iterator[str]:
    """Yield a table for tbl(1); its last column is filled."""
    rows = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in lines]
    heading, _, *others = [[cell.strip() for cell in row] for row in rows]
    yield from (".PP", ".TS", "tab(\t);", f"{'lb ' * len(heading)}.", f"{'l ' * (len(heading) - 1)}lx.")
    for row in [heading] * any(heading) + others:
        yield "\t".join([*map(_inline, row[:-1]), "T{"])
        yield _line(_inline(row[-1]))
        yield "T}"
    yield ".TE"


def _paragraph(lines: list[str]) -> str:
    return _line(_inline(" ".join(line.strip() for line in lines)))


def _line(text: str) -> str:
    """Return a line of text, which is no macro whatever it begins with."""
    return f"\\&{text}" if text.startswith((".", "'")) else text


def _inline(text: str) -> str:
    """Return a text with what is marked in it: code and links to other pages bold."""
    parts, end = [], 0
    for span in _SPAN.finditer(text):
        parts += [_escaped(text[end : span.start()]), _span(span)]
        end = span.end()
    return "".join([*parts, _escaped(text[end:])])


def _span(span: re.Match[str]) -> str:
    if span["code"] or span["bold"]:
        return f"\\fB{_escaped(span['code'] or span['bold'])}\\fR"
    page = re.fullmatch(r"(funcgraph[\w-]*)\.md(#.*)?", span["target"])
    return f"\\fB{_escaped(page[1])}\\fR({_SECTION})" if page else _inline(span["text"])


def _escaped(text: str) -> str:
    for character, escape in (("\\", "\\e"), ("-", "\\-"), ("^", "\\(ha"), ("~", "\\(ti"), ("`", "\\(ga")):
        text = text.replace(character, escape)
    return text.replace('"', "\\(dq").replace("'", "\\(aq")


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m tools.manual_pages FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    release = version()
    for path in pages():
        page = manual_page(path.stem, path.read_text(encoding="utf-8"), release)
        (folder / f"{path.stem}.{_SECTION}").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
