"""What keeps an object from being planned: one line for a person."""

from __future__ import annotations

__all__ = ["MISSING", "NEEDS_GIL", "PLANNER", "PlanError"]

#: The libraries that decode instructions and names are an extra.
MISSING = "planning native functions needs iced-x86 and pydemumble: pip install 'funcgraph[native]'"

#: The environment variable that names another Python, which makes plans for one that cannot.
PLANNER = "FUNCGRAPH_PLANNER"
NEEDS_GIL = (
    "planning takes a CPython with the GIL: iced-x86 does not load in this one; "
    f"{PLANNER}=PYTHON names one that has funcgraph[native]"
)


class PlanError(Exception):
    """An object cannot be planned. The text says why, without the object's path."""
