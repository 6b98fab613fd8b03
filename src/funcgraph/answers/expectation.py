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

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from funcgraph import _tracedata

if TYPE_CHECKING:
    from funcgraph._tracedata import ExpectationTuple, ExpectedLineTuple, MatchDifferenceTuple

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


# ---- matching: src/tracedata/answers/call_matcher.h

ANY_NUMBER = 2**32 - 1
ANY_STEPS = 2**64 - 1
TOO_MANY_WAYS = "it can be met in too many ways: give its lines narrower counts, or names"


class LineTable:
    """Lines as numbered rows, which C compares calls with.

    Args:
        sections: the calls of each section.
    """

    def __init__(self, sections: Iterable[Sequence[ExpectedCall | None]]) -> None:
        self.lines: list[ExpectedCall] = []
        self._rows: dict[int, ExpectedLineTuple] = {}
        self._names: dict[tuple[str, ...], int] = {("",): 0}
        self._sections = [self._numbers(calls) for calls in sections]

    def expectation(self, functions: Iterable[str]) -> ExpectationTuple:
        """Return what C takes.

        Args:
            functions: names of functions, which calls have the numbers of.
        """
        rows = [self._rows[number] for number in range(len(self.lines))]
        rows += [(0, 1, 1, items, None, False, None, False) for items in self._sections]
        return tuple(self._names), tuple(rows), len(self._sections), tuple(functions)

    def difference(self, found: MatchDifferenceTuple, call_of: Callable[[int], RecordedCall]) -> Difference:
        """Return what C found.

        Args:
            call_of: returns the call with a number.
        """
        around, what, expected, before, got = found
        path = tuple(map(call_of, around))
        last = tuple(call_of(number) for number in before if number)
        call = call_of(got) if got else None
        near = call or (path[-1] if path else last[-1] if last else None)
        return Difference(
            cast(Literal["call", "arguments", "result"], _tracedata.MATCH_DIFFERENCES[what]),
            path,
            last,
            tuple(self.lines[number] for number in expected),
            call,
            near.time_ns if near else 0,
        )

    def _numbers(self, calls: Iterable[ExpectedCall | None]) -> tuple[int, ...]:
        return tuple(-1 if call is None else self._added(call) for call in calls)

    def _added(self, call: ExpectedCall) -> int:
        number = len(self.lines)
        self.lines.append(call)
        self._rows[number] = (
            self._names.setdefault(names_of(call.function), len(self._names)),
            call.least,
            ANY_NUMBER if call.most is None else call.most,
            None if call.children is None else self._numbers(call.children),
            call.arguments,
            call.more_arguments,
            call.result,
            call.raises,
        )
        return number


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
    table = LineTable([expected])
    functions: dict[str, int] = {}
    ends = {end: number for number, end in enumerate(_tracedata.CALL_ENDS)}
    in_order: list[RecordedCall] = []
    rows = []
    for depth, call in _with_depths(calls):
        function = functions.setdefault(call.function, len(functions))
        in_order.append(call)
        rows.append((depth, function, call.arguments, call.result, ends[call.ended]))
    try:
        found = _tracedata.match_calls(
            table.expectation(functions), tuple(rows), ANY_STEPS if most_steps is None else most_steps
        )
    except OverflowError:
        raise ExpectationError(TOO_MANY_WAYS) from None
    return None if found is None else table.difference(found, lambda number: in_order[number - 1])


def _with_depths(calls: Sequence[RecordedCall]) -> Iterator[tuple[int, RecordedCall]]:
    """Yield calls with their depths, those below a call after it."""
    waiting = [(0, call) for call in reversed(calls)]
    while waiting:
        depth, call = waiting.pop()
        yield depth, call
        waiting += [(depth + 1, below) for below in reversed(call.children)]
