"""funcgraph.Event: the definition of a dynamic event as an object, beside the kernel's text."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from funcgraph.definitions.command import split_words, without_comment

__all__ = ["Event", "line_of"]


class Event:
    """The definition of an event on functions, as an object.

    It stands for a line of dynamic_events, and can be given wherever such a line can: to
    `dynamic_events.define()`, and to `record(events=...)`.

        order = funcgraph.Event(
            "shop.Cart.place", group="shop", name="order", user="self.user.name", n="self.items:len"
        )
        order.text  # "f:shop/order shop.Cart.place user=self.user.name n=self.items:len"
        funcgraph.dynamic_events.define(order)

    Args:
        function: where it is hit: "module.qualname", at entries and returns also a glob.
        arguments: what is fetched under names of its own: "amount", "$arg*", "n=self.items:len".
        group, name: the event's names; "": the kernel's, as "fprobes" and "shop_Cart_place__entry".
        at: "entry", "return", or a line of the function's file.
        fields: name -> fetch argument. It takes any name; keywords take those that are no argument here.
        keywords: the same, as keywords. They follow `fields`.

    Raises:
        ValueError: a text that is not one word; a line below 1; a name that is given twice. What the kernel
            would refuse is refused by whoever takes the event: ProbeError.
        TypeError: a value of another type.

    The semantics are those of Documentation/trace/fprobetrace.rst and kprobetrace.rst;
    docs/reference/events.md has the syntax.
    """

    __slots__ = ("arguments", "at", "fields", "function", "group", "name")

    function: str
    arguments: tuple[str, ...]
    group: str
    name: str
    at: str | int
    fields: Mapping[str, str]

    def __init__(
        self,
        function: str,
        /,
        *arguments: str,
        group: str = "",
        name: str = "",
        at: str | int = "entry",
        fields: Mapping[str, str] | None = None,
        **keywords: str,
    ) -> None:
        self.function = _word("function", function)
        self.arguments = tuple(_word("an argument", argument) for argument in arguments)
        self.group = _word("group", group) if group else ""
        self.name = _word("name", name) if name else ""
        self.at = _checked_place(at)
        given = dict(fields or {})
        if twice := given.keys() & keywords.keys():
            raise ValueError(f"given twice: {', '.join(sorted(twice))}")
        given.update(keywords)
        self.fields = MappingProxyType({_word("a name", key): _word(key, given[key]) for key in given})

    @property
    def text(self) -> str:
        """The line of dynamic_events."""
        kind, after = ("f", "") if isinstance(self.at, str) else ("p", f":{self.at}")
        if self.at == "return":
            after = "%return"
        names = f"{self.group}/{self.name}" if self.group else self.name
        named = [f"{name}={argument}" for name, argument in self.fields.items()]
        head = f"{kind}:{names}" if names else kind
        return " ".join((head, f"{self.function}{after}", *self.arguments, *named))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Event {self.text}>"

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Event) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)


def line_of(event: str | Event) -> str:
    """Return the line of an event, which may be one already. Raises TypeError."""
    if isinstance(event, Event):
        return event.text
    if isinstance(event, str):
        return event
    raise TypeError(f"an event must be a str or an Event, not {type(event).__name__}")


def _word(what: str, text: str) -> str:
    if not isinstance(text, str):
        raise TypeError(f"{what} must be a str, not {type(text).__name__}")
    if split_words(without_comment(text)) != [text]:
        raise ValueError(f"invalid {what} {text!r}: must be one word")
    return text


def _checked_place(at: str | int) -> str | int:
    if isinstance(at, str) and at in ("entry", "return"):
        return at
    if isinstance(at, int) and not isinstance(at, bool):
        if at >= 1:
            return at
        raise ValueError(f"at must be >= 1 if it is a line, got {at}")
    raise ValueError(f"at must be 'entry', 'return' or a line, got {at!r}")
