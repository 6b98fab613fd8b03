"""Fixtures: cells that a kernel has run, and a browser."""

from __future__ import annotations

from view.pages import browser

from notebooks.cells import notebook, outputs

__all__ = ["browser", "notebook", "outputs"]
