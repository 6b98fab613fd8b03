"""The viewer of running processes: what their functions do, every second, and what they call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.worker import Worker

from funcgraph.steering.rates import KEYS, Rate
from funcgraph.tracedata.description import TraceError
from funcgraph.tui.keys import bindings
from funcgraph.tui.listing import Listing, PlainLines
from funcgraph.tui.live_table import LiveTable
from funcgraph.tui.trace_viewer import TraceViewer
from funcgraph.view.served import Served

__all__ = ["LiveViewer", "RecordingError"]

_END_S = 0.1  # between two looks whether the end has come


class RecordingError(Exception):
    """The processes cannot be recorded; its text says why."""


class LiveViewer(TraceViewer):
    """Shows a table that is made again and again. The other views are of a recording, which begins when one
    of them is shown first.

    Args:
        name: what is shown.
        time: the heading of the time.
        look: returns what the functions did since the last look, and None once nothing is left to look at. It
            runs in a thread.
        has_ended: whether to end.
        delay_s: seconds between two looks.
        record: begins a recording, and returns what there is of it; it runs in a thread.
    """

    VIEWS: ClassVar = ("functions", "tree", "callers", "text", "call")
    IS_LIVE: ClassVar = True
    BINDINGS: ClassVar = bindings(is_live=True)

    def __init__(
        self,
        name: str,
        time: str,
        look: Callable[[], list[Rate] | None],
        has_ended: Callable[[], bool],
        delay_s: float,
        record: Callable[[], Served],
    ) -> None:
        super().__init__(None)
        self._record = record
        self._has_trace = self._begins_trace = False
        self._name = name
        self._time = time
        self._look = look
        self._has_ended = has_ended
        self._delay_s = delay_s
        self._rates: list[Rate] = []
        self._sort_key = "t"
        self._is_reversed = False
        self._pattern = ""
        self._is_paused = self._is_looking = False

    def on_mount(self) -> None:
        super().on_mount()
        self.pane_of("functions").show(PlainLines("counting ..."))
        for view in self.VIEWS[1:]:
            self.pane_of(view).show(PlainLines("beginning to record ..."))
        self.set_interval(self._delay_s, self._begin_look)
        self.set_interval(_END_S, self._end_on_request)

    def on_view(self) -> None:
        """Have a recording for all views but the first."""
        if self.view == "functions":
            return
        if self._has_trace:
            super().on_view()
        elif not self._begins_trace:
            self._begins_trace = True
            self.in_thread("record", self._begin_recording)

    def _begin_recording(self, _worker: Worker[Any]) -> None:
        try:
            served = self._record()
        except (RecordingError, TraceError, OSError) as error:
            self._begins_trace = False
            self.call_from_thread(self.show_message, f"nothing is recorded: {error}")
        else:
            self.call_from_thread(self._put_trace, served)

    def _put_trace(self, served: Served) -> None:
        self.take_trace(served)
        self._has_trace = True
        self.on_view()

    def _look_at_file(self) -> None:
        if self._has_trace and self.view != "functions" and not self._is_paused:
            super()._look_at_file()

    def _end_on_request(self) -> None:
        if self._has_ended():
            self.exit()

    def _begin_look(self) -> None:
        """Look in a thread, unless the last look still goes on."""
        if self._is_looking or self._is_paused:
            return
        self._is_looking = True

        def work(worker: Worker[Any]) -> None:
            rates = self._look()
            if not worker.is_cancelled:
                self.call_from_thread(self._put, rates)

        self.in_thread("look", work)

    def _put(self, rates: list[Rate] | None) -> None:
        self._is_looking = False
        if rates is None:
            self.exit()
            return
        self._rates = rates
        self._show_table()

    def _show_table(self) -> None:
        """Show the table; the cursor stays on its function."""
        pane = self.pane_of("functions")
        name = pane.listing.text(pane.cursor) if len(pane.listing) and pane.cursor else ""
        table: Listing = LiveTable(self._rates, self._sort_key, self._is_reversed, self._time, self._pattern)
        names = [table.text(number) for number in range(len(table))]
        cursor = names.index(name) if name in names else min(pane.cursor, max(len(names) - 1, 0))
        pane.show(table if names else PlainLines("no function was called"), cursor, at_top=False)

    def facts(self) -> Sequence[str]:
        """The processes, their calls, how it is sorted."""
        if self.view != "functions" and self._has_trace:
            return self._name, "stopped" if self._is_paused else "", *super().facts()[1:]
        calls = sum(rate.calls_per_s for rate in self._rates)
        return (
            self._name,
            "stopped" if self._is_paused else "",
            f"&{self._pattern[:20]}" if self._pattern else "",
            f"{calls:,.0f} calls/s",
            f"by {KEYS[self._sort_key][0]}{', reversed' if self._is_reversed else ''}",
            f"{self.pane.cursor + 1:,}/{len(self.pane.listing):,}",
        )

    def answer_of(self, question: str) -> str:
        if self.view != "functions":
            return super().answer_of(question)
        return self._pattern if question == "pattern" else ""

    def take(self, question: str, answer: str) -> None:
        if self.view != "functions":
            if self._has_trace:
                super().take(question, answer)
        elif question == "pattern":
            self._pattern = answer
            self._show_table()

    def action_choose(self) -> None:
        """Show the callers of a function of the table, once the recording has it."""
        if self.view != "functions":
            super().action_choose()
            return
        name = self.pane.listing.text(self.pane.cursor)
        if self._has_trace:
            number = next((n for n, one in enumerate(self.served.functions) if one.name == name), None)
            if number is not None:
                self._show_callers(number)
                return
        self.show_message(f"{name}: choose it in the tree (2), which shows what is recorded from then on")

    def action_detail(self) -> None:
        if self.view != "functions":
            super().action_detail()

    def action_sort(self, step: int) -> None:
        if self.view != "functions":
            return
        keys = list(KEYS)
        self._sort_key, self._is_reversed = keys[(keys.index(self._sort_key) + step) % len(keys)], False
        self._show_table()

    def action_reverse(self) -> None:
        if self.view != "functions":
            return
        self._is_reversed = not self._is_reversed
        self._show_table()

    def action_pause(self) -> None:
        self._is_paused = not self._is_paused
