"""The format of trace-cmd and KernelShark: trace.dat."""

from __future__ import annotations

from dataclasses import asdict
from typing import BinaryIO

from funcgraph.export.format import ExportError, Format
from funcgraph.export.source import Source


def write(source: Source, out: BinaryIO) -> None:
    """Write all of a .fg trace. Damage in it is noted in the source.

    Raises:
        ExportError: a part is selected, the trace is no .fg, or `out` is no file.
    """
    if source.select is not None and any(asdict(source.select).values()):
        raise ExportError("a trace.dat has the whole trace: it takes no selection")
    if not out.seekable():
        raise ExportError("a trace.dat is written into a file: name it with -o")
    try:
        source.damaged_at = source.dat_format.convert(source.trace.path, out.fileno(), source.trace.progress)
    except ValueError as error:
        raise ExportError(str(error)) from None
    except OSError as error:
        raise OSError(error.errno, error.strerror) from None  # without the number of the descriptor


FORMATS = (Format("trace-dat", (".dat",), "for trace-cmd and KernelShark", "", write),)
