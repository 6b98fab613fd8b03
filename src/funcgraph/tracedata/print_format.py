"""The kernel's `print fmt`: a format for printf and its arguments, in C, compiled to a function of a record.

What trace-cmd understands of it is understood here, with C's rules where trace-cmd deviates from them. Anything
else is a PrintError.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

# Returns the symbol in which an address lies, and the offset in it; None: there is none.
Symbols: TypeAlias = Callable[[int], tuple[str, int] | None]
# Makes the text of a record.
Printer: TypeAlias = Callable[[bytes, Symbols], str]
Value: TypeAlias = int | str | bytes
_Evaluate: TypeAlias = Callable[[bytes], Value]

_MAX_DEPTH = 60  # of nested expressions
_MAX_WIDTH = 4096
_LONG = 64


class PrintError(Exception):
    """A print fmt is not understood, or does not fit a record."""


class _Field(Protocol):
    """What is needed of a Field (event_format.py)."""

    @property
    def name(self) -> str: ...
    @property
    def signed(self) -> bool: ...
    @property
    def size(self) -> int: ...
    @property
    def item_size(self) -> int: ...
    @property
    def is_array(self) -> bool: ...
    @property
    def is_text(self) -> bool: ...
    @property
    def is_number(self) -> bool: ...
    @property
    def dynamic(self) -> str: ...
    def number(self, record: bytes) -> int: ...
    def data(self, record: bytes) -> bytes: ...
    def items(self, record: bytes) -> list[int]: ...
    def text(self, record: bytes) -> str: ...


def printable(text: str) -> str:
    """Return a text without control characters, which could harm a terminal, but for newlines and tabs."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else _escape(c) for c in text)


def _escape(c: str) -> str:
    return c.encode("unicode_escape", "backslashreplace").decode()


# ---- tokens

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<char>'(?:[^'\\]|\\.)')
  | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op>->|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>?:(),{}\[\].])
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    tokens = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if not match or not match.lastgroup:
            raise PrintError(f"not C: {text[at : at + 20]!r}")
        tokens.append(_Token(match.lastgroup, match[match.lastgroup]))
        at = match.end()
    return tokens


def _unescape(literal: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), literal[1:-1], flags=re.DOTALL)


# ---- expressions


@dataclass(frozen=True, slots=True)
class _Expression:
    """A part of an argument. `bits` and `signed` are its type in C, if it is a number."""

    evaluate: _Evaluate
    bits: int = 32
    signed: bool = True
    field: _Field | None = None  # the field that it is, and nothing else


def _wrap(number: int, bits: int, signed: bool) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def _as_number(value: Value) -> int:
    if isinstance(value, int):
        return value
    raise PrintError("a text or an array where a number should be")


def _constant(value: Value, bits: int = 32, signed: bool = True) -> _Expression:
    return _Expression(lambda record: value, bits, signed)


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise PrintError("division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift(number: int, by: int, to_left: bool) -> int:
    if not 0 <= by < _LONG:
        raise PrintError("a shift by too many bits")
    return number << by if to_left else number >> by


_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: _shift(a, b, True),
    ">>": lambda a, b: _shift(a, b, False),
}
_LOGICAL = {"&&", "||"}
_COMPARISONS = {"==", "!=", "<", ">", "<=", ">="}
_PRECEDENCE = [
    {"||"},
    {"&&"},
    {"|"},
    {"^"},
    {"&"},
    {"==", "!="},
    {"<", ">", "<=", ">="},
    {"<<", ">>"},
    {"+", "-"},
    {"*", "/", "%"},
]

_TYPE_BITS = {
    **dict.fromkeys(("char", "u8", "s8", "__u8", "__s8", "bool", "uint8_t", "int8_t"), 8),
    **dict.fromkeys(("short", "u16", "s16", "__u16", "__s16", "uint16_t", "int16_t", "umode_t"), 16),
    **dict.fromkeys(("int", "u32", "s32", "__u32", "__s32", "uint32_t", "int32_t", "pid_t", "dev_t"), 32),
    **dict.fromkeys(("gfp_t", "unsigned", "signed"), 32),
    **dict.fromkeys(("long", "u64", "s64", "__u64", "__s64", "uint64_t", "int64_t", "size_t", "ssize_t"), 64),
    **dict.fromkeys(("sector_t", "loff_t", "off_t", "ino_t", "uintptr_t", "ktime_t", "pgoff_t"), 64),
}
_UNSIGNED_TYPES = {"bool", "size_t", "sector_t", "ino_t", "uintptr_t", "dev_t", "gfp_t", "umode_t", "pgoff_t"}
_QUALIFIERS = {"const", "volatile", "struct", "enum", "union"}


