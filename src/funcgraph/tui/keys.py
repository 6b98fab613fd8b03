"""The table of keys, and the help that is made of it."""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding

__all__ = ["KEYS", "Key", "bindings", "help_lines"]


class Key(NamedTuple):
    """Keys that do the same.

    Attributes:
        keys: their names, as Textual has them, with commas.
        shown: their names for a person.
        action: what is called, as Textual's bindings have it.
        help: what they do.
        is_live: whether they are for running processes alone.
    """

    keys: str
    shown: str
    action: str
    help: str
    is_live: bool = False


KEYS = (
    Key("q,ctrl+c", "q", "quit", "quit"),
    Key("question_mark", "?", "help", "show this, or leave it"),
    Key("tab", "Tab", "next_tab(1)", "the next view; Shift-Tab: the one before"),
    Key("shift+tab", "", "next_tab(-1)", ""),
    *(Key(str(n + 1), "1-5" if n == 0 else "", f"tab({n})", "a view" if n == 0 else "") for n in range(5)),
    Key("j,down", "j k", "move(1)", "a line down, up; also the arrows"),
    Key("k,up", "", "move(-1)", ""),
    Key("ctrl+d", "^D ^U", "pages(0.5)", "half a page down, up"),
    Key("ctrl+u", "", "pages(-0.5)", ""),
    Key("space,f,ctrl+f,pagedown", "f b", "pages(1.0)", "a page down, up; also Space"),
    Key("b,ctrl+b,pageup", "", "pages(-1.0)", ""),
    Key("g,home", "g G", "begin", "the first line, the last line"),
    Key("G,end", "", "end", ""),
    Key("l,right", "l h", "side(1)", "open, close a branch of the tree; in other views: to the right, left"),
    Key("h,left", "", "side(-1)", ""),
    Key("E", "E C", "open_all", "open all below this branch; close all branches"),
    Key("C", "", "close_all", ""),
    Key("slash", "/", "prompt('search')", "search for a part of a name or of a line"),
    Key("n", "n N", "search(1)", "the next, the previous line that has it"),
    Key("N", "", "search(-1)", ""),
    Key("ampersand", "&", "prompt('pattern')", "only functions of such a name: a part, a glob"),
    Key("t", "t", "prompt('part')", "only a part of the time: FROM TO, as +0.5 +1.25"),
    Key("T", "T", "prompt('thread')", "only one thread: its id, or a part of its name"),
    Key("s", "s S", "sort(1)", "sort the table by the next, the previous column"),
    Key("S", "", "sort(-1)", ""),
    Key("r", "r", "reverse", "sort the other way round"),
    Key("enter", "Enter", "choose", "callers and callees of the function"),
    Key("backspace", "Backspace", "back", "the function before"),
    Key("d", "d", "detail", "the longest call of the function"),
    Key("right_square_bracket", "] [", "step('next')", "the next, the previous call of the function"),
    Key("left_square_bracket", "", "step('previous')", ""),
    Key("p", "p", "pause", "stop, go on", is_live=True),
    Key("escape", "Esc", "leave", "end the search; leave the help"),
)  # fmt: skip


def bindings(is_live: bool) -> list[Binding]:
    """Return the keys of a viewer as Textual takes them."""
    return [
        Binding(key.keys, key.action, show=False, priority="ctrl" in key.keys or "tab" in key.keys)
        for key in KEYS
        if is_live or not key.is_live
    ]


def help_lines(is_live: bool) -> list[str]:
    """Return a line for each key that does something."""
    rows = [key for key in KEYS if key.shown and (is_live or not key.is_live)]
    return ["keys", "", *(f"  {key.shown:<11}{key.help}" for key in rows)]
