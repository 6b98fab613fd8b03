"""What the viewers of traces and of running processes have in common: panes, keys, prompt, last line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input
from textual.worker import Worker

from funcgraph.tui.cells import fit, plain
from funcgraph.tui.keys import help_lines
from funcgraph.tui.listing import PlainLines, find
from funcgraph.tui.pane import Bar, Pane

__all__ = ["Viewer"]

_PROMPTS = {
    "search": "/",
    "pattern": "functions: ",
    "part": "from to: ",
    "thread": "thread: ",
}
_FEW_CELLS = 12  # of the file's name


class Viewer(App[None]):
    """A viewer with some views, of which one is shown.

    Attributes:
        VIEWS: their names.
        word: what was searched for last.
    """

    VIEWS: ClassVar[tuple[str, ...]]
    IS_LIVE: ClassVar[bool] = False
    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # the prompt gets keys only while it is shown
    CSS = """
    Screen { background: ansi_default; color: ansi_default; }
    Bar { background: ansi_default; color: ansi_default; }
    Pane { background: ansi_default; color: ansi_default; }
    #prompt { height: 1; display: none; }
    #prompt Input { height: 1; border: none; padding: 0; width: 1fr; background: ansi_default; }
    #prompt Bar { width: auto; }
    """

    def __init__(self) -> None:
        super().__init__(ansi_color=True)
        self.word = ""
        self._view = 0
        self._message = ""
        self._is_helping = False
        self._question = ""

    def compose(self) -> ComposeResult:
        yield Bar(id="tabs")
        for name in self.VIEWS:
            yield Pane(id=f"pane-{name}")
        yield Pane(id="pane-help")
        with Horizontal(id="prompt"):
            yield Bar(id="label")
            yield Input(id="input", select_on_focus=False)
        yield Bar(id="status")

    def on_mount(self) -> None:
        """Show the first view."""
        self.query_one("#pane-help", Pane).show(PlainLines(*help_lines(self.IS_LIVE)))
        self.show_view(0)

    # ---- views

    @property
    def view(self) -> str:
        """The name of the view that is shown."""
        return self.VIEWS[self._view]

    def pane_of(self, name: str) -> Pane:
        """Return the pane of a view."""
        pane: Pane = self.query_one(f"#pane-{name}", Pane)
        return pane

    @property
    def pane(self) -> Pane:
        """The pane that keys are for."""
        return self.pane_of("help" if self._is_helping else self.view)

    def show_view(self, number: int) -> None:
        """Show a view."""
        self._view, self._is_helping = number, False
        self._show_panes()
        self.on_view()

    def on_view(self) -> None:
        """Called when another view is shown."""

    def _show_panes(self) -> None:
        for name in (*self.VIEWS, "help"):
            self.pane_of(name).display = self.pane is self.pane_of(name)
        tabs: list[tuple[str, bool]] = []
        for number, name in enumerate(self.VIEWS):
            tabs += [(f" {number + 1} {name} ", number == self._view and not self._is_helping), (" ", False)]
        self.query_one("#tabs", Bar).show([*tabs, (" ? help ", self._is_helping)])
        self.show_status()

    # ---- the last line

    def facts(self) -> Sequence[str]:
        """Return what the last line says, the name of what is shown first."""
        return ()

    def show_message(self, message: str) -> None:
        """Show a sentence in the last line until the next key."""
        self._message = message
        self.show_status()

    def show_status(self) -> None:
        """Write the last line."""
        cells = self.size.width
        if self._message:
            self.query_one("#status", Bar).show([(plain(self._message, cells).ljust(cells), True)])
            return
        name, *others = self.facts() or ("",)
        right = "  ".join(plain(text) for text in others if text)
        left = fit(name, max(cells - len(right) - 3, _FEW_CELLS))
        room = max(cells - len(right) - 2, 0)
        self.query_one("#status", Bar).show([(f" {left:<{room}}{right} ", True)])

    def on_pane_moved(self) -> None:
        """The last line tells the line of the cursor."""
        self.show_status()

    def on_resize(self) -> None:
        """The last line is as long as the screen."""
        self.call_after_refresh(self.show_status)

    # ---- work that takes its time

    def in_thread(self, group: str, work: Callable[[Worker[Any]], None]) -> None:
        """Do something in a thread; what was begun of the same group before has no effect any longer."""

        def run() -> None:
            from textual.worker import get_current_worker

            work(get_current_worker())

        self.run_worker(run, group=group, exclusive=True, thread=True, exit_on_error=True)

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key removes the message of the one before. While something is typed keys are text."""
        if self.query("#prompt") and self.query_one("#prompt").display:
            return action == "quit" or (action == "leave")
        return True

    async def run_action(self, *args: Any, **settings: Any) -> bool:
        self._message = ""
        done: bool = await super().run_action(*args, **settings)
        if self.is_running and self.query("#status"):
            self.show_status()
        return done

    def action_tab(self, number: int) -> None:
        if number < len(self.VIEWS):
            self.show_view(number)

    def action_next_tab(self, step: int) -> None:
        self.show_view((self._view + step) % len(self.VIEWS))

    def action_help(self) -> None:
        self._is_helping = not self._is_helping
        self._show_panes()

    def action_leave(self) -> None:
        if self.query_one("#prompt").display:
            self._close_prompt()
        elif self._is_helping:
            self.action_help()
        else:
            self._search_for("")

    def action_move(self, lines: int) -> None:
        self.pane.move(lines)

    def action_pages(self, pages: float) -> None:
        self.pane.move_pages(pages)

    def action_begin(self) -> None:
        self.pane.go(0)

    def action_end(self) -> None:
        self.pane.go(len(self.pane.listing) - 1)

    def action_search(self, step: int) -> None:
        if not self.word:
            self.show_message("nothing is searched for: begin with /")
            return
        self.search(step)

    def search(self, step: int) -> None:
        """Go to the next or previous line that has the word."""
        there = find(self.pane.listing, self.pane.cursor, step, self.word)
        if there is None:
            self.show_message(f"not found: {self.word}")
        else:
            self.pane.go(there)

    def _search_for(self, word: str) -> None:
        self.word = word
        for pane in self.query(Pane):
            pane.word = word
            pane.refresh()

    # ---- the prompt

    def action_prompt(self, question: str) -> None:
        self._question = question
        label = _PROMPTS[question]
        bar, field = self.query_one("#label", Bar), self.query_one("#input", Input)
        bar.styles.width = len(label)
        bar.show([(label, False)])
        field.value = self.answer_of(question)
        self.query_one("#prompt").display = True
        self.query_one("#status").display = False
        field.focus()
        field.cursor_position = len(field.value)

    def answer_of(self, question: str) -> str:
        """Return what the prompt begins with."""
        return ""

    def _close_prompt(self) -> None:
        self.query_one("#prompt").display = False
        self.query_one("#status").display = True
        self.set_focus(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take an answer."""
        self._close_prompt()
        self._message = ""
        if self._question == "search":
            self._search_for(event.value or self.word)
            if self.word:
                self.search(1)
        else:
            self.take(self._question, event.value.strip())
        self.show_status()

    def take(self, question: str, answer: str) -> None:
        """Do what the answer to a question of the prompt says."""