def _cast_type(words: Sequence[str]) -> tuple[int, bool] | None:
    """Return bits and sign of a type; None: it is none that is known."""
    plain = [word for word in words if word not in _QUALIFIERS]
    if "*" in plain:
        return _LONG, False
    if not plain or any(word not in _TYPE_BITS for word in plain):
        return None
    unsigned = any(w == "unsigned" or w in _UNSIGNED_TYPES or w.lstrip("_").startswith("u") for w in plain)
    sized = [_TYPE_BITS[word] for word in plain if word not in ("unsigned", "signed")]
    bits = _LONG if "long" in plain else min(sized, default=32)
    return bits, not unsigned


class _Parser:
    """Parses the arguments of a print fmt, by recursive descent."""

    def __init__(self, tokens: Sequence[_Token], fields: Mapping[str, _Field]) -> None:
        self._tokens = tokens
        self._at = 0
        self._fields = fields
        self._depth = 0

    def parse(self) -> tuple[str, list[_Expression]]:
        """Return the format, and an expression for each argument."""
        text = self._strings()
        arguments = []
        while self._accept(","):
            arguments.append(self.expression())
        if self._at < len(self._tokens):
            raise PrintError(f"unexpected {self._tokens[self._at].text!r}")
        return text, arguments

    # ---- tokens

    def _peek(self, ahead: int = 0) -> _Token:
        place = self._at + ahead
        return self._tokens[place] if place < len(self._tokens) else _Token("end", "")

    def _next(self) -> _Token:
        token = self._peek()
        self._at += 1
        return token

    def _accept(self, op: str) -> bool:
        if self._peek() == _Token("op", op):
            self._at += 1
            return True
        return False

    def _expect(self, op: str) -> None:
        if not self._accept(op):
            raise PrintError(f"{op!r} is missing at {self._peek().text!r}")

    def _strings(self) -> str:
        if self._peek().kind != "string":
            raise PrintError("no format")
        parts = []
        while self._peek().kind == "string":
            parts.append(_unescape(self._next().text))
        return "".join(parts)

    # ---- operators

    def expression(self) -> _Expression:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise PrintError("too many parentheses")
        condition = self._binary(0)
        if self._accept("?"):
            condition = _choice(condition, self.expression(), self._after_colon())
        self._depth -= 1
        return condition

    def _after_colon(self) -> _Expression:
        self._expect(":")
        return self.expression()

    def _binary(self, level: int) -> _Expression:
        if level == len(_PRECEDENCE):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek().kind == "op" and self._peek().text in _PRECEDENCE[level]:
            op = self._next().text
            left = _operation(op, left, self._binary(level + 1))
        return left

    def _unary(self) -> _Expression:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise PrintError("too many operators")
        token = self._peek()
        made = None
        if token.kind == "op":
            if self._accept("!"):
                made = _unary(lambda a: int(not a), self._unary(), 32, True)
            elif self._accept("~"):
                made = _promoted(lambda a: ~a, self._unary())
            elif self._accept("-"):
                made = _promoted(lambda a: -a, self._unary())
            elif self._accept("+"):
                made = self._unary()
            elif self._accept("&"):
                made = _address(self._unary())
            elif self._accept("*"):
                raise PrintError("a pointer that is followed")
            elif (kind := self._cast()) is not None:
                made = _cast(self._unary(), *kind)
        self._depth -= 1
        return made or self._postfix()

    def _cast(self) -> tuple[int, bool] | None:
        """Take "(type)", if that is here."""
        if self._peek().text != "(" or self._peek(1).kind != "name":
            return None
        words, ahead = [], 1
        while self._peek(ahead).kind == "name" or self._peek(ahead).text == "*":
            words.append(self._peek(ahead).text)
            ahead += 1
        if self._peek(ahead).text != ")" or (kind := _cast_type(words)) is None:
            return None
        self._at += ahead + 1
        return kind

    # ---- operands

    def _postfix(self) -> _Expression:
        made = self._primary()
        while self._accept("["):
            made = _item(made, self.expression())
            self._expect("]")
        return made

    def _primary(self) -> _Expression:
        token = self._peek()
        if token.kind == "string":
            return _constant(self._strings())
        self._at += 1
        match token.kind:
            case "number":
                return _literal(token.text)
            case "char":
                return _constant(ord(_unescape(token.text)))
            case "name":
                return self._named(token.text)
        if token.text == "(":
            if self._peek() == _Token("name", "REC") and self._peek(1).text == ")":
                self._at += 2
                return self._member()
            made = self.expression()
            self._expect(")")
            return made
        raise PrintError(f"unexpected {token.text!r}")

    def _named(self, name: str) -> _Expression:
        if name == "REC":
            return self._member()
        if self._accept("("):
            made = self._call(name)
            self._expect(")")
            return made
        if name in ("true", "false"):
            return _constant(int(name == "true"))
        raise PrintError(f"{name!r} is unknown")

    def _member(self) -> _Expression:
        self._expect("->")
        name = self._next().text
        if name not in self._fields:
            raise PrintError(f"no field {name!r}")
        return _field_expression(self._fields[name])

    def _dynamic(self) -> _Field:
        name = self._next().text
        if name not in self._fields:
            raise PrintError(f"no field {name!r}")
        return self._fields[name]

    # ---- the kernel's functions

    def _call(self, name: str) -> _Expression:
        match name.replace("_rel_", "_"):
            case "__get_str":
                item = self._dynamic()
                return _Expression(item.text)
            case "__get_dynamic_array" | "__get_array":
                item = self._dynamic()
                return _Expression(item.data, field=item)
            case "__get_dynamic_array_len":
                item = self._dynamic()
                return _Expression(lambda record: len(item.data(record)))
            case "__get_bitmask" | "__get_cpumask":
                item = self._dynamic()
                return _Expression(lambda record: _bitmask(item.data(record)))
            case "__print_symbolic" | "__print_symbolic_u64":
                return self._symbolic()
            case "__print_flags" | "__print_flags_u64":
                return self._flags()
            case "__print_hex":
                return self._hex(" ")
            case "__print_hex_str":
                return self._hex("")
            case "__print_array":
                return self._array()
            case "sizeof":
                return self._sizeof()
            case "__builtin_expect":
                made = self.expression()
                self._expect(",")
                self.expression()
                return made
        raise PrintError(f"the function {name!r} is unknown")

    def _pairs(self) -> list[tuple[int, str]]:
        """Take ", { number, text }" up to what does not begin so."""
        pairs = []
        while self._accept(","):
            self._expect("{")
            number = self.expression()
            self._expect(",")
            text = self._strings()
            self._expect("}")
            pairs.append((_as_number(number.evaluate(b"")) & (1 << _LONG) - 1, text))
        return pairs

    def _symbolic(self) -> _Expression:
        number = self.expression()
        bits = (1 << number.bits) - 1
        names = {value & bits: text for value, text in reversed(self._pairs())}

        def evaluate(record: bytes) -> str:
            value = _as_number(number.evaluate(record)) & bits
            return names.get(value, f"{value:#x}")

        return _Expression(evaluate)

    def _flags(self) -> _Expression:
        number = self.expression()
        bits = (1 << number.bits) - 1
        self._expect(",")
        between = self._strings()
        pairs = self._pairs()

        def evaluate(record: bytes) -> str:
            left = _as_number(number.evaluate(record)) & bits
            parts = []
            for flag, text in pairs:
                if not left and not flag:
                    parts.append(text)
                    break
                if flag and left & flag == flag:
                    parts.append(text)
                    left &= ~flag
            return between.join([*parts, f"{left:#x}"] if left else parts)

        return _Expression(evaluate)

    def _hex(self, between: str) -> _Expression:
        array = self.expression()
        self._expect(",")
        size = self.expression()

        def evaluate(record: bytes) -> str:
            count = max(_as_number(size.evaluate(record)), 0)
            return between.join(f"{byte:02x}" for byte in _as_bytes(array, record)[:count])

        return _Expression(evaluate)

    def _array(self) -> _Expression:
        array = self.expression()
        self._expect(",")
        count = self.expression()
        self._expect(",")
        size = self.expression()

        def evaluate(record: bytes) -> str:
            data, item = _as_bytes(array, record), _as_number(size.evaluate(record))
            items = min(_as_number(count.evaluate(record)), len(data) // item if item in (1, 2, 4, 8) else -1)
            if items < 0:
                raise PrintError("an array with impossible items")
            return " ".join(
                str(int.from_bytes(data[at : at + item], "little")) for at in range(0, items * item, item)
            )

        return _Expression(evaluate)

    def _sizeof(self) -> _Expression:
        words, ahead = [], 0
        while self._peek(ahead).kind == "name" or self._peek(ahead).text == "*":
            words.append(self._peek(ahead).text)
            ahead += 1
        if (kind := _cast_type(words)) is not None:
            self._at += ahead
            return _constant(kind[0] // 8, _LONG, False)
        made = self.expression()
        return _constant(made.field.size if made.field else made.bits // 8, _LONG, False)


def _literal(text: str) -> _Expression:
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
    try:
        number = int(digits, 8 if octal else 0)
    except ValueError:
        raise PrintError(f"{text!r} is not a number") from None
    signed = "u" not in suffix
    bits = 32 if "l" not in suffix and number < 1 << 32 else _LONG
    if signed and number >= 1 << (bits - 1):
        if digits.isdecimal():
            bits = _LONG
        else:
            signed = False
    return _constant(_wrap(number, bits, signed), bits, signed)


def _field_expression(item: _Field) -> _Expression:
    if item.is_text:
        return _Expression(item.text, field=item)
    if not item.is_number:
        return _Expression(item.data, field=item)
    return _Expression(item.number, 8 * item.size, item.signed, item)


def _address(of: _Expression) -> _Expression:
    if of.field is None:
        raise PrintError("the address of something else than a field")
    return _Expression(of.field.data, _LONG, False)


def _as_bytes(of: _Expression, record: bytes) -> bytes:
    if of.field is not None:
        return of.field.data(record)
    value = of.evaluate(record)
    if not isinstance(value, bytes):
        raise PrintError("no array")
    return value


def _item(array: _Expression, index: _Expression) -> _Expression:
    item = array.field
    if item is None or not item.is_array:
        raise PrintError("an index into something else than an array")
    source = item

    def evaluate(record: bytes) -> int:
        items, at = source.items(record), _as_number(index.evaluate(record))
        if not 0 <= at < len(items):
            raise PrintError("an index beyond the array")
        return items[at]

    return _Expression(evaluate, 8 * item.item_size, item.signed)


def _cast(of: _Expression, bits: int, signed: bool) -> _Expression:
    def evaluate(record: bytes) -> Value:
        value = of.evaluate(record)
        return _wrap(value, bits, signed) if isinstance(value, int) else value

    return _Expression(evaluate, bits, signed, of.field if of.field and not of.field.is_number else None)


def _unary(compute: Callable[[int], int], of: _Expression, bits: int, signed: bool) -> _Expression:
    return _Expression(
        lambda record: _wrap(compute(_as_number(of.evaluate(record))), bits, signed), bits, signed
    )


def _promoted(compute: Callable[[int], int], of: _Expression) -> _Expression:
    bits = max(of.bits, 32)
    return _unary(compute, of, bits, of.signed or of.bits < bits)


def _common_type(a: _Expression, b: _Expression) -> tuple[int, bool]:
    """Return the type in which C computes with these two."""
    bits = max(a.bits, b.bits, 32)
    return bits, not any(side.bits == bits and not side.signed for side in (a, b))


def _operation(op: str, left: _Expression, right: _Expression) -> _Expression:
    if op in _LOGICAL:
        return _logical(op == "&&", left, right)
    compute = _ARITHMETIC[op]
    bits, signed = _common_type(left, right)
    if op in ("<<", ">>"):
        bits = max(left.bits, 32)
        signed = left.signed or left.bits < bits

    def evaluate(record: bytes) -> int:
        a = _wrap(_as_number(left.evaluate(record)), bits, signed)
        b = _as_number(right.evaluate(record))
        if op not in ("<<", ">>"):
            b = _wrap(b, bits, signed)
        return _wrap(compute(a, b), bits, signed)

    return _Expression(evaluate, 32, True) if op in _COMPARISONS else _Expression(evaluate, bits, signed)


def _logical(both: bool, left: _Expression, right: _Expression) -> _Expression:
    def evaluate(record: bytes) -> int:
        a = bool(_as_number(left.evaluate(record)))
        return int(bool(_as_number(right.evaluate(record))) if a is both else a)

    return _Expression(evaluate)


def _choice(condition: _Expression, yes: _Expression, no: _Expression) -> _Expression:
    bits, signed = _common_type(yes, no)

    def evaluate(record: bytes) -> Value:
        return (yes if _as_number(condition.evaluate(record)) else no).evaluate(record)

    return _Expression(evaluate, bits, signed)


def _bitmask(data: bytes) -> str:
    """Return a mask in hexadecimal digits, words of 32 bits with commas between, as the kernel prints it."""
    words = [f"{int.from_bytes(data[at : at + 4], 'little'):08x}" for at in range(0, len(data), 4)]
    return ",".join(reversed(words))


# ---- printf

_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\d+|\*)?(?:\.(?P<precision>\d+|\*)?)?(?P<length>hh|h|ll|l|L|q|z|j|t|Z)?"
    r"(?P<kind>[diuxXocspc%])(?P<pointer>(?<=p)(?:I[46]c?|i[46]|ISp?c?|MF?|m|U[bBlL]?|[sSfFBKxe]))?",
)
_PRECISION = re.compile(r"\.")
_LENGTHS = {"hh": 8, "h": 16, "": 32}


@dataclass(frozen=True, slots=True)
class _Conversion:
    """A part of the format that prints arguments."""

    flags: str
    width: str | None
    precision: str | None
    bits: int
    kind: str  # letter of printf, or p with what follows it
    has_dot: bool

    def arguments(self) -> int:
        return 1 + (self.width == "*") + (self.precision == "*")


def compile_print(text: str, fields: Mapping[str, _Field]) -> Printer:
    """Compile a print fmt.

    Args:
        text: the format's literals and its arguments, as they stand after `print fmt:`.
        fields: the event's fields, by name.

    Returns:
        A function that prints one record. It raises PrintError if the record does not fit.

    Raises:
        PrintError: it is not understood.
    """
    try:
        template, arguments = _Parser(_tokens(text), fields).parse()
    except RecursionError:
        raise PrintError("too deeply nested") from None
    parts = _parts(template)
    wanted = sum(part.arguments() for part in parts if isinstance(part, _Conversion))
    if wanted > len(arguments):
        raise PrintError(f"{wanted} arguments are printed, and there are {len(arguments)}")
    steps: list[str | tuple[_Conversion, list[_Expression]]] = []
    rest = iter(arguments)
    for part in parts:
        if isinstance(part, str):
            steps.append(part)
        else:
            steps.append((part, [next(rest) for _ in range(part.arguments())]))

    def run(record: bytes, symbols: Symbols) -> str:
        return "".join(
            step if isinstance(step, str) else _print_one(step[0], step[1], record, symbols) for step in steps
        )

    return run


def _parts(template: str) -> list[str | _Conversion]:
    parts: list[str | _Conversion] = []
    at = 0
    while (begin := template.find("%", at)) >= 0:
        match = _CONVERSION.match(template, begin)
        if not match:
            raise PrintError(f"the conversion {template[begin : begin + 8]!r} is unknown")
        parts.append(template[at:begin])
        at = match.end()
        if match["kind"] == "%":
            parts.append("%")
            continue
        if match["kind"] == "p" and template[at : at + 1].isalnum() and not match["pointer"]:
            raise PrintError(f"the conversion {template[begin : at + 1]!r} is unknown")
        if match["width"] == "*" and match["kind"] == "p":
            raise PrintError("a bitmap or hexadecimal dump")
        parts.append(
            _Conversion(
                match["flags"],
                match["width"],
                match["precision"],
                _LENGTHS.get(match["length"] or "", _LONG),
                match["kind"] + (match["pointer"] or ""),
                bool(_PRECISION.search(match[0])),
            )
        )
    return [*parts, template[at:]]


def _print_one(how: _Conversion, arguments: Sequence[_Expression], record: bytes, symbols: Symbols) -> str:
    values = [argument.evaluate(record) for argument in arguments]
    flags, at = how.flags, 0
    width = _size(how.width, values, 0)
    at += how.width == "*"
    precision = _size(how.precision, values, at) if how.has_dot else None
    at += how.precision == "*"
    if width < 0:
        width, flags = -width, f"{flags}-"
    if width > _MAX_WIDTH or (precision or 0) > _MAX_WIDTH:
        raise PrintError("a column that is too wide")
    if precision is not None and precision < 0:
        precision = None
    value, expression = values[at], arguments[at]
    if how.kind == "s":
        text = _string(value)
        text = text if precision is None else text[:precision]
    elif how.kind == "c":
        text = chr(_as_number(value) & 0xFF)
    elif how.kind.startswith("p"):
        text = _pointer(how.kind[1:], value, expression, record, symbols)
    else:
        return _integer(how, flags, width, precision, _as_number(value))
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _size(text: str | None, values: Sequence[Value], at: int) -> int:
    if text == "*":
        return _wrap(_as_number(values[at]), 32, True)
    return int(text) if text else 0


def _string(value: Value) -> str:
    if isinstance(value, bytes):
        return value.partition(b"\0")[0].decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else f"{value & (1 << _LONG) - 1:x}"


def _integer(how: _Conversion, flags: str, width: int, precision: int | None, value: int) -> str:
    signed = how.kind in "di"
    value = _wrap(value, how.bits, signed)
    digits = format(abs(value), {"x": "x", "X": "X", "o": "o"}.get(how.kind, "d"))
    if precision is not None:
        digits = digits.rjust(precision, "0")
    sign = "-" if value < 0 else "+" if signed and "+" in flags else " " if signed and " " in flags else ""
    if "#" in flags and value and how.kind in "xXo":
        sign += {"x": "0x", "X": "0X", "o": "0"}[how.kind]
    if "0" in flags and "-" not in flags and precision is None:
        digits = digits.rjust(width - len(sign), "0")
    text = sign + digits
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _pointer(how: str, value: Value, expression: _Expression, record: bytes, symbols: Symbols) -> str:
    """Print what %p means with these letters."""
    if how in ("", "x", "K", "e"):
        return f"{_as_number(value) & (1 << _LONG) - 1:#x}"
    if how in ("s", "f", "S", "F", "B"):
        address = _as_number(value) & (1 << _LONG) - 1
        found = symbols(address)
        if found is None:
            return f"{address:#x}"
        return found[0] if how in ("s", "f") else f"{found[0]}+{found[1]:#x}"
    data = value if isinstance(value, bytes) else _as_bytes(expression, record)
    try:
        return _bytes_pointer(how, data)
    except ValueError:
        raise PrintError("an address of an impossible size") from None


def _bytes_pointer(how: str, data: bytes) -> str:
    match how[0], how[1:2]:
        case "I", "4":
            return str(ipaddress.IPv4Address(data[:4]))
        case "i", "4":
            return ".".join(f"{byte:03d}" for byte in data[:4])
        case "I", "6":
            address = ipaddress.IPv6Address(data[:16])
            return str(address) if how.endswith("c") else address.exploded
        case "i", "6":
            return data[:16].hex()
        case "M", rest:
            return data[:6].hex("-" if rest == "F" else ":")
        case "m", _:
            return data[:6].hex()
        case "U", order:
            return _uuid(data[:16], order)
    raise PrintError(f"%p{how} is unknown")


def _uuid(data: bytes, order: str) -> str:
    if len(data) < 16:
        raise PrintError("a UUID of an impossible size")
    if order in ("l", "L"):
        data = data[3::-1] + data[5:3:-1] + data[7:5:-1] + data[8:]
    digits = data.hex()
    text = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    return text.upper() if order in ("B", "L") else text
