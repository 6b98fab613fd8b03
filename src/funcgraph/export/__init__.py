"""Exports: a trace in the formats of other people's viewers, one module for each format.

from funcgraph.export import export_trace

export_trace("trace.fg", "perfetto", "trace.pftrace")
"""

from __future__ import annotations

from funcgraph.export.formats import all_formats, find_format, format_of_file
from funcgraph.export.run import export_trace

__all__ = ["all_formats", "export_trace", "find_format", "format_of_file"]
