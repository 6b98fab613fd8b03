"""What a client of `funcgraph mcp` can reach: the traces and processes that the command line names, and the
traces that it recorded. It knows nothing of the protocol."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence

from funcgraph.mcp.running import Answer, bounded, run_command
from funcgraph.mcp.tools import (
    LIMIT,
    PAIR,
    RECORD,
    TOOLS,
    TRACE,
    RequestError,
    Tool,
    checked_value,
    command_words,
    input_of,
)
from funcgraph.names import printable
from funcgraph.rights.proc_facts import start_time

__all__ = ["Served"]

_LEAST_LIMIT, _LIMIT, _MOST_LIMIT = 200, 8000, 100_000
_MOST_SECONDS = 60
_TRACES = Tool("traces", "The traces that can be asked about.", (), (), reads=0)


class Served:
    """The traces and processes of one server.

    Args:
        traces: paths of the traces, the latest one last.
        pids: processes that may be recorded.

    Attributes:
        tools: what a client can call.

    Raises:
        ProcessLookupError: there is no such process.
    """

    def __init__(self, traces: Sequence[str], pids: Sequence[int]) -> None:
        self._traces = list(traces)
        # A later process may get the same id.
        self._processes = {pid: start_time(pid) for pid in pids}
        for pid, start in self._processes.items():
            if start is None:
                raise ProcessLookupError(f"process {pid}: there is no such process")
        self._folder = ""
        most = 2 if pids else min(len(self._traces), 2)  # a recording makes one more
        tools = (tool for tool in TOOLS if tool.reads <= most)
        self.tools = (_TRACES, *tools, *((RECORD,) if pids else ()))

    async def call(self, name: str, given: Mapping[str, object]) -> Answer:
        """Answer a client's call of a tool. An error is an answer, too."""
        limit = _LIMIT
        try:
            limit = _limit_of(given)
            tool = next((one for one in self.tools if one.name == name), None)
            if tool is None:
                raise RequestError(
                    f"no tool '{name}'; there are: {', '.join(one.name for one in self.tools)}"
                )
            rest = {key: value for key, value in given.items() if key != LIMIT.name}
            return await self._answer(tool, rest, limit)
        except (RequestError, OSError) as error:
            return Answer(bounded(str(error), limit), True)

    async def _answer(self, tool: Tool, given: dict[str, object], limit: int) -> Answer:
        if tool is _TRACES:
            command_words(tool, given)
            return Answer(bounded("\n".join(map(printable, self._traces)) or "none yet", limit), False)
        if tool is RECORD:
            return await self._record(given, limit)
        if tool.reads == len(PAIR):
            pair = self._pair(given)
            return await run_command([*command_words(tool, given), "--", *pair], limit)
        trace = self._trace(given.pop(TRACE.name, None))
        words = command_words(tool, given, ("-i", trace))
        return await run_command(words, limit, input_of(tool, given))

    def _trace(self, name: object) -> str:
        if name is None and self._traces:
            return self._traces[-1]
        if not isinstance(name, str) or name not in self._traces:
            listing = ", ".join(map(printable, self._traces)) or "none yet"
            raise RequestError(f"no such trace; there are: {listing}")
        return name

    def _pair(self, given: dict[str, object]) -> list[str]:
        """Take the traces of a tool that reads two out of what was given: without names the latest ones."""
        names = [given.pop(one.name, None) for one in PAIR]
        if len(self._traces) < len(PAIR):
            raise RequestError(
                "two traces are needed: there is one" if self._traces else "there is no trace yet"
            )
        latest = self._traces[-len(PAIR) :]
        return [
            self._trace(other if name is None else name) for name, other in zip(names, latest, strict=True)
        ]

    async def _record(self, given: dict[str, object], limit: int) -> Answer:
        path = os.path.join(self._folder or self._make_folder(), f"{len(self._traces) + 1}.fg")
        words = command_words(RECORD, given, ("-o", path))
        pid, seconds = given["pid"], given["seconds"]
        assert isinstance(pid, int)  # they were checked
        assert isinstance(seconds, int)
        if pid not in self._processes:
            raise RequestError(
                f"process {pid} may not be recorded; those that may: {sorted(self._processes)}"
            )
        if start_time(pid) != self._processes[pid]:
            raise RequestError(f"process {pid} has ended")
        if not 1 <= seconds <= _MOST_SECONDS:
            raise RequestError(f"'seconds' must be 1 to {_MOST_SECONDS}")
        answer = await run_command(words, limit)
        if os.path.exists(path):
            self._traces.append(path)
        return answer

    def _make_folder(self) -> str:
        self._folder = tempfile.mkdtemp(prefix="funcgraph-mcp-")
        return self._folder


def _limit_of(given: Mapping[str, object]) -> int:
    value = given.get(LIMIT.name)
    if value is None:
        return _LIMIT
    limit = checked_value(LIMIT, value)
    assert isinstance(limit, int)
    return min(max(limit, _LEAST_LIMIT), _MOST_LIMIT)
