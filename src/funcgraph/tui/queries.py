"""Questions about a trace, asked in this process: the same that the page of `funcgraph view` asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgraph.page.path_tree import OTHERS
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.summary import duration_text
from funcgraph.view.parameters import Parameters
from funcgraph.view.questions import QUESTIONS
from funcgraph.view.served import Served

__all__ = ["Queries"]


class Queries:
    """Asks about one trace.

    Args:
        served: the trace.
    """

    def __init__(self, served: Served) -> None:
        self.served = served

    def ask(self, question: str, **parameters: object) -> Any:
        """Return the answer to a question of QUESTIONS.

        Raises:
            RequestError: there is none, or not yet.
            TraceError, OSError: the file cannot be read.
        """
        row = QUESTIONS[question]
        items = [(name, str(value)) for name, value in parameters.items()]
        return row.answer(self.served, Parameters(items, row.parameters))

    @property
    def functions(self) -> Sequence[Function]:
        return self.served.functions

    def name(self, number: int | None) -> str:
        """Return what a person calls a function, by its number in an answer."""
        if number == OTHERS:
            return "(all others)"
        known = self.known(number)
        return "(unknown)" if known is None else self.functions[known].name

    def known(self, number: int | None) -> int | None:
        """Return the number if it is that of a function."""
        return number if number is not None and 0 <= number < len(self.functions) else None

    def amount(self, count: int | None) -> str:
        """Return a time of the trace's clock as text."""
        if count is None:
            return "-"
        return duration_text(count) if self.served.has_times else f"{count:,}"
