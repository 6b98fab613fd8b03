"""Arguments of the kernel's `print fmt`: expressions in C over the fields of a record, compiled to functions.

C's rules for the types of numbers hold. Anything that is not understood is a PrintError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Value: TypeAlias = int | str | bytes
_Evaluate: TypeAlias = Callable[[bytes], Value]

LONG_BITS = 64


class PrintError(Exception):
    """A print fmt is not understood, or does not fit a record."""


class UnknownNameError(PrintError):
    """A print fmt has a name that its text does not explain, as of an enumerator."""


class ExpressionField(Protocol):
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
class Expression:
    """A part of an argument. `bits` and `signed` are its type in C, if it is a number."""

    evaluate: _Evaluate
    bits: int = 32
    signed: bool = True
    field: ExpressionField | None = None  # the field that it is, and nothing else


def wrap(number: int, bits: int, signed: bool) -> int:
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def as_number(value: Value) -> int:
    if isinstance(value, int):
        return value
    raise PrintError("a text or an array where a number should be")


def _constant(value: Value, bits: int = 32, signed: bool = True) -> Expression:
    return Expression(lambda record: value, bits, signed)


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise PrintError("division by zero")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _shift(number: int, by: int, to_left: bool) -> int:
    if not 0 <= by < LONG_BITS:
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
_UNCHANGED = (0, False)
_QUALIFIERS = {"const", "volatile", "struct", "enum", "union"}


def _cast_type(words: Sequence[str]) -> tuple[int, bool] | None:
    """Return bits and sign of a type; None: it is none that is known."""
    plain = [word for word in words if word not in _QUALIFIERS]
    if "*" in plain:
        return LONG_BITS, False
    if not plain or any(word not in _TYPE_BITS for word in plain):
        return None
    unsigned = any(w == "unsigned" or w in _UNSIGNED_TYPES or w.lstrip("_").startswith("u") for w in plain)
    sized = [_TYPE_BITS[word] for word in plain if word not in ("unsigned", "signed")]
    bits = LONG_BITS if "long" in plain else min(sized, default=32)
    return bits, not unsigned


class ArgumentParser:
    """Parses the arguments of a print fmt, by recursive descent."""

    def __init__(self, text: str, fields: Mapping[str, ExpressionField]) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._fields = fields

    def parse(self) -> tuple[str, list[Expression]]:
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

    def expression(self) -> Expression:
        condition = self._binary(0)
        if self._accept("?"):
            return _choice(condition, self.expression(), self._after_colon())
        return condition

    def _after_colon(self) -> Expression:
        self._expect(":")
        return self.expression()

    def _binary(self, level: int) -> Expression:
        if level == len(_PRECEDENCE):
            return self._unary()
        left = self._binary(level + 1)
        while self._peek().kind == "op" and self._peek().text in _PRECEDENCE[level]:
            op = self._next().text
            left = _operation(op, left, self._binary(level + 1))
        return left

    def _unary(self) -> Expression:
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
                made = self._unary() if kind == _UNCHANGED else _cast(self._unary(), *kind)
        return made or self._postfix()

    def _cast(self) -> tuple[int, bool] | None:
        """Take "(type)", if that is here. A type that is not known changes nothing."""
        if self._peek().text != "(" or self._peek(1).kind != "name":
            return None
        words, ahead = [], 1
        while self._peek(ahead).kind == "name" or self._peek(ahead).text == "*":
            words.append(self._peek(ahead).text)
            ahead += 1
        following = self._peek(ahead + 1)
        if self._peek(ahead).text != ")" or words == ["REC"]:
            return None
        kind = _cast_type(words)
        if kind is None and following.kind not in ("name", "number") and following.text != "(":
            return None  # "(NAME) + 1": no type
        self._at += ahead + 1
        return kind or _UNCHANGED

    # ---- operands

    def _postfix(self) -> Expression:
        made = self._primary()
        while self._accept("["):
            made = _item(made, self.expression())
            self._expect("]")
        return made

    def _primary(self) -> Expression:
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

    def _named(self, name: str) -> Expression:
        if name == "REC":
            return self._member()
        if self._accept("("):
            made = self._call(name)
            self._expect(")")
            return made
        if name in ("true", "false"):
            return _constant(int(name == "true"))
        return _unknown(name)

    def _member(self) -> Expression:
        self._expect("->")
        name = self._next().text
        if name not in self._fields:
            raise PrintError(f"no field {name!r}")
        return _field_expression(self._fields[name])

    def _dynamic(self) -> ExpressionField:
        name = self._next().text
        if name not in self._fields:
            raise PrintError(f"no field {name!r}")
        return self._fields[name]

    # ---- the kernel's functions

    def _call(self, name: str) -> Expression:
        match name.replace("_rel_", "_"):
            case "__get_str":
                item = self._dynamic()
                return Expression(item.text)
            case "__get_dynamic_array" | "__get_array":
                item = self._dynamic()
                return Expression(item.data, field=item)
            case "__get_dynamic_array_len":
                item = self._dynamic()
                return Expression(lambda record: len(item.data(record)))
            case "__get_bitmask":
                item = self._dynamic()
                return Expression(lambda record: _bitmask(item.data(record)))
            case "__get_cpumask":
                item = self._dynamic()
                return Expression(lambda record: bit_ranges(int.from_bytes(item.data(record), "little")))
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
            case "__print_dynamic_array":
                return self._dynamic_array()
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
            if self._peek().kind != "string":  # the last one: { -1, NULL }
                self.expression()
                self._expect("}")
                continue
            text = self._strings()
            self._expect("}")
            try:
                pairs.append((as_number(number.evaluate(b"")) & (1 << LONG_BITS) - 1, text))
            except UnknownNameError:
                continue  # its number is printed, not its name
        return pairs

    def _symbolic(self) -> Expression:
        number = self.expression()
        bits = (1 << number.bits) - 1
        names = {value & bits: text for value, text in reversed(self._pairs())}

        def evaluate(record: bytes) -> str:
            value = as_number(number.evaluate(record)) & bits
            return names.get(value, f"{value:#x}")

        return Expression(evaluate)

    def _flags(self) -> Expression:
        number = self.expression()
        bits = (1 << number.bits) - 1
        self._expect(",")
        between = self._strings()
        pairs = self._pairs()

        def evaluate(record: bytes) -> str:
            left = as_number(number.evaluate(record)) & bits
            parts = []
            for flag, text in pairs:
                if flag and left & flag == flag:
                    parts.append(text)
                    left &= ~flag
            return between.join([*parts, f"{left:#x}"] if left else parts)

        return Expression(evaluate)

    def _hex(self, between: str) -> Expression:
        array = self.expression()
        self._expect(",")
        size = self.expression()

        def evaluate(record: bytes) -> str:
            count = max(as_number(size.evaluate(record)), 0)
            return between.join(f"{byte:02x}" for byte in as_bytes(array, record)[:count])

        return Expression(evaluate)

    def _array(self) -> Expression:
        array = self.expression()
        self._expect(",")
        count = self.expression()
        self._expect(",")
        size = self.expression()

        def evaluate(record: bytes) -> str:
            data, item = as_bytes(array, record), as_number(size.evaluate(record))
            items = min(as_number(count.evaluate(record)), len(data) // item if item in (1, 2, 4, 8) else -1)
            if items < 0:
                raise PrintError("an array with impossible items")
            return _listed(
                [int.from_bytes(data[at : at + item], "little") for at in range(0, items * item, item)]
            )

        return Expression(evaluate)

    def _dynamic_array(self) -> Expression:
        item = self._dynamic()
        self._expect(",")
        self.expression()  # the size of an item, which is the field's
        return Expression(lambda record: _listed(item.items(record)))

    def _sizeof(self) -> Expression:
        words, ahead = [], 0
        while self._peek(ahead).kind == "name" or self._peek(ahead).text == "*":
            words.append(self._peek(ahead).text)
            ahead += 1
        if (kind := _cast_type(words)) is not None:
            self._at += ahead
            return _constant(kind[0] // 8, LONG_BITS, False)
        made = self.expression()
        return _constant(made.field.size if made.field else made.bits // 8, LONG_BITS, False)


def _unknown(name: str) -> Expression:
    def evaluate(record: bytes) -> Value:
        raise UnknownNameError(f"{name!r} is unknown")

    return Expression(evaluate)


def _literal(text: str) -> Expression:
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xX"
    try:
        number = int(digits, 8 if octal else 0)
    except ValueError:
        raise PrintError(f"{text!r} is not a number") from None
    signed = "u" not in suffix
    bits = 32 if "l" not in suffix and number < 1 << 32 else LONG_BITS
    if signed and number >= 1 << (bits - 1):
        if digits.isdecimal():
            bits = LONG_BITS
        else:
            signed = False
    return _constant(wrap(number, bits, signed), bits, signed)


def _field_expression(item: ExpressionField) -> Expression:
    if item.is_text:
        return Expression(item.text, field=item)
    if not item.is_number:
        return Expression(item.data, field=item)
    return Expression(item.number, 8 * item.size, item.signed, item)


def _address(of: Expression) -> Expression:
    if of.field is None:
        raise PrintError("the address of something else than a field")
    return Expression(of.field.data, LONG_BITS, False)


def as_bytes(of: Expression, record: bytes) -> bytes:
    if of.field is not None:
        return of.field.data(record)
    value = of.evaluate(record)
    if not isinstance(value, bytes):
        raise PrintError("no array")
    return value


def _item(array: Expression, index: Expression) -> Expression:
    item = array.field
    if item is None or not item.is_array:
        raise PrintError("an index into something else than an array")
    source = item

    def evaluate(record: bytes) -> int:
        items, at = source.items(record), as_number(index.evaluate(record))
        if not 0 <= at < len(items):
            raise PrintError("an index beyond the array")
        return items[at]

    return Expression(evaluate, 8 * item.item_size, item.signed)


def _cast(of: Expression, bits: int, signed: bool) -> Expression:
    def evaluate(record: bytes) -> Value:
        value = of.evaluate(record)
        return wrap(value, bits, signed) if isinstance(value, int) else value

    return Expression(evaluate, bits, signed, of.field if of.field and not of.field.is_number else None)


def _unary(compute: Callable[[int], int], of: Expression, bits: int, signed: bool) -> Expression:
    return Expression(
        lambda record: wrap(compute(as_number(of.evaluate(record))), bits, signed), bits, signed
    )


def _promoted(compute: Callable[[int], int], of: Expression) -> Expression:
    bits = max(of.bits, 32)
    return _unary(compute, of, bits, of.signed or of.bits < bits)


def _common_type(a: Expression, b: Expression) -> tuple[int, bool]:
    """Return the type in which C computes with these two."""
    bits = max(a.bits, b.bits, 32)
    return bits, not any(side.bits == bits and not side.signed for side in (a, b))


def _operation(op: str, left: Expression, right: Expression) -> Expression:
    if op in _LOGICAL:
        return _logical(op == "&&", left, right)
    compute = _ARITHMETIC[op]
    bits, signed = _common_type(left, right)
    if op in ("<<", ">>"):
        bits = max(left.bits, 32)
        signed = left.signed or left.bits < bits

    def evaluate(record: bytes) -> int:
        a = wrap(as_number(left.evaluate(record)), bits, signed)
        b = as_number(right.evaluate(record))
        if op not in ("<<", ">>"):
            b = wrap(b, bits, signed)
        return wrap(compute(a, b), bits, signed)

    return Expression(evaluate, 32, True) if op in _COMPARISONS else Expression(evaluate, bits, signed)


def _logical(both: bool, left: Expression, right: Expression) -> Expression:
    def evaluate(record: bytes) -> int:
        a = bool(as_number(left.evaluate(record)))
        return int(bool(as_number(right.evaluate(record))) if a is both else a)

    return Expression(evaluate)


def _choice(condition: Expression, yes: Expression, no: Expression) -> Expression:
    bits, signed = _common_type(yes, no)

    def evaluate(record: bytes) -> Value:
        return (yes if as_number(condition.evaluate(record)) else no).evaluate(record)

    return Expression(evaluate, bits, signed)


def _listed(numbers: Sequence[int]) -> str:
    """Return an array as the kernel prints it, and trace-cmd with libtraceevent 1.8.4."""
    return f"{{{','.join(f'{number:#x}' for number in numbers)}}}"


def bit_ranges(bits: int) -> str:
    """Return the places of a number's bits, as "0-3,5"."""
    ranges = re.finditer("1+", format(bits, "b")[::-1])
    return ",".join(
        f"{found.start()}-{found.end() - 1}" if found.end() - found.start() > 1 else str(found.start())
        for found in ranges
    )


def _bitmask(data: bytes) -> str:
    """Return a mask in hexadecimal digits, words of 32 bits with commas between, as the kernel prints it."""
    words = [f"{int.from_bytes(data[at : at + 4], 'little'):08x}" for at in range(0, len(data), 4)]
    return ",".join(reversed(words))
