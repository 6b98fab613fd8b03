"""The table of questions that a page may ask about a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from funcgraph.view import answers, call_detail
from funcgraph.view.parameters import Parameters
from funcgraph.view.served import Served

__all__ = ["QUESTIONS", "Question"]

#: What a question's function returns: an object for JSON, or bytes as they are.
Answer: TypeAlias = dict[str, Any] | bytes


class Question(NamedTuple):
    """A question.

    Attributes:
        answer: the function, which runs in a thread.
        parameters: the names that it takes, besides `trace`.
        is_long: it may read much of the trace, so only a few run at the same time.
    """

    answer: Callable[[Served, Parameters], Answer]
    parameters: tuple[str, ...] = ()
    is_long: bool = False


_PART = ("begin", "end")

QUESTIONS = {
    "lanes": Question(answers.lanes),
    "functions": Question(answers.functions),
    "spans": Question(answers.spans, ("lane", *_PART, "pixels", "first", "last")),
    "marks": Question(answers.marks, ("lane", *_PART, "most")),
    "call": Question(call_detail.call, ("lane", "time", "depth")),
}
