"""The table of formats, and a module for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import cast

from funcgraph.export.format import ExportError, Format
from funcgraph.names import did_you_mean

#: Modules of this package. Each has FORMATS, a tuple of `Format`. The help text has them in this order.
MODULES = (
    "perfetto", "chrome", "speedscope", "firefox", "html_page", "flame_svg", "collapsed",
    "pstats_file", "callgrind", "dot", "mermaid", "csv_table", "arrow", "otlp", "trace_dat",
)  # fmt: skip


@cache
def all_formats() -> tuple[Format, ...]:
    """Return the formats, in the order of the help text."""
    return tuple(form for name in MODULES for form in _formats_of(name))


def find_format(name: str) -> Format:
    """Return the format of a name.

    Raises:
        ExportError: there is none.
    """
    found = next((form for form in all_formats() if form.name == name), None)
    if found is None:
        names = [form.name for form in all_formats()]
        meant = did_you_mean(name, names)
        raise ExportError(f"unknown format '{name}': must be one of {', '.join(names)}{meant}")
    return found


def format_of_file(path: str) -> Format:
    """Return the format that a file's name stands for: that with the longest suffix.

    Raises:
        ExportError: none has such a suffix.
    """
    fits = [
        (len(suffix), form) for form in all_formats() for suffix in form.suffixes if path.endswith(suffix)
    ]
    if not fits:
        known = sorted({suffix for form in all_formats() for suffix in form.suffixes})
        raise ExportError(f"{path}: no format has this suffix; there are {', '.join(known)}")
    return max(fits, key=lambda fit: fit[0])[1]


def _formats_of(module: str) -> Sequence[Format]:
    return cast(Sequence[Format], import_module(f"funcgraph.export.formats.{module}").FORMATS)
