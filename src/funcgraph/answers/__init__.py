"""Answers to questions about the calls of one trace: what was slow, repeated, raised.

from funcgraph import answers

with funcgraph.open("trace.fg") as trace:
    for field in answers.values(trace, "shop.price")[0].ranked("slow"):
        print(field.name, field.slow_share)
"""

from __future__ import annotations

from funcgraph.answers.compare_calls import compare_calls, different_calls, first_different_calls
from funcgraph.answers.exceptions import exceptions
from funcgraph.answers.expectation import match_calls, parse_expectation
from funcgraph.answers.named_call import find_call
from funcgraph.answers.repeat import repeat
from funcgraph.answers.trace_check import check_trace
from funcgraph.answers.values import values
from funcgraph.answers.why import why
from funcgraph.answers.written_expectation import write_call, write_expectation

__all__ = [
    "check_trace",
    "compare_calls",
    "different_calls",
    "exceptions",
    "find_call",
    "first_different_calls",
    "match_calls",
    "parse_expectation",
    "repeat",
    "values",
    "why",
    "write_call",
    "write_expectation",
]
