"""Lists of processors, as filters have them in CPUS{}: `0-3,8`, `0-31:2/8`, `all`."""

from __future__ import annotations

import os
import re

__all__ = ["parse", "possible"]

_NUMBER = r"(\d{1,9}|N)"
_USED_OF_GROUP = r"(?::(\d{1,9})/(\d{1,9}))?"
_PART = re.compile(rf"{_NUMBER}(?:-{_NUMBER}{_USED_OF_GROUP})?|all{_USED_OF_GROUP}", re.ASCII | re.IGNORECASE)


def possible() -> int:
    """Return how many processors this machine can have."""
    return max(1, os.sysconf("SC_NPROCESSORS_CONF"))


def parse(text: str, processors: int) -> frozenset[int]:
    """Return the numbers of the processors in a list of the kernel's syntax. `N` is the last one.

    Raises:
        ValueError: it is no such list, or names a processor from `processors` on.
    """
    found: set[int] = set()
    for part in re.split(r"[,\s]+", text.strip(", \t\n")):
        matched = _PART.fullmatch(part)
        if matched is None:
            raise ValueError(f"no processors: {part!r}")
        found |= _numbers(matched, processors)
    return frozenset(found)


def _numbers(matched: re.Match[str], processors: int) -> set[int]:
    def number(text: str | None, default: int) -> int:
        return default if text is None else processors - 1 if text in "Nn" else int(text)

    first = number(matched[1], 0)
    last = number(matched[2], first if matched[1] else processors - 1)
    # Of each `group` processors of the range, the first `used`.
    used = number(matched[3] or matched[5], 1)
    group = number(matched[4] or matched[6], 1)
    if first > last or last >= processors or not group or used > group:
        raise ValueError(f"no processors: {matched[0]!r}")
    return {cpu for cpu in range(first, last + 1) if (cpu - first) % group < used}
