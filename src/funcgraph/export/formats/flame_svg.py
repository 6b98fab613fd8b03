"""A flame graph as SVG: one file that any browser opens, with zoom and search in it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import BinaryIO
from xml.sax.saxutils import escape

from funcgraph.export.flame import (
    Flame,
    Frame,
    color_of,
    details_of,
    label_of,
    lay_out,
    module_of,
    short_name,
    title_of,
)
from funcgraph.export.format import Format
from funcgraph.export.source import Source
from funcgraph.export.trees import tree_of
from funcgraph.tracedata.call_tree import NO_PARENT

WIDTH = 1200
LEAST_PIXELS = 0.4  # of a box
_BOX, _MARGIN, _TOP, _BOTTOM = 17, 10, 44, 34
_CHARACTER = 6.7  # its width, of the font below
_STYLE = """\
text { font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.quiet { fill: #656d76 }
.button { cursor: pointer; fill: #0969da }
g.box { cursor: pointer }
g.box:hover rect { stroke: #1f2328; stroke-width: 1 }
g.box text { pointer-events: none }
.around rect { opacity: 0.45 }
.found rect { fill: #b566ff }
.hidden { display: none }"""


def write(source: Source, out: BinaryIO) -> None:
    """Write the picture; what is left out of it is a remark of the source."""
    flame = lay_out(tree_of(source), LEAST_PIXELS / (WIDTH - 2 * _MARGIN))
    out.writelines(line.encode() for line in svg_lines(flame, title_of(source)))
    if flame.left_out:
        source.remarks.append(f"{flame.left_out:,} paths are left out: they would be narrower than a line")


def svg_lines(flame: Flame, title: str) -> Iterator[str]:
    """Yield the lines of the document."""
    levels = 1 + max(frame.level for frame in flame.frames)
    height = _TOP + levels * _BOX + _BOTTOM
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img">\n<title>{_escaped(title)}</title>\n'
    )
    yield f"<style>\n{_STYLE}\n</style>\n"
    yield f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#fffdf8"/>\n'
    yield f'<text class="title" x="{WIDTH / 2:g}" y="25" text-anchor="middle">{_escaped(title)}</text>\n'
    yield f'<text class="button hidden" id="reset" x="{_MARGIN}" y="25">Reset zoom</text>\n'
    yield f'<text class="button" id="search" x="{WIDTH - _MARGIN}" y="25" text-anchor="end">Search</text>\n'
    whole = details_of(flame, flame.frames[0])
    yield f'<text class="quiet" id="details" x="{_MARGIN}" y="{height - 12}">{_escaped(whole)}</text>\n'
    yield f'<text class="quiet" id="matched" x="{WIDTH - _MARGIN}" y="{height - 12}" text-anchor="end"/>\n'
    yield '<g id="boxes">\n'
    for frame in flame.frames:
        yield _box(flame, frame, _TOP + (levels - 1 - frame.level) * _BOX)
    yield "</g>\n"
    script = files("funcgraph.export.formats").joinpath("flame_svg.js").read_text()
    yield f"<script><![CDATA[\n{script}]]></script>\n</svg>\n"


def _box(flame: Flame, frame: Frame, y: int) -> str:
    inner = WIDTH - 2 * _MARGIN
    x, width = _MARGIN + frame.start * inner, frame.share * inner
    name = label_of(flame, frame)
    is_whole = frame.place == NO_PARENT
    fill = "#d8d2c6" if is_whole else color_of(module_of(flame.tree, frame.place))
    shown = _fitting(name, name if is_whole else short_name(flame.tree, frame.place), width)
    text = f'<text x="{x + 3:.1f}" y="{y + 12}">{_escaped(shown)}</text>' if shown else ""
    return (
        f'<g class="box"><title>{_escaped(name)}\n{_escaped(details_of(flame, frame))}</title>'
        f'<rect x="{x:.2f}" y="{y}" width="{max(width - 0.3, 0.1):.2f}" height="{_BOX - 1}" rx="1" '
        f'fill="{fill}"/>{text}</g>\n'
    )


def _fitting(name: str, short: str, width: float) -> str:
    """Return the name, or as much of it as fits; "" if hardly any does."""
    room = int((width - 6) / _CHARACTER)
    if len(name) <= room:
        return name
    if len(short) <= room:
        return short
    return f"{short[: room - 1]}…" if room >= 4 else ""


def _escaped(text: str) -> str:
    return escape(text, {'"': "&quot;"})


FORMATS = (
    Format(
        "svg",
        (".svg",),
        "a flame graph, for a browser, with zoom and search",
        "it has figures of paths, no order in time, no exceptions, and no boxes narrower than a line",
        write,
        is_text=True,
        is_picture=True,
    ),
)
