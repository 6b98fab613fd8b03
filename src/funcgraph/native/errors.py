"""What keeps an object from being planned: one line for a person."""

from __future__ import annotations

__all__ = ["MISSING", "PlanError"]

#: The libraries that decode instructions and names are an extra.
MISSING = "planning native functions needs iced-x86 and pydemumble: pip install 'funcgraph[native]'"


class PlanError(Exception):
    """An object cannot be planned. The text says why, without the object's path."""
