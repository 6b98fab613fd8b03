"""When each coroutine of an event loop, and each greenlet, has its thread; and when each thread of a kernel
has a CPU."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from funcgraph import _tracedata
from funcgraph.tracedata.call_index import FunctionCalls
from funcgraph.tracedata.description import Function, Task
from funcgraph.tracedata.trace_file import function_rows, task_rows

__all__ = ["COROUTINE", "SUSPENDS", "Root", "RootKind", "Run", "RunTable", "may_have_runs", "read_runs"]

RootKind: TypeAlias = Literal["coroutine", "greenlet", "cpu"]
_KINDS = cast(tuple[RootKind, ...], get_args(RootKind))  # in the order of FG_ROOT_KINDS
SUSPENDS, COROUTINE = 7, 2  # FG_FUNC_SUSPENDS: what a coroutine or a generator has; FG_FUNC_COROUTINE
_MOST_RUNS = 1 << 20
_MOST_ROOTS = 1 << 16
_NO_FUNCTION = _NO_CPU = 2**32 - 1

#: What Reader.run_table() returns.
_Columns: TypeAlias = "tuple[_tracedata.ColumnTuple, _tracedata.ColumnTuple, int]"


class Root(NamedTuple):
    """A coroutine that no traced coroutine awaits, as a task of an event loop runs it; the outermost call of
    a greenlet; or a CPU of a kernel's trace.

    Attributes:
        number: its number in the table.
        kind: `coroutine`, `greenlet` or `cpu`.
        cpu: the number of the CPU; None: it is none.
        function: index in the trace's `functions`; 2**32 - 1: it is a CPU.
        maker: index of the function of the call around its first run; None: there is none.
        begin_ns, end_ns: from the begin of its first run to the end of its last one.
        ran_ns: how long it ran.
        calls: how many calls began meanwhile.
        runs: how many runs it has.
        depths: how many levels of calls they have.
    """

    number: int
    kind: RootKind
    cpu: int | None
    function: int
    maker: int | None
    begin_ns: int
    end_ns: int
    ran_ns: int
    calls: int
    runs: int
    depths: int


class Run(NamedTuple):
    """A stretch of a root.

    Attributes:
        begin_ns, end_ns: when it began and ended.
        task: the number of the thread's task; in a kernel's trace of the one that its lane has.
        depth: that of the root in its thread.
    """

    begin_ns: int
    end_ns: int
    task: int
    depth: int


class RunTable:
    """The roots of a trace and their runs. It does not change.

    Its memory is bounded. If there are more than a million runs, those of a root that are close together are
    one; of CPUs the shortest are left out.

    Attributes:
        left_out: how many roots there are more, which are only counted.
    """

    def __init__(self, roots: _tracedata.ColumnTuple, runs: _tracedata.ColumnTuple, left_out: int) -> None:
        self._roots = dict(zip(_tracedata.ROOT_COLUMNS, roots, strict=True))
        self._runs = dict(zip(_tracedata.RUN_COLUMNS, runs, strict=True))
        self.left_out = left_out

    @classmethod
    def empty(cls) -> RunTable:
        """Return a table without roots."""
        none = memoryview(b"")
        return cls((none,) * len(_tracedata.ROOT_COLUMNS), (none,) * len(_tracedata.RUN_COLUMNS), 0)

    def __len__(self) -> int:
        return len(self._roots["begin_ns"])

    def root(self, number: int) -> Root:
        """Return a root by its number."""
        row = {name: column[number] for name, column in self._roots.items()}
        maker = None if row["maker"] == _NO_FUNCTION else row["maker"]
        times = row["begin_ns"], row["end_ns"], row["ran_ns"]
        counts = row["calls"], row["runs"], row["depths"]
        cpu = None if row["cpu"] == _NO_CPU else row["cpu"]
        return Root(number, _KINDS[row["kind"]], cpu, row["function"], maker, *times, *counts)

    def longest(self, most: int) -> list[int]:
        """Return the numbers of those that ran longest, in the order of their begins."""
        ran_ns = self._roots["ran_ns"]
        chosen = sorted(range(len(self)), key=lambda number: -ran_ns[number])[:most]
        return sorted(chosen)

    def alive(self, time_ns: int) -> list[int]:
        """Return the numbers of those that have begun and not ended at a time."""
        times = zip(self._roots["begin_ns"], self._roots["end_ns"], strict=True)
        return [number for number, (begin, end) in enumerate(times) if begin <= time_ns <= end]

    def run_at(self, root: int, time_ns: int) -> Run | None:
        """Return the run of a root at a time; None: it does not run then."""
        first, last = self._range(root)
        place = bisect_right(self._runs["begin_ns"], time_ns, first, last) - 1
        run = self._run(place) if place >= first else None
        return run if run and time_ns <= run.end_ns else None

    def runs(self, root: int, begin_ns: int, end_ns: int) -> Sequence[Run]:
        """Return the runs of a root that are in progress in a part, in order."""
        first, last = self._range(root)
        begin = bisect_left(self._runs["end_ns"], begin_ns, first, last)
        end = bisect_left(self._runs["begin_ns"], end_ns, begin, last)
        return [self._run(place) for place in range(begin, end)]

    def _range(self, root: int) -> tuple[int, int]:
        first = self._roots["first"][root]
        return first, first + self._roots["runs"][root]

    def _run(self, place: int) -> Run:
        return Run(*(self._runs[name][place] for name in Run._fields))


def may_have_runs(called: Sequence[FunctionCalls], is_kernel: bool) -> bool:
    """Whether a trace has CPUs, or something was suspended that is no generator."""
    if is_kernel:
        return True
    for row in called:
        flags = row.function.flags if row.function else 0
        if flags & COROUTINE or (row.spans > row.calls and not flags & SUSPENDS):
            return True
    return False


def read_runs(reader: _tracedata.Reader, functions: Sequence[Function], tasks: Sequence[Task]) -> _Columns:
    """Read a trace for `Trace.runs`: return the arguments of RunTable.

    Raises:
        ValueError: the file is damaged.
        OSError: it cannot be read.
    """
    rows = function_rows(functions), task_rows(tasks, None)
    flags = bytes(function.flags & SUSPENDS for function in functions)
    return reader.run_table(*rows, flags, _MOST_RUNS, _MOST_ROOTS)
