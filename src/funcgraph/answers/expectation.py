"""Expectations: a sequence of calls as a person writes it, and how it is matched with recorded calls.

docs/guides/expect.md describes the language. A line is a call; what is indented below it, it calls:

    functions: shop.*
    shop.main()
      shop.load(path='*.json', ...) = dict(3)
      shop.price(n=*) x1..30
      ...
      shop.save() ! OSError
        (nothing)
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from funcgraph import _engine

CallEnd: TypeAlias = Literal["return", "raise", "close", "open"]

ANYTHING = "..."
NOTHING = "(nothing)"
MAX_DEPTH = 200  # levels

_FUNCTIONS = re.compile(r"functions:\s*(.*)")
_THREAD = re.compile(r"thread\s+(.+):")
_COUNT = re.compile(r"(.*\S)\s+x(\d{1,9})(\.\.)?(\d{1,9})?", re.DOTALL)
_OPENING, _CLOSING = "([{<", ")]}>"


class ExpectationError(ValueError):
    """A text is no expectation; the text of the error names the line."""


@dataclass(slots=True)
class RecordedCall:
    """A call as a trace has it.

    Attributes:
        function: its function's name.
        arguments: its arguments, as a report prints them: `n=3, text='a'`; empty: there were none, or they
            were not recorded.
        result: its result, or the type of the exception that ended it; empty: it was not recorded.
        ended: how it ended.
        time_ns: when it began.
        children: the calls that were made from it, in the order of their beginnings.
    """

    function: str
    arguments: str = ""
    result: str = ""
    ended: CallEnd = "return"
    time_ns: int = 0
    children: list[RecordedCall] = field(default_factory=list)

    def __str__(self) -> str:
        end = (
            f" ! {self.result or '*'}"
            if self.ended == "raise"
            else f" = {self.result}"
            if self.result
            else ""
        )
        return f"{self.function}({self.arguments}){end}"


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A line of an expectation.

    Attributes:
        line: its number, from 1; its text.
        text: what it says.
        function: the function's name, a glob; one word alone: a function of that name in any module or class.
        arguments: pairs of a name and a glob for the value; None: they may be anything.
        more_arguments: others may follow.
        result: a glob for the result, or for the exception's type; None: it may be anything.
        raises: it ends by an exception.
        least, most: how many such calls there are, one after the other; `most` None: any number.
        children: what it calls; None: that may be anything. An item None stands for any calls.
    """

    line: int
    text: str
    function: str
    arguments: tuple[tuple[str, str], ...] | None
    more_arguments: bool
    result: str | None
    raises: bool
    least: int
    most: int | None
    children: tuple[ExpectedCall | None, ...] | None

    def differs_in(self, call: RecordedCall) -> str | None:
        """Return what of a call is not so: `call`, `arguments`, `result`; None: all is, but for its calls."""
        if not any(_engine.glob_match(one, call.function) for one in names_of(self.function)):
            return "call"
        if self.arguments is not None and not self._takes(call.arguments):
            return "arguments"
        if self.raises and call.ended != "raise":
            return "result"
        if self.result is None:
            return None
        is_kind = call.ended == ("raise" if self.raises else "return")
        return None if is_kind and _engine.glob_match(self.result, call.result) else "result"

    def _takes(self, text: str) -> bool:
        assert self.arguments is not None
        recorded = [named_argument(one) for one in split_arguments(text)]
        if len(recorded) != len(self.arguments) and not self.more_arguments:
            return False
        values = dict(recorded)
        return all(
            name in values and _engine.glob_match(value, values[name]) for name, value in self.arguments
        )


class Difference(NamedTuple):
    """Where recorded calls first differ from an expectation.

    Attributes:
        what: `call`: another call, or none; `arguments`; `result`: what it returned or raised.
        path: the calls around, from the outermost one on.
        before: the last calls before, in the same call.
        expected: the lines of which one would have been right; empty: no further call.
        got: the call; None: there is none.
        time_ns: when it began; if there is none, when the call around it did.
    """

    what: Literal["call", "arguments", "result"]
    path: tuple[RecordedCall, ...]
    before: tuple[RecordedCall, ...]
    expected: tuple[ExpectedCall, ...]
    got: RecordedCall | None
    time_ns: int


