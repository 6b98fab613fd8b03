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
        is_live: whether they are for running processes, too.
    """

    keys: str
    shown: str
    action: str
    help: str
    is_live: bool = False


KEYS = (
    Key("q,ctrl+c", "q", "quit", "quit", is_live=True),
    Key("question_mark", "?", "help", "show this, or leave it", is_live=True),
    Key("tab", "Tab", "next_tab(1)", "the next view; Shift-Tab: the one before"),
    Key("shift+tab", "", "next_tab(-1)", ""),
    *(Key(str(n + 1), "1-5" if n == 0 else "", f"tab({n})", "a view" if n == 0 else "") for n in range(5)),
    Key("j,down", "j k", "move(1)", "a line down, up; also the arrows", is_live=True),
    Key("k,up", "", "move(-1)", "", is_live=True),
    Key("ctrl+d", "^D ^U", "pages(0.5)", "half a page down, up", is_live=True),
    Key("ctrl+u", "", "pages(-0.5)", "", is_live=True),
    Key("space,f,ctrl+f,pagedown", "f b", "pages(1.0)", "a page down, up; also Space", is_live=True),
    Key("b,ctrl+b,pageup", "", "pages(-1.0)", "", is_live=True),
    Key("g,home", "g G", "begin", "the first line, the last line", is_live=True),
    Key("G,end", "", "end", "", is_live=True),
    Key("l,right", "l h", "side(1)", "open, close a branch of the tree; in other views: to the right, left"),
    Key("h,left", "", "side(-1)", ""),
    Key("E", "E C", "open_all", "open all below this branch; close all branches"),
    Key("C", "", "close_all", ""),
    Key("slash", "/", "prompt('search')", "search for a part of a name or of a line", is_live=True),
    Key("n", "n N", "search(1)", "the next, the previous line that has it", is_live=True),
    Key("N", "", "search(-1)", "", is_live=True),
    Key("ampersand", "&", "prompt('pattern')", "only functions of such a name: a part, a glob", is_live=True),
    Key("t", "t", "prompt('part')", "only a part of the time: FROM TO, as +0.5 +1.25"),
    Key("T", "T", "prompt('thread')", "only one thread: its id, or a part of its name"),
    Key("s", "s S", "sort(1)", "sort the table by the next, the previous column", is_live=True),
    Key("S", "", "sort(-1)", "", is_live=True),
    Key("r", "r", "reverse", "sort the other way round", is_live=True),
    Key("enter", "Enter", "choose", "callers and callees of the function"),
    Key("backspace", "Backspace", "back", "the function before"),
    Key("d", "d", "detail", "the longest call of the function"),
    Key("right_square_bracket", "] [", "step('next')", "the next, the previous call of the function"),
    Key("left_square_bracket", "", "step('previous')", ""),
    Key("p", "p", "pause", "stop, go on", is_live=True),
    Key("escape", "Esc", "leave", "end the search; leave the help", is_live=True),
)  # fmt: skip


def bindings(is_live: bool) -> list[Binding]:
    """Return the keys of a viewer as Textual takes them."""
    return [
        Binding(key.keys, key.action, show=False, priority="ctrl" in key.keys or "tab" in key.keys)
        for key in KEYS
        if key.is_live or not is_live
    ]


def help_lines(is_live: bool) -> list[str]:
    """Return a line for each key that does something."""
    rows = [key for key in KEYS if key.shown and (key.is_live if is_live else key.action != "pause")]
    return ["keys", "", *(f"  {key.shown:<11}{key.help}" for key in rows)]
