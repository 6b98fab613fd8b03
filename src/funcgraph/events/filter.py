"""Event filters: the kernel's language, parsed into a program for the engine.

    count > 3 && (user ~ "a*" || !ok)

docs/reference/events-filters.md has the syntax, and what differs from the kernel's. filter_predicate.py reads
one comparison; this module has what joins them.
"""

from __future__ import annotations

import errno
from typing import NamedTuple

from funcgraph.events.filter_error import TOO_LONG, FilterError, refused
from funcgraph.events.filter_predicate import BLANKS, Fields, Scanner
from funcgraph.events.filter_program import ACCEPT, REJECT, Exits, Program, Term, lead

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Fields", "Filter", "FilterError", "clears", "parse", "parse_for_each"]

#: Bytes of a filter with the newline that a file's writer adds.
_MAX_BYTES = 4095


class Filter(NamedTuple):
    """A filter of one event.

    Attributes:
        text: as it reads back.
        program: what the engine evaluates.
    """

    text: str
    program: Program


def clears(text: str) -> bool:
    """Return whether a text that is written to a file `filter` takes the filter away: only "0" does."""
    return text.strip("".join(BLANKS)) == "0"


def parse(text: str, fields: Fields) -> Filter:
    """Return the filter that a text means for an event with these fields.

    Raises:
        FilterError: with the kernel's message, error number and caret.
    """
    if len(text.encode("utf-8", "surrogatepass")) > _MAX_BYTES:
        raise refused(TOO_LONG, text[:60], 0, hint=f"a filter has at most {_MAX_BYTES} bytes")
    shown = text.lstrip("\n").rstrip("".join(BLANKS))
    _check_structure(shown)
    return Filter(shown, _Parser(shown, fields).program())


def parse_for_each(text: str, events: Mapping[str, Fields]) -> dict[str, Filter]:
    """Return a filter for each of several events, by name; events for which it is none are left out.

    That is how a system's filter works: events that lack one of its fields keep their own filter.

    Raises:
        FilterError: it is a filter for none of them. The error is that of the event for which most of it
            could be read.
    """
    found, errors = {}, []
    for name, fields in events.items():
        try:
            found[name] = parse(text, fields)
        except FilterError as error:
            errors.append(error)
    if not found:
        if not errors:
            raise refused("Couldn't find or set field in one of a subsystem's events", text, 0)
        raise max(errors, key=lambda error: error.caret)
    return found


def _check_structure(text: str) -> None:
    """Check quotes and parentheses, before any name is looked at."""
    opened: list[int] = []
    quote = ""
    quoted_at = 0
    is_empty = True
    for at, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote, quoted_at = character, at
        elif character == "(":
            opened.append(at)
        elif character == ")":
            if not opened:
                raise refused("Too few '('", text, at)
            opened.pop()
        is_empty = is_empty and (character in "()" or character in BLANKS)
    if quote:
        raise refused("Missing matching quote", text, quoted_at)
    if opened:
        raise refused("Too many '('", text, opened[-1])
    if is_empty:
        raise refused("Error", text, 0, hint="a filter is needed, or 0 for none")


class _Opened(NamedTuple):
    """A parenthesis that is still open, and what stands before it."""

    inverted: bool
    either: Exits | None
    both: Exits | None


class _Parser:
    """Joins comparisons. It has its own stack, not Python's: a filter can have thousands of parentheses."""

    def __init__(self, text: str, fields: Fields) -> None:
        self._scanner = Scanner(text, fields)
        self._terms: list[Term] = []
        self._open: list[_Opened] = []
        self._either: Exits | None = None  # what stands before `||`
        self._both: Exits | None = None  # what stands before `&&`

    def program(self) -> Program:
        """Read the whole text."""
        whole = None
        while whole is None:
            inverted = self._prefix()
            if not self._scanner.skip_blanks():
                hint = "a comparison must follow" if self._both or self._either else ""
                raise refused("No filter found", self._scanner.text, self._scanner.at, hint=hint)
            whole = self._join(self._comparison(inverted))
        if self._open:
            raise refused("Too many '('", self._scanner.text, self._scanner.at, number=errno.EPERM)
        lead(whole.true, ACCEPT, self._terms)
        lead(whole.false, REJECT, self._terms)
        return Program(tuple(self._terms))

    def _prefix(self) -> bool:
        """Read each `!` and `(` before a comparison; return whether the comparison is inverted."""
        inverted = False
        scanner = self._scanner
        while (character := scanner.skip_blanks()) and character in "!(":
            scanner.at += 1
            if character == "!":
                inverted = not inverted
            else:
                self._open.append(_Opened(inverted, self._either, self._both))
                self._either = self._both = None
                inverted = False
        return inverted

    def _comparison(self, inverted: bool) -> Exits:
        source, operation, operand, is_opposite = self._scanner.predicate()
        exits = Exits(len(self._terms))
        self._terms.append(Term(source, operation, operand))
        if is_opposite != inverted:
            exits.invert()
        return exits

    def _join(self, part: Exits) -> Exits | None:
        """Join a part with those before it. Return the whole filter, or None if more has to be read."""
        scanner = self._scanner
        while True:
            follows = scanner.skip_blanks()
            pair = scanner.text[scanner.at : scanner.at + 2]
            if follows and follows != ")" and pair not in ("&&", "||"):
                raise refused("Too many terms in predicate expression", scanner.text, scanner.at)
            part = self._joined(self._both, part, when=True)
            self._both = part if pair == "&&" else None
            if not self._both:
                part = self._joined(self._either, part, when=False)
                self._either = part if pair == "||" else None
            if pair in ("&&", "||"):
                scanner.at += 2
                return None
            if not follows:
                return part
            scanner.at += 1
            part = self._close(part)

    def _joined(self, left: Exits | None, right: Exits, when: bool) -> Exits:
        if left is None:
            return right
        left.follow(right, self._terms, when)
        return left

    def _close(self, part: Exits) -> Exits:
        if not self._open:
            raise refused("Too few '('", self._scanner.text, self._scanner.at)
        opened = self._open.pop()
        self._either, self._both = opened.either, opened.both
        if opened.inverted:
            part.invert()
        return part
