"""Names in messages: those similar to an unknown one, and without what could harm a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from difflib import SequenceMatcher

__all__ = ["did_you_mean", "nearest_names", "printable", "shortened"]

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
    """Return a name in which characters that could harm a terminal, or end a line, are escaped."""
    if name.isprintable():
        return name
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in name)


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
    wanted = pattern.lower().replace(":mod:", "").strip("*?[]!")
    if not wanted:
        return []
    from difflib import SequenceMatcher  # traced processes import this module: only for an error

    # SequenceMatcher analyses `wanted` only once. The quick ratios reject most names by their letters alone.
    matcher = SequenceMatcher(b=wanted, autojunk=False)
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
