"""What an export reads: the selected events of a trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from funcgraph.tracedata.calls import Call, calls_of
from funcgraph.tracedata.dat_format import DatFormat
from funcgraph.tracedata.description import Buffer, EventType, Function, Task
from funcgraph.tracedata.events import Columns
from funcgraph.tracedata.opened import Trace
from funcgraph.tracedata.selected_time import COUNTING_CLOCKS
from funcgraph.tracedata.selection import Selection
from funcgraph.tracedata.selection import select as work_out
from funcgraph.tracedata.threads import Threads, threads_of

NEWEST_DAT = DatFormat()


class Source:
    """The selected part of a trace, to be read from its beginning as often as a format needs.

    Args:
        trace: stays the caller's.
        select: what is exported; None: all.
        dat_format: which trace.dat is made.
        folds_imports: whether the merged call tree has one call for each import.

    Attributes:
        trace: the trace.
        select, dat_format, folds_imports: as given.
        damaged_at: the offset of damage that the export left out; None: it found none.
        lost_ends, open_ends: how many stretches of calls were ended without an event: as their end was lost;
            as the thread has no more events.
        remarks: what a format has to say about this export.

    Raises:
        SelectionError: the trace has nothing that `select` names.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        select: Selection | None = None,
        dat_format: DatFormat = NEWEST_DAT,
        folds_imports: bool = False,
    ) -> None:
        self.trace = trace
        self.select = select
        self.dat_format = dat_format
        self.folds_imports = folds_imports
        self.damaged_at: int | None = None
        self.lost_ends = self.open_ends = 0
        self.remarks: list[str] = []
        self._chosen = work_out(trace, select or Selection())

    def notes(self) -> Iterator[str]:
        """Yield what there is to say about this trace after the export: sentences without a full stop."""
        if self.trace.clock in COUNTING_CLOCKS:
            yield f"the trace's clock is '{self.trace.clock}': its times are shown as nanoseconds"
        if self.trace.lost:
            yield f"{self.trace.lost:,} records were lost: calls around them may be missing or cut short"
        if self.lost_ends:
            yield f"{self.lost_ends:,} ends of calls were lost: each ends at the last event before that"
        if self.open_ends:
            yield f"{self.open_ends:,} calls were in progress: each ends at its thread's last event"
        if self.damaged_at is not None:
            yield f"damaged at byte {self.damaged_at}: the events there count as lost"
        yield from self.remarks

    @property
    def functions(self) -> Sequence[Function]:
        """The functions, by the index that columns have."""
        return self.trace.functions

    @property
    def event_types(self) -> Sequence[EventType]:
        """The kinds of events that the program or its user defined, by number."""
        return self.trace.event_types

    @property
    def tasks(self) -> Sequence[Task]:
        """The selected tasks that the trace names."""
        shown = self.trace.tasks if self._chosen.tasks is None else self._chosen.tasks
        return [task for task in shown if self._chosen.buffers is None or task.buffer in self._chosen.buffers]

    @property
    def buffers(self) -> Sequence[Buffer]:
        """The selected buffers."""
        numbers = self._chosen.buffers
        return [buffer for n, buffer in enumerate(self.trace.buffers) if numbers is None or n in numbers]

    def threads(self) -> Threads:
        """Return the threads of the trace, to be filled with those that events are of."""
        return threads_of(self.trace.is_kernel)

    def columns(self, *, size: int = 65536, tasks: Sequence[Task] | None = None) -> Iterator[Columns]:
        """Return an iterator over the events in batches, in order of time.

        Args:
            size: events in a batch.
            tasks: of the selected tasks, those that are read now; None: all.
        """
        return self.trace.columns(size=size, tasks=tasks, select=self.select)

    def calls(self) -> Iterator[Call]:
        """Return an iterator over the calls that ended, in the order of their ends."""
        return calls_of(self.columns(), self.functions, self.threads())
