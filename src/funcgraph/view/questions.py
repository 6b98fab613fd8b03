"""The table of questions that a page may ask about a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from funcgraph.view import (
    answer_evidence,
    answer_panels,
    answer_part,
    answers,
    call_detail,
    compare_panels,
    difference,
    expectation_panel,
    flows,
    report_text,
    search,
    tree_query,
)
from funcgraph.view.answer_part import dated
from funcgraph.view.parameters import Parameters
from funcgraph.view.served import Served

__all__ = ["MOST_BODY_BYTES", "QUESTIONS", "Question"]

#: A body may have so many bytes.
MOST_BODY_BYTES = expectation_panel.MOST_TEXT_BYTES

#: What a question's function returns: an object for JSON, or bytes as they are.
Answer: TypeAlias = dict[str, Any] | bytes


class Question(NamedTuple):
    """A question.

    Attributes:
        answer: the function, which runs in a thread.
        parameters: the names that it takes, besides `trace`.
        is_long: it may read much of the trace, so only a few run at the same time.
        body: the parameter that is the request's body, as it may be long; "": it has none.
    """

    answer: Callable[[Served, Parameters], Answer]
    parameters: tuple[str, ...] = ()
    is_long: bool = False
    body: str = ""


_PART = ("begin", "end")

QUESTIONS = {
    "lanes": Question(answers.lanes),
    "functions": Question(answers.functions),
    "spans": Question(answers.spans, ("lane", *_PART, "pixels", "first", "last")),
    "marks": Question(answers.marks, ("lane", *_PART, "most")),
    "call": Question(call_detail.call, ("lane", "time", "depth")),
    "flows": Question(flows.flows, ("lane", "time", "depth")),
    "step": Question(call_detail.step, ("function", "time", "direction", "lane", "raised")),
    "longest": Question(call_detail.longest, ("function", "least", "most")),
    "histogram": Question(call_detail.histogram, ("function",)),
    "source": Question(call_detail.source, ("function",)),
    "tree": Question(tree_query.tree, (*tree_query.PART, *tree_query.OPERATIONS), is_long=True),
    "table": Question(tree_query.table, (*tree_query.PART, *tree_query.OPERATIONS), is_long=True),
    "diff": Question(
        difference.diff, (*_PART, "base_begin", "base_end", *tree_query.OPERATIONS), is_long=True
    ),
    "butterfly": Question(
        tree_query.butterfly, ("function", *tree_query.PART, *tree_query.OPERATIONS), is_long=True
    ),
    "search": Question(search.search, ("text", "lane", *_PART, "values", "most"), is_long=True),
    "why": Question(
        dated(answer_panels.why),
        ("of", *answer_part.FUNCTION, "lane", "time", "depth", "thread"),
        is_long=True,
    ),
    "compare": Question(
        dated(compare_panels.compare),
        ("lane", "time", "depth", "first_lane", "first_time", "first_depth"),
        is_long=True,
    ),
    "different": Question(dated(compare_panels.different), ("name", "task", "number"), is_long=True),
    "values": Question(dated(answer_panels.values), (*answer_part.FUNCTION, *answer_part.PART), is_long=True),
    "repeat": Question(dated(answer_panels.repeat), ("least", "imports", *answer_part.PART), is_long=True),
    "exceptions": Question(
        dated(answer_panels.exceptions), ("number", "imports", *answer_part.PART), is_long=True
    ),
    "expect": Question(dated(expectation_panel.check), ("thread",), is_long=True, body="text"),
    "expectation": Question(expectation_panel.write, expectation_panel.PART, is_long=True),
    "evidence": Question(answer_evidence.evidence, ("lane", "begin", "end", "function")),
    "text": Question(report_text.text, ("lane", *_PART, "most"), is_long=True),
}
