"""A field of an event, as filters and histograms see it: of its definition, or of a trace."""

from __future__ import annotations

from typing import Protocol

__all__ = ["EventField"]


class EventField(Protocol):
    """Its name, its type, and how many elements the array has; 0: it is none."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def count(self) -> int: ...
