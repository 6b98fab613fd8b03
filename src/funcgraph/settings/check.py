"""Checks of values: each function returns the value, converted if need be, or raises ValueError.

The error says what would be right: "must be 0 or 1". The caller adds the setting and the value as given, and
raises an exception of its own kind.
"""

from funcgraph.settings.table import NAME_BYTES, OPTIONS, REDACT_BYTES, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "flag",
    "is_too_long",
    "meant",
    "name",
    "number",
    "one_of",
    "option_word",
    "pattern_list",
    "range_text",
    "redact",
    "seconds",
    "size",
    "size_of_text",
]

_SIZE_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TIME_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def range_text(setting: Setting) -> str:
    """Return the values of a number, as a reason says them: "a whole number from 0 to 262143"."""
    return f"a whole number from {setting.least} to {setting.most}"


def flag(value: object) -> bool:
    """Return a flag: True, False, 1 or 0. Raises ValueError."""
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise ValueError("must be 0 or 1")


def number(setting: Setting, value: object) -> int:
    """Return a number within the setting's limits, or its default. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be {range_text(setting)}")
    if not setting.least <= value <= setting.most and value != setting.default:
        raise ValueError(f"must be {range_text(setting)}")
    return value


def size(setting: Setting, value: object) -> int:
    """Return a number of bytes, of a number or a text such as 512K, 100M or 2G. Raises ValueError."""
    limits = f"from {setting.least >> 10}K to {setting.most >> 40}T"
    return _measured(setting, value, _SIZE_UNITS, f"a size such as 512K, 100M or 2G, {limits}")


def seconds(setting: Setting, value: object) -> int:
    """Return a number of seconds, of a number or a text such as 30s, 5m or 2h. Raises ValueError."""
    return _measured(setting, value, _TIME_UNITS, f"a time such as 30s, 5m or 2h, at least {setting.least}s")


def _measured(setting: Setting, value: object, units: dict[str, int], right: str) -> int:
    """Return the number that a text with a unit stands for; 0 is allowed, and means none."""
    count = _count(value, units) if isinstance(value, str) else value
    if isinstance(count, bool) or not isinstance(count, int):
        raise ValueError(f"must be {right}")
    if count and not setting.least <= count <= setting.most:
        raise ValueError(f"must be {right}")
    return count


def _count(text: str, units: dict[str, int]) -> int | None:
    unit = text.lstrip("0123456789")
    digits = text[: len(text) - len(unit)]
    if not digits or len(digits) > 18 or unit.lower() not in units:
        return None
    return int(digits) * units[unit.lower()]


def size_of_text(text: str) -> int | None:
    """Return the bytes that a text such as 512K, 100m or 2G stands for; None: it is no size."""
    return _count(text, _SIZE_UNITS)


def one_of(value: object, allowed: "Iterable[str]") -> str:
    """Return a name that is one of those allowed. Raises ValueError, whose text lists them."""
    names = tuple(allowed)
    if isinstance(value, str) and value in names:
        return value
    raise ValueError(f"must be one of {', '.join(names)}{meant(value, names)}")


def meant(value: object, names: "Iterable[str]") -> str:
    """Return the end of a message about an unknown name: the known one that is most similar to it."""
    from funcgraph.names import did_you_mean

    return did_you_mean(value, names)


def option_word(word: object, allowed: "Iterable[str]" = OPTIONS) -> tuple[str, bool]:
    """Return the trace option that a word names, and whether the word turns it on or ("noNAME") off.

    Args:
        word: "funcgraph-args" or "nofuncgraph-args".
        allowed: the names of the options that the word may name.

    Raises:
        ValueError: the word names none of these; the text lists them.
    """
    names = tuple(allowed)
    if isinstance(word, str):
        if word in names:
            return word, True
        if word.startswith("no") and word[2:] in names:
            return word[2:], False
    both = (*names, *(f"no{name}" for name in names))
    raise ValueError(
        f"must be one of {', '.join(names)}, or one of them with 'no' before it{meant(word, both)}"
    )


def redact(value: object) -> str:
    """Return words with "|" between them, whose values are not recorded. Raises ValueError."""
    if not isinstance(value, str) or (value and not all(value.split("|"))) or "\0" in value:
        raise ValueError("must be words with '|' between them, as password|token")
    if len(value.encode("utf-8", "surrogatepass")) > REDACT_BYTES:
        raise ValueError(f"must have at most {REDACT_BYTES} bytes")
    return value


def pattern_list(
    value: "str | Iterable[object]", check_pattern: "Callable[[str], object]"
) -> tuple[str, ...]:
    """Return patterns as a tuple.

    Args:
        value: the patterns, or a text with white space between them.
        check_pattern: raises ValueError for an invalid pattern (_engine.check_pattern).

    Raises:
        ValueError: an invalid pattern, or an item that is no str.
    """
    patterns = []
    for pattern in value.split() if isinstance(value, str) else value:
        if not isinstance(pattern, str):
            raise ValueError(f"each pattern must be a str, not {type(pattern).__name__}")
        check_pattern(pattern)
        patterns.append(pattern)
    return tuple(patterns)


def name(value: str) -> str:
    """Return an instance's name. Raises ValueError."""
    if value in ("", ".", "..") or "/" in value or "\0" in value:
        raise ValueError("must be non-empty, contain no '/', and not be '.' or '..'")
    if any("\ud800" <= character <= "\udfff" for character in value):  # a file's name that is no UTF-8
        raise ValueError("must be UTF-8")
    return value


def is_too_long(value: str) -> bool:
    """Return whether an instance's name has more than NAME_BYTES bytes."""
    return len(value.encode("utf-8", "surrogatepass")) > NAME_BYTES
