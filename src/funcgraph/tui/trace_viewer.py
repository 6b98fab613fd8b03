"""The viewer of a trace: table, tree, callers, text, one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, ClassVar

from textual.worker import Worker

from funcgraph.tracedata.call_index import Lane
from funcgraph.tracedata.description import TraceError
from funcgraph.tui.call_page import CallPage
from funcgraph.tui.call_tree import CallTree
from funcgraph.tui.callers import Callers
from funcgraph.tui.filters import FilterError, Filters, parse_part
from funcgraph.tui.function_table import FunctionTable
from funcgraph.tui.keys import bindings
from funcgraph.tui.listing import Listing, PlainLines, find
from funcgraph.tui.pane import Pane
from funcgraph.tui.queries import Queries
from funcgraph.tui.report_pages import ReportPage, ReportPages
from funcgraph.tui.viewer import Viewer
from funcgraph.view.call_detail import time_text
from funcgraph.view.request_error import RequestError
from funcgraph.view.served import Served

__all__ = ["TraceViewer"]

_STATE_S = 1.0  # between two looks whether the file is still what it was
_CHOOSE = "choose a function in the table or the tree: Enter shows its callers, d its longest call"


class TraceViewer(Viewer):
    """Shows one trace, also while it grows.

    Args:
        served: the trace, whose index is made meanwhile; None: take_trace() brings it later.
    """

    VIEWS: ClassVar = ("table", "tree", "callers", "text", "call")
    BINDINGS: ClassVar = bindings(is_live=False)

    def __init__(self, served: Served | None) -> None:
        super().__init__()
        if served is not None:
            self.take_trace(served)
        self.filters = Filters()
        self._function: int | None = None
        self._before: list[int] = []  # functions whose callers were shown
        self._shown: dict[str, object] = {}  # view -> what it was made of
        self._head: dict[str, Any] | None = None  # of the call that is shown
        self._file_state = ""
        self._is_growing = False  # a thread looks what there is more

    def take_trace(self, served: Served) -> None:
        """Show this trace from now on."""
        self.served = served
        self.queries = Queries(served)

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(_STATE_S, self._look_at_file)

    def _look_at_file(self) -> None:
        state, message = self.served.state()
        if state in ("replaced", "damaged") and message != self._file_state:
            self._file_state = message
            self.show_message(message)
        if self.served.is_indexed() and self.served.is_growing:
            self._grow()

    def _grow(self) -> None:
        """Read in a thread what the trace has more, unless that goes on already."""
        if self._is_growing:
            return
        self._is_growing = True

        def work(_worker: Worker[Any]) -> None:
            newer = self.served.grown()
            self.call_from_thread(self._take_newer, newer)

        self.in_thread("grow", work)

    def _take_newer(self, newer: Served | None) -> None:
        """Show the trace as it is now. The function that is chosen may have another number there."""
        self._is_growing = False
        if newer is None:
            return
        numbers = {function: number for number, function in enumerate(newer.functions)}
        known = self.served.functions  # the newer one may lack functions of a file that was dropped
        self._before = [numbers[known[number]] for number in self._before if known[number] in numbers]
        self._function = None if self._function is None else numbers.get(known[self._function])
        self.take_trace(newer)
        self._shown = {"call": "call"} if "call" in self._shown else {}
        self.on_view()

    # ---- what is shown

    def facts(self) -> Sequence[str]:
        """The file, the filters, the time, and the place of the cursor."""
        served, filters = self.served, self.filters
        begin, end = filters.part or (0, served.duration_ns)
        times = f"{time_text(served, served.begin_ns + begin)} to {time_text(served, served.begin_ns + end)}"
        lane = "" if filters.lane is None else f"thread {served.lane(filters.lane).task.tid}"
        pattern = f"&{filters.pattern[:20]}" if filters.pattern else ""
        return served.path.rpartition("/")[2], pattern, lane, times, self._place()

    def _place(self) -> str:
        """Return where the cursor is: of a page of the text, in the time."""
        listing, pane = self.pane.listing, self.pane
        if isinstance(listing, ReportPage):
            part = (listing.begin_ns - self.served.begin_ns) / max(self.served.duration_ns, 1)
            return f"at {part:.0%}"
        return f"{pane.cursor + 1:,}/{len(listing):,}"

    def on_view(self) -> None:
        """Make the listing of a view when it is shown first, or when the filters have changed."""
        view, key = self.view, self._key()
        if self._shown.get(view) == key:
            return
        self._shown[view] = key
        filters, function = self.filters, self._function
        before = self.pane_of(view).listing
        if view == "table":
            self._make(view, lambda: FunctionTable(self.queries, filters))
        elif view == "tree":
            tree = before if isinstance(before, CallTree) and len(before) else None
            self._make(view, lambda: CallTree(self.queries, filters, tree))
        elif view == "text":
            self._make_text(before)
        elif view == "callers" and function is not None:
            self._make(view, lambda: Callers(self.queries, filters, function))
        elif view in ("callers", "call") and self._head is None:
            self.pane_of(view).show(PlainLines(_CHOOSE))

    def _key(self) -> object:
        """Return what the listing of the view depends on."""
        if self.view == "call":
            return "call"
        return (self.filters, self._function) if self.view == "callers" else self.filters

    def _make(self, view: str, make: Callable[[], Listing]) -> None:
        """Make a listing in a thread, and show it."""
        pane = self.pane_of(view)
        before, cursor = pane.listing, pane.cursor
        if isinstance(before, PlainLines):
            pane.show(PlainLines("reading ..."))

        def put(listing: Listing) -> None:
            pane.show(listing, _place(listing, before, cursor), at_top=type(listing) is not type(before))
            if getattr(listing, "is_cut", False):
                self.show_message("the smallest are left out: a filter (& t T) shows them")

        self._answer(view, make, put)

    def _make_text(self, before: Listing) -> None:
        """Make the first page of the text. One of a trace that grows is the last one, and stands still while
        another line than its last is chosen."""
        pane, pages = self.pane_of("text"), ReportPages(self.queries, self.filters)
        is_page = isinstance(before, ReportPage)
        if not self.served.is_growing:
            self._make("text", pages.first)
        elif not is_page or pane.cursor == len(before) - 1:
            self._answer("text", pages.last, lambda page: pane.show(page, len(page) - 1))

    def _answer(self, group: str, make: Callable[[], Any], put: Callable[[Any], None]) -> None:
        """Ask in a thread, and do something with the answer. While the index is made, ask again."""
        pane = self.pane_of(self.view)

        def refuse(message: str) -> None:
            if isinstance(pane.listing, PlainLines):
                pane.show(PlainLines(message))
            self.show_message(message)

        def work(worker: Worker[Any]) -> None:
            while not worker.is_cancelled:
                try:
                    answer = make()
                except RequestError as error:
                    if error.status == 503:
                        text = f"making the index: {error.progress or 0:.0%}"
                        self.call_from_thread(pane.show, PlainLines(text))
                        continue
                    self.call_from_thread(refuse, error.message)
                except FilterError as error:
                    self.call_from_thread(refuse, str(error))
                except (TraceError, OSError) as error:
                    self.call_from_thread(refuse, self.served.note_flaw(error).message)
                else:
                    if not worker.is_cancelled:
                        self.call_from_thread(put, answer)
                return

        self.in_thread(group, work)

    # ---- filters

    def answer_of(self, question: str) -> str:
        return self.filters.pattern if question == "pattern" else ""

    def take(self, question: str, answer: str) -> None:
        """Filter; an empty answer removes the filter."""
        try:
            if question == "pattern":
                filters = replace(self.filters, pattern=answer)
                filters.matching(self.served)
            elif question == "part":
                filters = replace(self.filters, part=parse_part(self.served, answer))
            else:
                filters = replace(self.filters, lane=self._lane_of(answer))
        except FilterError as error:
            self.show_message(str(error))
            return
        except RequestError as error:
            self.show_message(error.message)
            return
        self.filters = filters
        self.on_view()

    def _lane_of(self, text: str) -> int | None:
        """Return the lane of a thread, by its id, or a part of its name. Raises FilterError, RequestError."""
        if not text:
            return None
        lanes: list[Lane] = self.served.call_lanes()
        found = [lane for lane in lanes if str(lane.task.tid) == text] or [
            lane for lane in lanes if text.casefold() in lane.task.name.casefold()
        ]
        if len(found) != 1:
            what = f"{len(found)} threads match" if found else "no thread matches"
            shown = ", ".join(f"{lane.task.tid} {lane.task.name}" for lane in (found or lanes)[:5])
            raise FilterError(f"{what} '{text}': there is {shown}")
        return found[0].number

    # ---- the text

    def _turn(self, step: int) -> None:
        """Show the page after, or before, the one that is shown."""
        page, pane = self.pane.listing, self.pane
        if not isinstance(page, ReportPage):
            return
        pages = ReportPages(self.queries, self.filters)

        def put(there: ReportPage | None) -> None:
            if there is not None and pane.listing is page:
                pane.show(there, 0 if step > 0 else len(there) - 1)

        self._answer("text", lambda: pages.after(page) if step > 0 else pages.before(page), put)

    def on_pane_left(self, event: Pane.Left) -> None:
        """At the end of a page comes the next one."""
        self._turn(event.step)

    def action_begin(self) -> None:
        self._go_far(False)

    def action_end(self) -> None:
        self._go_far(True)

    def _go_far(self, to_end: bool) -> None:
        pane = self.pane
        if not isinstance(pane.listing, ReportPage):
            pane.go(len(pane.listing) - 1 if to_end else 0)
            return
        pages = ReportPages(self.queries, self.filters)

        def put(page: ReportPage) -> None:
            pane.show(page, len(page) - 1 if to_end else 0)

        self._answer("text", pages.last if to_end else pages.first, put)

    # ---- search

    def search(self, step: int) -> None:
        listing, pane = self.pane.listing, self.pane
        if isinstance(listing, CallTree):
            there = listing.find(pane.cursor, step, self.word) if len(listing) else None
            if there is None:
                self.show_message(f"not found: {self.word}")
            else:
                pane.go(there)
        elif isinstance(listing, ReportPage):
            self._search_text(listing, pane, step)
        else:
            super().search(step)

    def _search_text(self, page: ReportPage, pane: Pane, step: int) -> None:
        """Look for the word from page to page, in a thread: the text may be long. Another search, or
        another page, ends that."""
        word, cursor = self.word, pane.cursor
        places = range(cursor + 1, len(page)) if step > 0 else range(cursor - 1, -1, -1)
        for number in places:
            if word.casefold() in page.text(number).casefold():
                pane.go(number)
                return
        pages = ReportPages(self.queries, self.filters)
        self.show_message(f"searching for {word} ...")
        group = f"search-{next(_searches)}"

        def look() -> tuple[ReportPage, int] | None:
            for there in pages.further(page, step):
                if pane.listing is not page or self.word != word:
                    return page, pane.cursor
                found = find(there, -1 if step > 0 else len(there), step, word)
                if found is not None:
                    return there, found
            return None

        def put(found: tuple[ReportPage, int] | None) -> None:
            if found is None:
                self.show_message(f"not found {'after' if step > 0 else 'before'} this line: {word}")
            elif pane.listing is page:
                self._message = ""
                pane.show(*found)

        self._answer(group, look, put)

    # ---- functions and calls

    def action_side(self, step: int) -> None:
        listing, pane = self.pane.listing, self.pane
        if isinstance(listing, CallTree) and len(listing):
            there = listing.open(pane.cursor) if step > 0 else listing.close(pane.cursor)
            pane.show(listing, there, at_top=False)
        else:
            pane.move_side(step)

    def action_open_all(self) -> None:
        if isinstance(self.pane.listing, CallTree) and len(self.pane.listing):
            self.pane.listing.open_all(self.pane.cursor)
            self.pane.show(self.pane.listing, self.pane.cursor, at_top=False)

    def action_close_all(self) -> None:
        if isinstance(self.pane.listing, CallTree):
            self.pane.listing.close_all()
            self.pane.show(self.pane.listing)

    def action_sort(self, step: int) -> None:
        table = self.pane.listing
        if isinstance(table, FunctionTable):
            keys = table.KEYS
            self._sort(table, keys[(keys.index(table.key) + step) % len(keys)], False)

    def action_reverse(self) -> None:
        table = self.pane.listing
        if isinstance(table, FunctionTable):
            self._sort(table, table.key, not table.is_reversed)

    def _sort(self, table: FunctionTable, key: str, is_reversed: bool) -> None:
        table.sort(key, is_reversed)
        self.pane.show(table)
        self.show_message(f"sorted by {key}{', reversed' if is_reversed else ''}")

    def _chosen(self) -> int | None:
        """Return the function of the line; says so if there is none."""
        listing = self.pane.listing
        function = listing.function(self.pane.cursor) if len(listing) else None
        if function is None:
            self.show_message("this line is about no function")
        return function

    def action_choose(self) -> None:
        function = self._chosen()
        if function is not None:
            if self._function is not None:
                self._before.append(self._function)
            self._show_callers(function)

    def action_back(self) -> None:
        if self._before:
            self._show_callers(self._before.pop())

    def _show_callers(self, function: int) -> None:
        self._function = function
        self.show_view(self.VIEWS.index("callers"))

    def action_detail(self) -> None:
        function = self._chosen()
        if function is None:
            return

        def longest() -> CallPage | None:
            calls = self.queries.ask("longest", function=function, most=1)["calls"]
            return CallPage(self.queries, calls[0]) if calls else None

        self._show_call(longest, "no call of this function is in the index")

    def action_step(self, direction: str) -> None:
        head = self._head
        if self.view != "call" or head is None:
            self.show_message("d shows a call; then ] and [ go to the next and the previous one")
            return

        def neighbour() -> CallPage | None:
            place = {"function": head["function"], "lane": head["lane"], "time": head["begin_ns"]}
            call = self.queries.ask("step", direction=direction, **place)["call"]
            return CallPage(self.queries, call) if call else None

        self._show_call(neighbour, f"there is no {direction} call in this thread")

    def _show_call(self, make: Callable[[], CallPage | None], none: str) -> None:
        def put(page: CallPage | None) -> None:
            if page is None:
                self.show_message(none)
                return
            self._head, self._shown["call"] = page.call, "call"
            self.show_view(self.VIEWS.index("call"))
            self.pane_of("call").show(page)

        self._answer("call", make, put)


def _place(listing: Listing, before: Listing, cursor: int) -> int:
    """Return the line to go to: that of what was chosen before in a listing of the same kind."""
    if isinstance(listing, CallTree) and isinstance(before, CallTree) and len(before):
        return listing.place_of(before, cursor)
    if isinstance(listing, FunctionTable) and isinstance(before, FunctionTable) and len(before):
        names = [listing.text(number) for number in range(len(listing))]
        name = before.text(cursor)
        return names.index(name) if name in names else 0
    return listing.middle if isinstance(listing, Callers) else 0


_searches = count()
