"""The files of the page: a fixed table, and nothing else of the disk is served."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

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


@cache
def _table() -> dict[str, str]:
    """Return the names of the page's files, with their media types."""
    names = (entry.name for entry in files("funcgraph.view").joinpath("page").iterdir() if entry.is_file())
    types = ((name, _TYPES.get("." + name.rpartition(".")[2])) for name in names)
    return {name: kind for name, kind in types if kind}


def page_file(name: str) -> tuple[bytes, str] | None:
    """Return a file's bytes and media type; None: the page has no such file."""
    kind = _table().get(name)
    return None if kind is None else (files("funcgraph.view").joinpath("page", name).read_bytes(), kind)
