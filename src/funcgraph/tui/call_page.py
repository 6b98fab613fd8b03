"""One call: its arguments, its result, its callers and its source."""

from __future__ import annotations

from typing import Any, NamedTuple

from funcgraph.tui.cells import plain
from funcgraph.tui.queries import Queries
from funcgraph.view.call_detail import time_text

__all__ = ["CallPage"]

_MOST_CALLERS = 30
_MOST_CELLS = 100_000  # of an argument that is shown


class _Row(NamedTuple):
    text: str
    function: int | None = None


class CallPage:
    """What there is to say about a call.

    Args:
        queries: asks about the trace.
        head: the call, as an answer has it: lane, begin_ns, depth.

    Attributes:
        call: the answer; None: it is not in the index.

    Raises:
        RequestError, TraceError, OSError: as of the queries.
    """

    def __init__(self, queries: Queries, head: dict[str, Any]) -> None:
        self._queries = queries
        parameters = {"lane": head["lane"], "time": head["begin_ns"], "depth": head["depth"]}
        self.call: dict[str, Any] | None = queries.ask("call", **parameters)["call"]
        self._rows = [_Row("this call cannot be told from its neighbours")]
        if self.call is not None:
            self._rows = [*self._facts(self.call), *self._callers(self.call), *self._source(self.call)]

    def _facts(self, call: dict[str, Any]) -> list[_Row]:
        amount, served = self._queries.amount, self._queries.served
        task = served.lane(call["lane"]).task
        nth = "" if call["nth"] is None else f"call {call['nth']:,} of {call['of']:,}"
        rows = [
            _Row(plain(self._queries.name(call["function"])), call["function"]),
            _Row(f"  {nth or 'one of ' + format(call['of'], ',')}, at depth {call['depth']}"),
            _Row(f"  thread     {plain(task.name)} {task.tid}"),
            _Row(f"  begin      {time_text(served, served.begin_ns + call['begin_ns'])}"),
            _Row(f"  total      {amount(call['total_ns'])}"),
            _Row(f"  own        {amount(call['own_ns'])}"),
            _Row(f"  end        {call['ended']}"),
        ]
        if call["arguments"] is None:
            rows.append(_Row("  arguments  not recorded (funcgraph record -O funcgraph-args)"))
        for name, value in call["arguments"] or ():
            rows.append(_Row(f"  argument   {plain(name)}={plain(value, _MOST_CELLS)}"))
        if call["result"] is not None:
            rows.append(_Row(f"  result     {plain(call['result'], _MOST_CELLS)}"))
        if call["exception"] is not None:
            rows.append(_Row(f"  raised     {plain(call['exception'], _MOST_CELLS)}"))
        return rows

    def _callers(self, call: dict[str, Any]) -> list[_Row]:
        rows = [_Row(""), _Row("called by" if call["parents"] else "called by nothing in the trace")]
        for parent in call["parents"][:_MOST_CALLERS]:
            line = f", line {parent['line']}" if parent["line"] else ""
            rows.append(_Row(f"  {plain(self._queries.name(parent['function']))}{line}", parent["function"]))
        left = len(call["parents"]) - _MOST_CALLERS
        return [*rows, _Row(f"  and {left:,} more")] if left > 0 else rows

    def _source(self, call: dict[str, Any]) -> list[_Row]:
        source = call["source"]
        if source is None:
            return [_Row(""), _Row("its source is not here")]
        rows = [_Row(""), _Row(f"{plain(source['file'])}:{source['line']}")]
        for number, line in source["lines"]:
            sign = ">" if number == source["line"] else " "
            rows.append(_Row(f"{sign}{number:5}  {plain(line)}"))
        return rows

    def __len__(self) -> int:
        return len(self._rows)

    def heading(self, _cells: int) -> str:
        return "one call"

    def line(self, number: int, _cells: int) -> str:
        return self._rows[number].text

    def text(self, number: int) -> str:
        return self._rows[number].text

    def function(self, number: int) -> int | None:
        return self._rows[number].function
