"""One comparison of an event filter: `count > 3`, `user ~ "a*"`, `CPU & CPUS{0-3}`, `who.function == shop.f`.

Messages and caret positions are the kernel's, as it printed them (tests/events/data).
"""

from __future__ import annotations

import errno
import re
from typing import NamedTuple

from funcgraph.events import cpu_list
from funcgraph.events.filter_error import FilterError, refused
from funcgraph.events.filter_program import SOURCES, Operand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from funcgraph.events.event_field import EventField

__all__ = ["BLANKS", "Fields", "Predicate", "Scanner"]

BLANKS = frozenset(" \t\n\v\f\r")

#: Characters of a text, and of a whole number.
_MAX_TEXT = 255
_MAX_NUMBER = 23

# `<=` comes before `<`, and so on.
_OPERATORS = ("~", "!=", "==", "<=", "<", ">=", ">", "&")
_SIGNED = frozenset(("s8", "s16", "s32", "s64", "value"))
_UNSIGNED = frozenset(
    ("u8", "u16", "u32", "u64", "x8", "x16", "x32", "x64", "bool", "char", "object", "value")
)
_REAL = frozenset(("f64", "value"))
_NUMBER = _SIGNED | _UNSIGNED | _REAL
_TEXT = frozenset(("string", "object", "value"))
_NAMED = {"None": None, "True": True, "true": True, "False": False, "false": False}

_WORD = re.compile(r"-?[0-9A-Za-z]*", re.ASCII)
_FLOAT = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![0-9A-Za-z_.])", re.ASCII)
_DIGITS = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]+)|0([0-7]*)|([1-9]\d*))", re.ASCII)
_ATTRIBUTE = re.compile(r"\.([^\W\d]\w*)")
_NAMED_VALUE = re.compile(r"(None|[Tt]rue|[Ff]alse)(?!\w)")


class Predicate(NamedTuple):
    """A comparison: what it reads, how it compares it with what, and whether the result is inverted."""

    source: int
    operation: str
    operand: Operand = None
    inverted: bool = False


class _Source(NamedTuple):
    """What a name stands for: its number in a program, its type, and whether it is a list of values."""

    number: int
    type: str
    is_array: bool = False


def _common(name: str, type_name: str) -> _Source:
    return _Source(-1 - SOURCES.index(name), type_name)


#: The names that every event has. A field of the event with such a name goes first.
_EVERYWHERE = {
    "common_type": _common("common_type", "u16"),
    "common_flags": _common("common_flags", "u8"),
    "common_preempt_count": _common("common_preempt_count", "u8"),
    "common_pid": _common("common_pid", "s32"),
    **dict.fromkeys(("CPU", "cpu", "common_cpu"), _common("cpu", "s32")),
    **dict.fromkeys(("COMM", "comm"), _common("comm", "string")),
}


def _type_of(field: EventField) -> tuple[str, bool]:
    """Return a field's type as filters see it: an array of characters is a text."""
    return ("string", False) if field.type == "char" and field.count else (field.type, field.count > 0)


class Fields:
    """The names that an event's filter can have.

    Args:
        fields: the fields that the event's definition names, in its order.
        places: the names of the fields before them: none, ("__probe_ip",) or
            ("__probe_func", "__probe_ret_ip").
        functions: returns the numbers of the functions with a name, for `.function`. None: filters cannot
            name functions, as none of the program's exists yet.
        processors: how many processors there can be; None: as many as this machine can have.
        attributes: returns the number of the field that is an attribute of a field, by both names; None: it
            has none. None: no field has any, and a text after a dot is a suffix, as `.function`.
    """

    def __init__(
        self,
        fields: Sequence[EventField],
        places: Sequence[str] = (),
        functions: Callable[[str], Collection[int]] | None = None,
        processors: int | None = None,
        attributes: Callable[[str, str], int | None] | None = None,
    ) -> None:
        self.own = [field.name for field in fields]
        self.functions = functions
        self.attributes = attributes
        self.processors = processors or cpu_list.possible()
        at = [_common(name, "symbol") for name in ("at_8", "at_16")]
        known = {field.name: _Source(i, *_type_of(field)) for i, field in reversed([*enumerate(fields)])}
        self.known: Mapping[str, _Source] = {**_EVERYWHERE, **dict(zip(places, at, strict=False)), **known}


