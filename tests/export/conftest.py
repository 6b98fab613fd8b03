"""Runs the commands, as tests of trace files do."""

from tracedata.conftest import command

__all__ = ["command"]
