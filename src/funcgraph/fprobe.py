"""Python's side of fprobes: names and patterns, and what an error says of names that are nobody's."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from contextlib import AbstractContextManager

from funcgraph import _engine
from funcgraph._engine import Fprobe, Function
from funcgraph.fgraph import while_registered

Patterns = str | Iterable[str]


def register_fprobe(fp: Fprobe, filter: Patterns, notfilter: Patterns | None = None) -> None:
    """Put an fprobe on all functions that match, also on those that come later.

    Every call that begins after this has returned is seen. The kernel's register_fprobe().

        funcgraph.register_fprobe(fp, "shop.*", "shop.db.*")

    Args:
        fp: the fprobe. The engine keeps a reference to it while it is registered.
        filter: a pattern or several, as in FgraphOps(filter=...). A C function is probed only under its whole
            name.
        notfilter: never these.

    Raises:
        ValueError: a bad pattern; the text says what is wrong, and where.
        OSError: EINVAL (no pattern), ENOENT (no function that is there matches; the text has the nearest
            names), E2BIG (entry_data_size is more than 120), EEXIST (it is registered already), ENOSPC (all
            slots of users are taken). Then nothing is registered.
        RuntimeError: CPython has no hook free; the interpreter is ending.
        TypeError, MemoryError.
    """
    patterns = several(filter)
    try:
        _engine.register_fprobe(fp, patterns, several(notfilter))
    except FileNotFoundError as error:
        raise nobody(patterns) from error


def register_fprobe_syms(fp: Fprobe, names: Iterable[str]) -> None:
    """Put an fprobe on the functions of these whole names ("module.qualname"), as they are now.

    All or nothing: if one name is unknown, the fprobe is on none of them. A name that several functions have
    is all of these. The kernel's register_fprobe_syms().

        funcgraph.register_fprobe_syms(fp, ["shop.checkout", "shop.cart.Cart.add", "builtins.len"])

    Args:
        fp: as register_fprobe.
        names: of Python and of C functions; not patterns.

    Raises:
        OSError: EINVAL (no name), ENOENT (nobody has one of the names; the text has those nearest to each),
            and as register_fprobe.
        TypeError, MemoryError, RuntimeError.
    """
    functions = functions_named(_names(names))
    _engine.register_fprobe_ips(fp, [function for several in functions.values() for function in several])


def fprobe_count_ips_from_filter(filter: Patterns, notfilter: Patterns | None = None) -> int:
    """Return how many functions register_fprobe would put an fprobe on now, called or not.

    The kernel's fprobe_count_ips_from_filter().

    Raises:
        ValueError, OSError: as register_fprobe; ENOENT too, if there is none.
    """
    patterns = several(filter)
    try:
        return _engine.fprobe_count_ips_from_filter(patterns, several(notfilter))
    except FileNotFoundError as error:
        raise nobody(patterns) from error


def registered_fprobe(
    fp: Fprobe, filter: Patterns, notfilter: Patterns | None = None
) -> AbstractContextManager[Fprobe]:
    """Register an fprobe for the length of a `with` block.

        with funcgraph.registered_fprobe(fp, "shop.*"):
            work()

    One that was unregistered inside the block is left as it is.

    Args:
        fp, filter, notfilter: as register_fprobe.

    Yields:
        The fprobe.

    Raises:
        As register_fprobe.
    """
    return while_registered(
        [fp], lambda one: register_fprobe(one, filter, notfilter), _engine.unregister_fprobe
    )


def functions_named(names: list[str]) -> dict[str, list[Function]]:
    """The functions of each of these whole names; OSError ENOENT: nobody has one of them."""
    functions = _engine.functions_named(names)
    unknown = [name for name, several in functions.items() if not several]
    if unknown:
        raise nobody(unknown)
    return functions


def nobody(patterns: list[str]) -> OSError:
    """What to raise when no function has these names, or matches these patterns."""
    from funcgraph.names import nearest_names

    known = _engine.function_names()
    texts = []
    for pattern in patterns:
        near = nearest_names(pattern, known)
        texts.append(f"{pattern!r}" + (f" (nearest: {', '.join(near)})" if near else ""))
    return OSError(errno.ENOENT, f"no function has the name or matches: {'; '.join(texts)}")


def several(patterns: Patterns | None) -> list[str]:
    """One pattern or several, or none, as a list."""
    if patterns is None:
        return []
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _names(names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise TypeError("names must be a sequence, not one str")
    return list(names)