class Scanner:
    """Reads a filter's text from its start to its end.

    Attributes:
        text: the filter.
        at: where it reads next.
    """

    def __init__(self, text: str, fields: Fields) -> None:
        self.text = text
        self.at = 0
        self._fields = fields

    def skip_blanks(self) -> str:
        """Go on to what is no blank, and return that character; "" at the end."""
        while self.at < len(self.text) and self.text[self.at] in BLANKS:
            self.at += 1
        return self.text[self.at : self.at + 1]

    def refusal(self, message: str, at: int | None = None, hint: str = "") -> FilterError:
        """Return the error. Its caret is one character after `at`, where the kernel has it in comparisons."""
        return refused(message, self.text, (self.at if at is None else at) + 1, hint=hint)

    def predicate(self) -> Predicate:
        """Read one comparison, of which the first character is next."""
        source = self._source()
        self._has(".ustring")  # all texts are the program's own
        is_function = self._has(".function")
        self.skip_blanks()
        if not is_function and self._is_alone(source):
            return Predicate(source.number, "true")
        operator = next((each for each in _OPERATORS if self.text.startswith(each, self.at)), None)
        if operator is None:
            raise self.refusal("Invalid operator")
        self.at += len(operator)
        found = self._right_side(source, operator, is_function)
        return found._replace(operation="==", inverted=True) if found.operation == "!=" else found

    def _right_side(self, source: _Source, operator: str, is_function: bool) -> Predicate:
        first = self.skip_blanks()
        if is_function:
            return self._function(source, operator)
        if self.text.startswith("CPUS", self.at):
            return self._processors(source, operator)
        if source.is_array or source.type == "symbol":
            raise self.refusal("Illegal operation for field type")
        if first and first in "'\"":
            return self._quoted(source, operator)
        if self._is_number(source):
            return self._number(source, operator)
        if _NAMED_VALUE.match(self.text, self.at) and source.type in ("bool", "object", "value"):
            return self._named_value(source, operator)
        raise self.refusal("Invalid value (did you forget quotes)?")

    # ---- the left side

    def _source(self) -> _Source:
        start = self.at
        while self.at < len(self.text) and ("a" + self.text[self.at]).isidentifier():
            self.at += 1
        if self.at == start:
            raise refused("Error", self.text, 0, number=errno.EPERM)
        name = self.text[start : self.at]
        source = self._fields.known.get(name)
        if source is not None and self._fields.attributes:
            source = self._attribute(name, self._fields.attributes) or source
        if source is None:
            names = ", ".join(self._fields.own)
            raise self.refusal(
                "Field not found", hint=f"fields: {names}" if names else "the event has no fields"
            )
        return source

    def _attribute(self, owner: str, find: Callable[[str, str], int | None]) -> _Source | None:
        """Read an attribute of a field, if one follows."""
        name = self._attribute_name()
        if not name:
            return None
        number = find(owner, name)
        if number is None:
            raise self.refusal("Field not found", hint=f"{owner} has no attributes")
        self.at += len(name) + 1
        if self._attribute_name():
            raise self.refusal("Field not found", hint="attributes of attributes are not compared")
        return _Source(number, "value")

    def _attribute_name(self) -> str:
        matched = _ATTRIBUTE.match(self.text, self.at)
        return matched[1] if matched and matched[0] != ".ustring" else ""

    def _has(self, suffix: str) -> bool:
        if not self.text.startswith(suffix, self.at):
            return False
        self.at += len(suffix)
        return True

    def _is_alone(self, source: _Source) -> bool:
        """Return whether a field stands without an operator, and is of a type that can be true or false."""
        follows = self.text[self.at : self.at + 2]
        is_end = follows in ("", "&&", "||") or follows[0] == ")"
        return is_end and source.type in ("bool", "value") and not source.is_array

    # ---- the right side

    def _function(self, source: _Source, operator: str) -> Predicate:
        if source.type != "symbol" or source.is_array:
            raise self.refusal("Illegal operation for field type")
        if operator not in ("==", "!="):
            raise self.refusal("Invalid operator")
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in BLANKS and self.text[self.at] != ")":
            self.at += 1
        name, functions = self.text[start : self.at], self._fields.functions
        found = frozenset(functions(name) if functions else ())
        if not found:
            hint = (
                f"no function has the name {name!r} now" if functions else "the program has no functions yet"
            )
            raise self.refusal("Function not found", hint=hint)
        return Predicate(source.number, "in", found, operator == "!=")

    def _processors(self, source: _Source, operator: str) -> Predicate:
        if source.is_array or source.type not in (_SIGNED | _UNSIGNED) - {"object"}:
            raise self.refusal("Illegal operation for field type")
        if operator not in ("==", "!=", "&"):
            raise self.refusal("Illegal operation for field type")
        self.at += len("CPUS")
        if not self._has("{"):
            self.at += 1
            raise self.refusal("Missing '{'")
        end = self.text.find("}", self.at)
        start, self.at = self.at, len(self.text) if end < 0 else end
        if end < 0:
            raise self.refusal("Missing '}'")
        try:
            found = cpu_list.parse(self.text[start:end], self._fields.processors)
        except ValueError as error:
            raise self.refusal(
                "Invalid cpulist", hint=f"processors are 0 to {self._fields.processors - 1}: 0-3,8 or all"
            ) from error
        self.at += 1
        # No number is several processors, as in the kernel. With one, `&` is `==`.
        meant = found if operator == "&" or len(found) == 1 else frozenset[int]()
        return Predicate(source.number, "in", meant, operator == "!=")

    def _quoted(self, source: _Source, operator: str) -> Predicate:
        if operator not in ("==", "!=", "~"):
            raise self.refusal("Illegal operation for field type")
        if source.type not in _TEXT:
            raise self.refusal("Expecting numeric field")
        start = self.at + 1
        end = self.text.find(self.text[self.at], start)
        self.at = len(self.text) if end < 0 else end
        if end < 0:
            raise self.refusal("Missing matching quote")
        operand = self.text[start:end]
        if len(operand) > _MAX_TEXT:
            raise self.refusal("Operand too long", hint=f"a text has at most {_MAX_TEXT} characters")
        self.at += 1
        return Predicate(source.number, operator, operand)

    def _is_number(self, source: _Source) -> bool:
        follows = self.text[self.at : self.at + 2]
        if follows[:1] in "0123456789-" and follows:
            return True
        return source.type in _REAL and _FLOAT.match(self.text, self.at) is not None

    def _number(self, source: _Source, operator: str) -> Predicate:
        if source.type not in _NUMBER:
            raise self.refusal("Expecting string field")
        if operator == "~" or (operator == "&" and source.type not in _SIGNED | _UNSIGNED):
            raise self.refusal("Illegal operation for field type")
        real = _FLOAT.match(self.text, self.at) if source.type in _REAL else None
        if real and not real[0].lstrip("-").isdigit():
            return Predicate(source.number, operator, self._real(source, operator, real[0]))
        return Predicate(source.number, operator, self._whole(source))

    def _real(self, source: _Source, operator: str, text: str) -> float:
        number = float(text)
        if operator == "&":
            raise self.refusal("Illegal operation for field type")
        if number in (float("inf"), float("-inf")):
            raise self.refusal("Illegal floating-point value")
        self.at += len(text)
        return number

    def _whole(self, source: _Source) -> int:
        matched = _WORD.match(self.text, self.at)
        assert matched is not None  # it matches nothing, too
        start, self.at = self.at, matched.end()
        if len(matched[0]) > _MAX_NUMBER:
            raise self.refusal("Operand too long")
        digits = _DIGITS.fullmatch(matched[0])
        if digits is None:
            raise self.refusal("Illegal integer value", start)
        sign, hexadecimal, octal, decimal = digits.groups()
        number = int(hexadecimal, 16) if hexadecimal else int(decimal) if decimal else int(octal or "0", 8)
        number = -number if sign else number
        least = -(1 << 63) if source.type in _SIGNED | _REAL else 0
        most = (1 << 64 if source.type in _UNSIGNED | _REAL else 1 << 63) - 1
        if not least <= number <= most or (sign and least == 0):
            raise self.refusal("Illegal integer value", start)
        return number

    def _named_value(self, source: _Source, operator: str) -> Predicate:
        matched = _NAMED_VALUE.match(self.text, self.at)
        assert matched is not None  # the caller looked
        value = _NAMED[matched[0]]
        if operator not in ("==", "!="):
            raise self.refusal("Illegal operation for field type")
        if source.type == ("bool" if value is None else "object"):
            raise self.refusal("Invalid value (did you forget quotes)?")
        self.at = matched.end()
        if value is None:
            return Predicate(source.number, "none", None, operator == "!=")
        return Predicate(source.number, operator, int(value))
