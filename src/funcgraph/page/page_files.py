"""The files of the page: a fixed table, and nothing else of the disk is served."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["FIRST_PAGE", "page_file"]

FIRST_PAGE = "index.html"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}


def _paths(folder: Traversable, above: str = "") -> Iterator[str]:
    """Yield the paths of all files in a folder, relative to the page's."""
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _paths(entry, f"{above}{entry.name}/")
        else:
            yield above + entry.name


@cache
def _table() -> dict[str, str]:
    """Return the paths of the page's files in its folder, with their media types."""
    names = _paths(files("funcgraph.page").joinpath("browser"))
    types = ((name, _TYPES.get("." + name.rpartition(".")[2])) for name in names)
    return {name: kind for name, kind in types if kind}


def page_file(name: str) -> tuple[bytes, str] | None:
    """Return a file's bytes and media type; None: the page has no such file."""
    kind = _table().get(name)
    return (
        None
        if kind is None
        else (files("funcgraph.page").joinpath("browser", *name.split("/")).read_bytes(), kind)
    )
