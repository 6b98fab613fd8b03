"""Attaching to a running process that never heard of funcgraph."""

from __future__ import annotations

from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in

__all__ = ["AttachError", "run_in"]
