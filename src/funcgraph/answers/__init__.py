"""Answers to questions about the calls of one trace: what was slow, repeated, raised.

from funcgraph import answers

with funcgraph.open("trace.fg") as trace:
    for field in answers.values(trace, "shop.price")[0].ranked("slow"):
        print(field.name, field.slow_share)
"""

from __future__ import annotations

from funcgraph.answers.exceptions import exceptions
from funcgraph.answers.repeat import repeat
from funcgraph.answers.values import values

__all__ = ["exceptions", "repeat", "values"]
