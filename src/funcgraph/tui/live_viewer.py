"""The viewer of running processes: what their functions do, every second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.worker import Worker

from funcgraph.steering.rates import KEYS, Rate
from funcgraph.tui.keys import bindings
from funcgraph.tui.listing import Listing, PlainLines
from funcgraph.tui.live_table import LiveTable
from funcgraph.tui.viewer import Viewer

__all__ = ["LiveViewer"]

_END_S = 0.1  # between two looks whether the end has come


class LiveViewer(Viewer):
    """Shows a table that is made again and again.

    Args:
        name: what is shown.
        time: the heading of the time.
        look: returns what the functions did since the last look, and None once nothing is left to look at. It
            runs in a thread.
        has_ended: whether to end.
        delay_s: seconds between two looks.
    """

    VIEWS: ClassVar = ("functions",)
    IS_LIVE: ClassVar = True
    BINDINGS: ClassVar = bindings(is_live=True)

    def __init__(
        self,
        name: str,
        time: str,
        look: Callable[[], list[Rate] | None],
        has_ended: Callable[[], bool],
        delay_s: float,
    ) -> None:
        super().__init__()
        self._name = name
        self._time = time
        self._look = look
        self._has_ended = has_ended
        self._delay_s = delay_s
        self._rates: list[Rate] = []
        self._key = "t"
        self._is_reversed = False
        self._pattern = ""
        self._is_paused = self._is_looking = False

    def on_mount(self) -> None:
        super().on_mount()
        self.pane_of("functions").show(PlainLines("counting ..."))
        self.set_interval(self._delay_s, self._begin_look)
        self.set_interval(_END_S, self._end_if_wanted)

    def _end_if_wanted(self) -> None:
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
        table: Listing = LiveTable(self._rates, self._key, self._is_reversed, self._time, self._pattern)
        names = [table.text(number) for number in range(len(table))]
        cursor = names.index(name) if name in names else min(pane.cursor, max(len(names) - 1, 0))
        pane.show(table if names else PlainLines("no function was called"), cursor, at_top=False)

    def facts(self) -> Sequence[str]:
        """The processes, their calls, how it is sorted."""
        calls = sum(rate.calls_per_s for rate in self._rates)
        return (
            self._name,
            "stopped" if self._is_paused else "",
            f"&{self._pattern[:20]}" if self._pattern else "",
            f"{calls:,.0f} calls/s",
            f"by {KEYS[self._key][0]}{', reversed' if self._is_reversed else ''}",
            f"{self.pane.cursor + 1:,}/{len(self.pane.listing):,}",
        )

    def answer_of(self, question: str) -> str:
        return self._pattern if question == "pattern" else ""

    def take(self, question: str, answer: str) -> None:
        self._pattern = answer
        self._show_table()

    def action_sort(self, step: int) -> None:
        keys = list(KEYS)
        self._key, self._is_reversed = keys[(keys.index(self._key) + step) % len(keys)], False
        self._show_table()

    def action_reverse(self) -> None:
        self._is_reversed = not self._is_reversed
        self._show_table()

    def action_pause(self) -> None:
        self._is_paused = not self._is_paused