class Section(NamedTuple):
    """What is expected of a thread.

    Attributes:
        thread: the thread's name, a glob, or its id; "": the only thread that has calls.
        calls: its calls; an item None stands for any calls.
    """

    thread: str
    calls: tuple[ExpectedCall | None, ...]


class Expectation(NamedTuple):
    """A sequence of calls that is expected.

    Attributes:
        functions: patterns, as of `-l`: the functions whose calls are looked at. Calls of others, between
            and around them, are not.
        sections: what each thread does.

    Example:
        >>> expectation = parse_expectation("shop.main()\\n  shop.load()\\n  ...\\n")
        >>> difference = match_calls(expectation.sections[0].calls, recorded)
    """

    functions: tuple[str, ...]
    sections: tuple[Section, ...]


# ---- the language


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def parse_expectation(text: str) -> Expectation:
    """Read an expectation.

    Args:
        text: the expectation, as a file has it.

    Raises:
        ExpectationError: it is none; the message names the line.

    Example:
        >>> parse_expectation("shop.main\\n  shop.load x1..30").functions
        ('shop.main', 'shop.load')
    """
    functions: list[str] = []
    blocks: list[tuple[str, list[_Line]]] = [("", [])]
    for line in _lines(text):
        if line.indent == 0 and (match := _FUNCTIONS.fullmatch(line.text)):
            functions += match[1].split()
        elif line.indent == 0 and (match := _THREAD.fullmatch(line.text)):
            blocks.append((match[1], []))
        else:
            blocks[-1][1].append(line)
    if not blocks[0][1] and len(blocks) > 1:
        del blocks[0]
    sections = tuple(Section(thread, _block(lines)) for thread, lines in blocks)
    calls = (call for section in sections for call in _all_calls(section.calls))
    named = dict.fromkeys(name for call in calls for name in names_of(call.function))
    if not named:
        raise ExpectationError("there is no call in it")
    return Expectation(tuple(functions or named), sections)


def names_of(function: str) -> tuple[str, ...]:
    """Return the globs that the name of a function stands for: `save` also for `shop.Cart.save`."""
    return (function, f"*.{function}") if function.isidentifier() else (function,)


def _lines(text: str) -> Iterator[_Line]:
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise ExpectationError(f"line {number}: a tab in the indentation: must be spaces")
        yield _Line(number, len(line) - len(line.lstrip()), content)


def _block(lines: Sequence[_Line], level: int = 0) -> tuple[ExpectedCall | None, ...]:
    """Return the calls of lines, with what is indented below each."""
    if level >= MAX_DEPTH:
        raise ExpectationError(f"line {lines[0].number}: more than {MAX_DEPTH} levels")
    calls: list[ExpectedCall | None] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.indent != lines[0].indent:
            raise ExpectationError(f"line {line.number}: its indentation is that of no line above")
        end = at + 1
        while end < len(lines) and lines[end].indent > line.indent:
            end += 1
        calls.append(_item(line, lines[at + 1 : end], level))
        at = end
    return tuple(calls)


def _item(line: _Line, below: Sequence[_Line], level: int) -> ExpectedCall | None:
    if line.text == ANYTHING:
        if below:
            raise ExpectationError(f"line {below[0].number}: nothing can be indented below '...'")
        return None
    if line.text == NOTHING:
        raise ExpectationError(f"line {line.number}: '(nothing)' must be alone below a call")
    children: tuple[ExpectedCall | None, ...] | None = None
    if len(below) == 1 and below[0].text == NOTHING:
        children = ()
    elif below:
        children = _block(below, level + 1)
    return _call(line, children)


