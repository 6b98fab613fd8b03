"""The function profiler: the functions in which a program spends its time, as the kernel's trace_stat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from funcgraph import _engine
from funcgraph.instance.native import hook_selected

__all__ = ["FunctionProfile", "ProfileRow"]

# Of native functions (hooking.py): new objects are looked at for those of all profiles so far.
_OWNER = "function profiles"
_NAME_WIDTH = 30
_TIME_WIDTH = 8  # without the unit


class ProfileRow(NamedTuple):
    """The figures of one function.

    Attributes:
        name: "module.qualname", of a native function "name [object]". Two functions may have the same name.
        hit: number of calls that began.
        time_ns: total time of the calls that ended.
        s2: the variance of a call's time, in square microseconds: sum((x - mean)**2) / (hit - 1).
        file: where the function is defined; "" for a native function.
        line: its first line; 0 for a native function.
    """

    name: str
    hit: int
    time_ns: int
    s2: float
    file: str
    line: int

    @property
    def avg_ns(self) -> int:
        """The average time of a call."""
        return self.time_ns // self.hit if self.hit else 0


class FunctionProfile(_engine.ProfileBase):
    """The function profiler: counts and times the calls of each function, in the process, without a trace.

        with funcgraph.FunctionProfile(filter=["shop.*"]) as profile:
            work()
        print(profile.trace_stat())

    The semantics are those of the kernel's function_profile_enabled and trace_stat/functionN
    (Documentation/ trace/ftrace.rst, kernel/trace/ftrace.c). A call is counted when it begins, its time
    when it ends. Of a recursive function each call counts with all of its time. Each thread has its own
    figures. A generator or coroutine is one call, from its first start to its end. A forked child starts
    from zero.

    Args:
        filter: only functions that match one of these patterns; empty: all.
        notrace: never functions that match one of these.
        graph: only functions that match one of these, and what they call.
        graph_notrace: neither functions that match one of these nor what they call.
        graph_time: a call's time includes the calls it makes; False: it does not include calls that are
            profiled too.
        sleep_time: a call's time includes the time in which it was suspended or its thread did not run;
            False: only CPU time. That costs one system call more at each entry and return.
        thresh_us: leave out functions whose calls take less than this on average, in microseconds; 0: none.
            May be set at any time. The kernel's tracing_thresh.

    Raises:
        ValueError: an invalid pattern, a negative number. TypeError, MemoryError.
        OSError: EOPNOTSUPP: the native functions of an object that a pattern names cannot be hooked.
    """

    def __init__(
        self,
        *,
        filter: Iterable[str] = (),
        notrace: Iterable[str] = (),
        graph: Iterable[str] = (),
        graph_notrace: Iterable[str] = (),
        graph_time: bool = True,
        sleep_time: bool = True,
        thresh_us: float = 0,
    ) -> None:
        super().__init__(
            filter=filter, notrace=notrace, graph=graph, graph_notrace=graph_notrace,
            graph_time=graph_time, sleep_time=sleep_time,
        )  # fmt: skip
        hook_selected(
            _OWNER, {"filter": self.filter, "graph": self.graph, "graph_notrace": self.graph_notrace}
        )
        self.thresh_us = thresh_us

    def set_filter(self, patterns: Iterable[str], reset: bool = False) -> None:
        """Add patterns to `filter`, or (reset) replace it. It may be called at any time.

        Raises: as the constructor. Then nothing has changed.
        """
        self._set("filter", patterns, reset)

    def set_graph(self, patterns: Iterable[str], reset: bool = False) -> None:
        """Add patterns to `graph`, or (reset) replace it. It may be called at any time.

        Raises: as the constructor. Then nothing has changed.
        """
        self._set("graph", patterns, reset)

    def set_graph_notrace(self, patterns: Iterable[str], reset: bool = False) -> None:
        """Add patterns to `graph_notrace`, or (reset) replace it. It may be called at any time.

        Raises: as the constructor. Then nothing has changed.
        """
        self._set("graph_notrace", patterns, reset)

    def _set(self, name: str, patterns: Iterable[str], reset: bool) -> None:
        """Change a set of patterns, and have the native functions that it selects hooked."""
        before = getattr(self, name)
        change = getattr(super(), f"set_{name}")
        change(patterns, reset)
        try:
            hook_selected(_OWNER, {name: getattr(self, name)})
        except OSError:
            change(before, True)
            raise

    @property
    def thresh_us(self) -> float:
        """The threshold in microseconds, as set."""
        return self._thresh_us

    @thresh_us.setter
    def thresh_us(self, value: float) -> None:
        if not value >= 0:
            raise ValueError(f"invalid thresh_us {value}: must be 0 or more")
        self._thresh_us = value

    def rows(self, tid: int | None = None) -> list[ProfileRow]:
        """Return the figures so far, the function with the most time first. May be called at any time.

        Args:
            tid: only calls in this thread (threading.get_native_id()), one of tids(); None: in all threads,
                also in those that have ended.

        Raises:
            OSError: ESRCH: nothing was counted in that thread, or it has ended. ValueError: an invalid id.
        """
        if tid is not None and tid <= 0:
            raise ValueError(f"invalid tid {tid}: must be a native thread id, 1 or more")
        rows = (
            ProfileRow(name, hit, time_ns, variance / 1e6, file, line)
            for name, file, line, hit, time_ns, variance in self.figures(tid or 0)
        )
        listed = (row for row in rows if row.avg_ns >= self._thresh_us * 1000)
        return sorted(listed, key=lambda row: (-row.time_ns, -row.hit, row.name))

    def trace_stat(self, tid: int | None = None) -> str:
        """Return rows() as a table: the text of the kernel's trace_stat/functionN.

        In the kernel N is a CPU; here the table is that of a thread, or of all. A name that is longer than
        the kernel's column makes the column wider; names are never cut.

        Args, Raises: as rows().
        """
        return stat_text(self.rows(tid))

    def __repr__(self) -> str:
        return f"<FunctionProfile, {'enabled' if self.enabled else 'not enabled'}>"


def stat_text(rows: Iterable[ProfileRow]) -> str:
    """Return rows as the kernel prints them."""
    rows = list(rows)
    width = max([_NAME_WIDTH, *(len(row.name) for row in rows)])
    lines = [
        f"  {'Function':{width}}  {'Hit':>10}    Time            Avg             s^2\n",
        f"  {'--------':{width}}  {'---':>10}    ----            ---             ---\n",
    ]
    for row in rows:
        times = (row.time_ns, row.avg_ns, int(row.s2 * 1000))
        lines.append(
            f"  {row.name:{width}}  {row.hit:10}" + "".join(f"    {_duration(ns)}" for ns in times) + "\n"
        )
    return "".join(lines)


def _duration(ns: int) -> str:
    """Return microseconds with up to three decimals, as many as fit, as in the kernel's function graph."""
    us, rest = divmod(ns, 1000)
    digits = f"{rest:03}"[: max(0, _TIME_WIDTH - 1 - len(str(us)))]
    return f"{f'{us}.{digits}' if digits else us} us".ljust(_TIME_WIDTH + len(" us "))
