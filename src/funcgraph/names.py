"""Names in messages: those similar to an unknown one, and without what could harm a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from difflib import SequenceMatcher

__all__ = ["did_you_mean", "nearest_names", "printable", "printable_lines", "shortened"]

#: Controls (C0, C1), format characters that reorder or hide text, and lone surrogates: bytes that are not
#: UTF-8. src/tracedata/base/text.c has these, too.
_HARMFUL = (
    range(0x20), range(0x7F, 0xA0), range(0xAD, 0xAE), range(0x61C, 0x61D), range(0x200B, 0x2010),
    range(0x2028, 0x202F), range(0x2060, 0x2070), range(0xD800, 0xE000), range(0xFEFF, 0xFF00),
)  # fmt: skip

_LEAST = 0.6  # the lowest ratio of similarity
_CUT = ".."  # in place of what is left out of a name
_LEAST_LEFT = 6  # characters of a name that are readable


def did_you_mean(word: object, names: Iterable[str]) -> str:
    """Return "; did you mean 'NAME'?", for the end of a message about an unknown word.

    Args:
        word: what was given. For one that is no str the result is empty.
        names: what would have been right. If none is similar to `word`, the result is empty.
    """
    near = nearest_names(word, list(names), 1) if isinstance(word, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def printable(name: str) -> str:
    """Return a name as one line that harms no terminal: controls and bidirectional overrides are escaped.

    A terminal obeys escape sequences that a traced program, a server or a trace wrote. They are escaped
    wherever the text goes: `funcgraph show | less -R` or `ssh HOST funcgraph show` writes to a pipe at whose
    other end is a terminal. `ls` leaves them in a pipe, for scripts that need the bytes of a name; those read
    the files of a mount, or JSON.
    """
    if name.isprintable():
        return name
    return "".join(map(_printable_character, name))


def _printable_character(character: str) -> str:
    code = ord(character)
    if not any(code in codes for codes in _HARMFUL):
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def printable_lines(text: str) -> str:
    """Return a text of several lines that harms no terminal: as printable(), but newlines and tabs stay."""
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))


def shortened(name: str, width: int) -> str:
    """Return a name that has at most `width` characters: its middle is left out if it has more.

    The end of a name says more than its beginning, and gets two thirds. Where nothing readable would be left
    the name stays whole.
    """
    left = width - len(_CUT)
    if len(name) <= width or left < _LEAST_LEFT:
        return name
    begin = left // 3
    return f"{name[:begin]}{_CUT}{name[begin - left :]}"


def nearest_names(pattern: str, names: Sequence[str], count: int = 3) -> list[str]:
    """Return the `count` names that are most similar to `pattern`, best first."""
    word = pattern.lower().replace(":mod:", "").strip("*?[]!")
    if not word:
        return []
    from difflib import SequenceMatcher  # traced processes import this module: only for an error

    # SequenceMatcher analyses `word` only once. The quick ratios reject most names by their letters alone.
    matcher = SequenceMatcher(b=word, autojunk=False)
    best: list[tuple[float, str]] = []  # (-ratio, name), best first
    for name in dict.fromkeys(names):
        least = -best[-1][0] if len(best) == count else _LEAST
        # A person may leave out the module, or the class of a method.
        forms = {name.lower(), name.lower().rpartition(".")[2]}
        ratio = max(_ratio(matcher, form, least) for form in forms)
        if ratio >= least:
            best = sorted([*best, (-ratio, name)])[:count]
    return [name for _, name in best]


def _ratio(matcher: SequenceMatcher[str], form: str, least: float) -> float:
    """Return the similarity of `form` to the matcher's text; 0 if it is below `least`."""
    matcher.set_seq1(form)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0
    return matcher.ratio()
