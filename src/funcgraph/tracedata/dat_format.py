"""Which trace.dat is made of a .fg: the settings `file_version` and `compression`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from funcgraph import _tracedata
from funcgraph.settings.table import BY_NAME
from funcgraph.tracedata.codecs import provide

__all__ = ["DatFormat"]

_NEWEST = BY_NAME["file_version"].most


class DatFormat(NamedTuple):
    """The version of a trace.dat, and its compression; None: the best that this system has."""

    version: int = _NEWEST
    compression: str | None = None

    @classmethod
    def of(cls, settings: dict[str, Any]) -> DatFormat:
        """Return that of a recording's settings, which were checked."""
        return cls(settings["file_version"] or _NEWEST, settings["compression"] or None)

    def check_codec(self) -> None:
        """Raise ValueError if this system does not have the compression: a recording must not end in that."""
        provide()
        there = _tracedata.codec_names()
        if self.compression not in (None, *there):
            raise ValueError(f"this system has no {self.compression}; it has {', '.join(there)}")

    def convert(
        self, source: str | int, output: str | int, progress: Callable[[float], object] | None = None
    ) -> int | None:
        """Write a trace.dat of a file, both by name or descriptor, as _tracedata.convert() does."""
        provide()
        return _tracedata.convert(
            source, output, version=self.version, compression=self.compression, progress=progress
        )
