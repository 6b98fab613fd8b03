"""Native functions below chosen Python functions: what `native_under` of a recording stands for.

It is the graph filter, with the native functions of objects beside all Python functions. Elsewhere the hooks
cost a test (src/arch/native/call_fast.c).
"""

from collections.abc import Sequence
from typing import Any

from funcgraph.native import hooking

__all__ = ["record_under"]


def record_under(
    keywords: dict[str, Any], under: Sequence[str], objects: Sequence[str], directory: str
) -> list[str]:
    """Extend an instance's patterns by native functions below Python functions, and have these hooked.

    Args:
        keywords: the instance's settings, whose patterns change.
        under: the Python functions.
        objects: globs for objects; none: all that not everything calls (hooking.EVERYBODYS).
        directory: of the session, whose the patterns are, and where plans may be.

    Returns:
        What is wrong with all of them: a line, or none.
    """
    chosen = tuple(glob for glob in objects if glob != "*")
    keywords["graph"] = [*keywords["graph"], *under]
    keywords["filter"] = [*(keywords["filter"] or ("*",)), *map(_functions_of, chosen or ("*",))]
    if chosen:
        return []  # their patterns are hooked as any others
    keywords["notrace"] = [*keywords["notrace"], *map(_functions_of, hooking.EVERYBODYS)]
    return hooking.hook_objects(directory, directory)


def _functions_of(objects: str) -> str:
    return f"*:mod:{objects}"
