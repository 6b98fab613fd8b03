"""Attaching to a running process that never heard of funcgraph."""

from __future__ import annotations

from funcgraph.attach.errors import AttachError
from funcgraph.attach.inject import run_in
from funcgraph.attach.serving import attach

__all__ = ["AttachError", "attach", "run_in"]
