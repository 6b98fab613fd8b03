"""Names of functions near to one that is nobody's, for the texts of errors."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

__all__ = ["nearest_names"]

_LEAST = 0.6  # of what two texts can have in common


def nearest_names(pattern: str, names: Sequence[str], count: int = 3) -> list[str]:
    """Return those of `names` that are most like `pattern`, best first."""
    wanted = pattern.lower().replace(":mod:", "").strip("*?[]!")
    if not wanted:
        return []
    # `wanted` is looked through once, not for each name; and most names are told apart by their letters.
    matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)
    best: list[tuple[float, str]] = []  # (-ratio, name), best first
    for name in dict.fromkeys(names):
        least = -best[-1][0] if len(best) == count else _LEAST
        # A person may leave out the module, or write a function where we have a class's method.
        forms = {name.lower(), name.lower().rpartition(".")[2]}
        ratio = max(_ratio(matcher, form, least) for form in forms)
        if ratio >= least:
            best = sorted([*best, (-ratio, name)])[:count]
    return [name for _, name in best]


def _ratio(matcher: difflib.SequenceMatcher[str], form: str, least: float) -> float:
    """How much `form` is like the matcher's text; 0 if that is under `least`."""
    matcher.set_seq1(form)
    if matcher.real_quick_ratio() < least or matcher.quick_ratio() < least:
        return 0
    return matcher.ratio()