def _call(line: _Line, children: tuple[ExpectedCall | None, ...] | None) -> ExpectedCall:
    text, least, most = _counted(line)
    name, arguments, rest = _parts(text, line.number)
    mark, result = rest[:1], rest[1:].strip()
    if mark and (mark not in "=!" or not (result or mark == "!")):
        raise ExpectationError(
            f"line {line.number}: '{rest}' after the call: must be '= RESULT', '! EXCEPTION' or 'xCOUNT'"
        )
    given = None if arguments is None else split_arguments(arguments)
    more = bool(given and given[-1] == ANYTHING)
    pairs = (
        None if given is None else tuple(_pair(one, line.number) for one in (given[:-1] if more else given))
    )
    return ExpectedCall(
        line.number, line.text, name, pairs, more, result or None, mark == "!", least, most, children
    )


def _counted(line: _Line) -> tuple[str, int, int | None]:
    """Return a line without its count, and how many calls it stands for: at least, and at most."""
    match = _COUNT.fullmatch(line.text)
    if not match:
        return line.text, 1, 1
    least, dots, end = int(match[2]), match[3], match[4]
    if end and not dots:
        return line.text, 1, 1
    most = int(end) if end else None if dots else least
    if most is not None and most < least:
        raise ExpectationError(f"line {line.number}: 'x{least}..{most}' ends before it begins")
    return match[1], least, most


def _parts(text: str, number: int) -> tuple[str, str | None, str]:
    """Return a line's function, what is in its parentheses (None: there are none), and the rest."""
    opening = next((match.start() for match in re.finditer(r"\(|\s", text)), len(text))
    name, rest = text[:opening], text[opening:].strip()
    if not rest.startswith("("):
        return name, None, rest
    closing = _closing(rest)
    if closing is None:
        raise ExpectationError(f"line {number}: '(' without its ')'")
    return name, rest[1:closing].strip(), rest[closing + 1 :].strip()


def _closing(text: str) -> int | None:
    """Return the place of the parenthesis that closes the first one."""
    for place, depth, character in _depths(text):
        if character == ")" and depth == 0:
            return place
    return None


