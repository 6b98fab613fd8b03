"""A command: a line cut into words as the kernel cuts it, and errors that point at a place in it."""

from __future__ import annotations

from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.messages import Message

__all__ = ["BLANKS", "Command", "after_quoted", "number", "split_words", "type_colon", "without_comment"]

#: What separates words: ASCII only, as in the kernel. A key may hold any other blank of Unicode.
BLANKS = " \t\n\v\f\r"


def after_quoted(text: str, at: int) -> int:
    """Return where the character at a place ends; the quoted text of `["key"]` and `\\"text"` counts as one.

    A quote that is never closed is a character like others, so that the error is found in its own word.
    """
    if text[at] in "[\\" and text[at + 1 : at + 2] == '"':
        end = at + 2
        while end < len(text):
            if text[end] == '"':
                return end + 1
            end += 2 if text[end] == "\\" else 1
    return at + 1


def type_colon(argument: str) -> int:
    """Return where the colon before a fetch argument's type is, or the text's length."""
    at = 0
    while at < len(argument) and argument[at] != ":":
        at = after_quoted(argument, at)
    return at


def _after_key(text: str, at: int) -> int:
    """As after_quoted() for keys alone: the kernel ends a word at a blank in an immediate string too."""
    return after_quoted(text, at) if text[at] == "[" else at + 1


def without_comment(line: str) -> str:
    """Return a line without its comment: all from `#` on. A `#` in a `["key"]` begins none."""
    at = 0
    while at < len(line):
        if line[at] == "#":
            return line[:at]
        at = _after_key(line, at)
    return line


def split_words(line: str) -> list[str]:
    """Return the words of a line; a blank in a `["key"]` separates none."""
    words = []
    at = 0
    while at < len(line):
        if line[at] in BLANKS:
            at += 1
            continue
        start = at
        while at < len(line) and line[at] not in BLANKS:
            at = _after_key(line, at)
        words.append(line[start:at])
    return words


_DIGITS = {"x": (16, "0123456789abcdef"), "o": (8, "01234567"), "": (10, "0123456789")}


def number(text: str) -> int | None:
    """Return a number without a sign as the kernel reads it, 0x for hexadecimal and 0 for octal, or None."""
    kind, digits = "", text
    if text[:2] in ("0x", "0X"):
        kind, digits = "x", text[2:]
    elif len(text) > 1 and text[0] == "0":
        kind, digits = "o", text[1:]
    base, allowed = _DIGITS[kind]
    # int() would take "_", blanks and the digits of other scripts, and refuses very long texts its own way.
    if not digits or len(digits) > 64 or digits.lower().strip(allowed):
        return None
    value = int(digits, base)
    return value if value < 1 << 64 else None


class Command:
    """A line that is being read.

    Args:
        component: who reads it, as error_log names it.
        words: its words; errors show them with one blank between two.
    """

    __slots__ = ("component", "words")

    def __init__(self, component: str, words: list[str]) -> None:
        self.component = component
        self.words = words

    def error(
        self, message: Message, word: int = 0, offset: int = 0, *, errno: int | None = None, hint: str = ""
    ) -> ProbeError:
        """Return an error.

        Args:
            message: what is wrong.
            word: the number of the word that is wrong; beyond the last: the place after the command.
            offset: the place in the word.
            errno: the error's number, if it is not the message's.
            hint: what would be right.
        """
        text = " ".join(self.words)
        if word >= len(self.words):
            place = len(text) + 1
        else:
            place = sum(len(before) + 1 for before in self.words[:word]) + offset
        return ProbeError(message, self.component, text, place, errno=errno, hint=hint)
