"""One export: a trace, a format, a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from typing import BinaryIO

from funcgraph.export.format import ExportError, Format
from funcgraph.export.formats import find_format, format_of_file
from funcgraph.export.source import Source
from funcgraph.output_file import whole_file
from funcgraph.tracedata.opened import open_trace
from funcgraph.tracedata.selection import Selection


def export_trace(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str] | BinaryIO,
    format: str | None = None,
    *,
    select: Selection | None = None,
) -> Sequence[str]:
    """Write a trace in the format of another viewer.

    Args:
        path: the trace.
        output: the file to write, which appears when it is whole; or a binary file that is open for writing.
        format: the name of the format, as `funcgraph export --help` lists them; None: what the suffix of
            `output` says.
        select: what is exported; None: all.

    Returns:
        What there is to say: what the format cannot hold, and what this trace lacks.

    Raises:
        ExportError: no such format, or its extra is not installed.
        SelectionError: the trace has nothing that `select` names.
        TraceError: the file is not a trace, or is damaged.
        OSError: a file cannot be read or written.

    Example:
        >>> export_trace("trace.fg", "trace.pftrace")
    """
    if format is None and not isinstance(output, str | os.PathLike):
        raise ExportError("a file that is open has no suffix: give the format")
    form = find_format(format) if format else format_of_file(os.fspath(output))  # type: ignore[arg-type]
    check_extra(form)
    with open_trace(path) as trace:
        source = Source(trace, select=select)
        write(form, source, output)
    return [*filter(None, [form.lacks]), *source.notes()]


def write(form: Format, source: Source, output: str | os.PathLike[str] | BinaryIO) -> None:
    """Write a source; a file that is given by its name appears when it is whole."""
    if not isinstance(output, str | os.PathLike):
        form.write(source, output)
        return
    with whole_file(os.fspath(output)) as out:
        form.write(source, out)


def check_extra(form: Format) -> None:
    """Raise ExportError if what a format needs is not installed."""
    missing = [name for name in form.modules if find_spec(name.partition(".")[0]) is None]
    if missing:
        raise ExportError(
            f"the format {form.name} needs {' and '.join(missing)}: pip install 'funcgraph[{form.extra}]'"
        )
