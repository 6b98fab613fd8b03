"""The text of a session's `config` file: key=value lines, with a line for each value of a key.

Every traced process imports this module, so it imports nothing.
"""

__all__ = ["dump", "parse"]

_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r"}
_UNESCAPES = {"\\": "\\", "n": "\n", "r": "\r"}


def _escape(value: str) -> str:
    for plain, escaped in _ESCAPES.items():  # the backslash first
        value = value.replace(plain, escaped)
    return value


def _unescape(value: str) -> str:
    head, *rest = value.split("\\")
    out = [head]
    pieces = iter(rest)
    for piece in pieces:
        if piece:
            out.append(_UNESCAPES[piece[0]] + piece[1:])
        else:  # an escaped backslash; the next piece follows it unchanged
            following = next(pieces, None)
            if following is None:
                raise KeyError
            out.append("\\" + following)
    return "".join(out)


def dump(values: dict[str, list[str]]) -> str:
    """Return the text for `values`, from which `parse` returns them."""
    return "".join(f"{key}={_escape(value)}\n" for key, items in values.items() for value in items)


def parse(text: str) -> dict[str, list[str]]:
    """Return each key's values, in their order.

    Raises:
        ValueError: a line has no '=', or an escape that `dump` does not write.
    """
    values: dict[str, list[str]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        key, equals, value = line.partition("=")
        try:
            if not equals:
                raise KeyError
            values.setdefault(key, []).append(_unescape(value))
        except KeyError:
            raise ValueError(f"config: line {number}: {line!r}: must be key=value") from None
    return values