def _depths(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield place, depth after it, and character of what is not inside of quotes."""
    depth, quote, at = 0, "", 0
    while at < len(text):
        character = text[at]
        if quote:
            at += character == "\\"
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in _OPENING) - (character in _CLOSING)
            yield at, depth, character
        at += 1


def split_arguments(text: str) -> list[str]:
    """Return the arguments of a text, which commas separate."""
    commas = [place for place, depth, character in _depths(text) if character == "," and depth == 0]
    ends = [*commas, len(text)]
    begins = [0, *(place + 1 for place in commas)]
    return [text[begin:end].strip() for begin, end in zip(begins, ends, strict=True) if text.strip()]


def named_argument(text: str) -> tuple[str, str]:
    """Return the name and the value of an argument."""
    name, _, value = text.partition("=")
    return name, value


def _pair(text: str, line: int) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark or not name or not value:
        raise ExpectationError(
            f"line {line}: argument '{text}': must be NAME=VALUE, and the last one may be ..."
        )
    return name.strip(), value.strip()


def _all_calls(calls: Iterable[ExpectedCall | None]) -> Iterator[ExpectedCall]:
    for call in calls:
        if call is not None:
            yield call
            yield from _all_calls(call.children or ())


# ---- matching


def match_calls(
    expected: Sequence[ExpectedCall | None], calls: Sequence[RecordedCall], most_steps: int | None = None
) -> Difference | None:
    """Compare calls with what is expected of them, in order; return where they first differ.

    Args:
        expected: the calls that are expected; an item None stands for any calls.
        calls: those that were recorded, each with what it called.
        most_steps: look at so many pairs of a call and a line at most; None: at all that it takes. Lines that
            leave much open, one after the other, are tried in each combination.

    Raises:
        ExpectationError: it would take more steps.

    Example:
        >>> match_calls(parse_expectation("m.f()").sections[0].calls, [RecordedCall("m.f")]) is None
        True
    """
    return _Matcher(most_steps).compare(expected, calls, ())


class _Matcher:
    """Runs through calls with all places in the expectation at which they may be.

    A place is an item's number, and how many calls were taken for it so far.
    """

    def __init__(self, most_steps: int | None) -> None:
        self._known: dict[tuple[int, int], bool] = {}
        self._most_steps = math.inf if most_steps is None else most_steps
        self._steps = 0

    def compare(
        self,
        expected: Sequence[ExpectedCall | None],
        calls: Sequence[RecordedCall],
        path: tuple[RecordedCall, ...],
    ) -> Difference | None:
        places = _reached(expected, {(0, 0)})
        for number, call in enumerate(calls):
            self._count(len(places))
            following = {place for one in places for place in self._after(expected, one, call)}
            if not following:
                return self._difference(expected, places, calls, number, path)
            places = _reached(expected, following)
        if any(item == len(expected) for item, _ in places):
            return None
        return self._difference(expected, places, calls, len(calls), path)

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > self._most_steps:
            raise ExpectationError("it can be met in too many ways: give its lines narrower counts, or names")

    def _after(
        self, expected: Sequence[ExpectedCall | None], place: tuple[int, int], call: RecordedCall
    ) -> Iterator[tuple[int, int]]:
        """Yield the places after a call."""
        item, count = place
        if item == len(expected):
            return
        one = expected[item]
        if one is None:
            yield place
        elif (one.most is None or count < one.most) and self._is(one, call):
            # Without an upper bound, counts above the lower one are alike.
            yield item, (min(count + 1, one.least) if one.most is None else count + 1)

    def _is(self, one: ExpectedCall, call: RecordedCall) -> bool:
        key = (id(one), id(call))
        if key not in self._known:
            self._known[key] = one.differs_in(call) is None and (
                one.children is None or self.compare(one.children, call.children, ()) is None
            )
        return self._known[key]

    def _difference(
        self,
        expected: Sequence[ExpectedCall | None],
        places: Iterable[tuple[int, int]],
        calls: Sequence[RecordedCall],
        number: int,
        path: tuple[RecordedCall, ...],
    ) -> Difference:
        got = calls[number] if number < len(calls) else None
        candidates = [
            one
            for item, count in sorted(places)
            if item < len(expected)
            and (one := expected[item]) is not None
            and (one.most is None or count < one.most)
        ]
        if got is not None:
            for one in candidates:  # the same call with another inside is nearer than another call
                what = one.differs_in(got)
                if what is None and one.children is not None:
                    inner = self.compare(one.children, got.children, (*path, got))
                    assert inner is not None
                    return inner
            whats = {one.differs_in(got) or "call": one for one in reversed(candidates)}
            for what in ("result", "arguments"):
                if what in whats:
                    return self._at(what, path, calls, number, (whats[what],))
        return self._at("call", path, calls, number, tuple(candidates))

    @staticmethod
    def _at(
        what: str,
        path: tuple[RecordedCall, ...],
        calls: Sequence[RecordedCall],
        number: int,
        expected: tuple[ExpectedCall, ...],
    ) -> Difference:
        got = calls[number] if number < len(calls) else None
        around = path[-1].time_ns if path else calls[-1].time_ns if calls else 0
        before = tuple(calls[max(number - 2, 0) : number])
        return Difference(
            what,  # type: ignore[arg-type]
            path,
            before,
            expected,
            got,
            around if got is None else got.time_ns,
        )


def _reached(expected: Sequence[ExpectedCall | None], places: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return places, and those that are reached from them without a further call."""
    found = set(places)
    waiting = list(places)
    while waiting:
        item, count = waiting.pop()
        if item == len(expected):
            continue
        one = expected[item]
        if (one is None or count >= one.least) and (item + 1, 0) not in found:
            found.add((item + 1, 0))
            waiting.append((item + 1, 0))
    return found
