"""The part of the fprobe API that is in Python: names, patterns, and errors with similar names."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from contextlib import AbstractContextManager

from funcgraph import _engine
from funcgraph._engine import Fprobe, Function
from funcgraph.fgraph import while_registered

Patterns = str | Iterable[str]


def register_fprobe(fp: Fprobe, filter: Patterns, notfilter: Patterns | None = None) -> None:
    """Register an fprobe for all functions that match, including those defined later.

    It sees every call that begins after this has returned. The kernel's register_fprobe().

        funcgraph.register_fprobe(fp, "shop.*", "shop.db.*")

    Args:
        fp: the fprobe. The engine holds a reference to it while it is registered.
        filter: a pattern or several, as in FgraphOps(filter=...). A C function matches only by its whole
            name.
        notfilter: never these functions.

    Raises:
        ValueError: an invalid pattern; the message says why and where.
        OSError: EINVAL (no pattern), ENOENT (no existing function matches, and the message has similar names;
            or `notfilter` removes all that match, as in the kernel), E2BIG (entry_data_size is more than
            120), EEXIST (it is registered already), ENOSPC (all slots are in use), EOPNOTSUPP (native
            functions: their calls can have no Python callbacks). Then nothing is registered.
        RuntimeError: CPython has no free hook; the interpreter is ending.
        TypeError, MemoryError.
    """
    patterns, without = several(filter), several(notfilter)
    try:
        _engine.register_fprobe(fp, patterns, without)
    except FileNotFoundError as error:
        raise _nothing_left(patterns, without) from error


def register_fprobe_syms(fp: Fprobe, names: Iterable[str]) -> None:
    """Register an fprobe for the existing functions with these whole names ("module.qualname").

    If a name is unknown, nothing is registered. A name that several functions have selects all of them. The
    kernel's register_fprobe_syms().

        funcgraph.register_fprobe_syms(fp, ["shop.checkout", "shop.cart.Cart.add", "builtins.len"])

    Args:
        fp: as for register_fprobe().
        names: names of Python and C functions; not patterns.

    Raises:
        OSError: EINVAL (no name), ENOENT (no function has one of the names; the message has similar names for
            each), and as register_fprobe().
        TypeError, MemoryError, RuntimeError.
    """
    functions = functions_named(_names(names))
    _engine.register_fprobe_ips(fp, [function for several in functions.values() for function in several])


def fprobe_count_ips_from_filter(filter: Patterns, notfilter: Patterns | None = None) -> int:
    """Return the number of existing functions that match, called or not.

    The kernel's fprobe_count_ips_from_filter().

    Raises:
        ValueError, OSError: as register_fprobe(), including ENOENT if nothing matches.
    """
    patterns, without = several(filter), several(notfilter)
    try:
        return _engine.fprobe_count_ips_from_filter(patterns, without)
    except FileNotFoundError as error:
        raise _nothing_left(patterns, without) from error


def registered_fprobe(
    fp: Fprobe, filter: Patterns, notfilter: Patterns | None = None
) -> AbstractContextManager[Fprobe]:
    """Register an fprobe while a `with` block runs.

        with funcgraph.registered_fprobe(fp, "shop.*"):
            work()

    If it was unregistered inside the block, it stays so.

    Args:
        fp, filter, notfilter: as for register_fprobe().

    Yields:
        The fprobe.

    Raises:
        As register_fprobe().
    """
    return while_registered(
        [fp], lambda one: register_fprobe(one, filter, notfilter), _engine.unregister_fprobe
    )


def functions_named(names: list[str]) -> dict[str, list[Function]]:
    """Return the functions with each of these whole names. OSError ENOENT: no function has one of them."""
    functions = _engine.functions_named(names)
    unknown = [name for name, several in functions.items() if not several]
    if unknown:
        raise nobody(unknown)
    return functions


def nobody(patterns: list[str]) -> OSError:
    """Return the error for names or patterns that no function matches."""
    from funcgraph.names import nearest_names

    own = "funcgraph."
    known = _engine.function_names()
    others = [name for name in known if not name.startswith(own)]
    texts = []
    for pattern in patterns:
        near = nearest_names(pattern, known if pattern.startswith(own) else others)
        texts.append(f"{pattern!r}" + (f" (nearest: {', '.join(near)})" if near else ""))
    return OSError(errno.ENOENT, f"no function has the name or matches: {'; '.join(texts)}")


def _nothing_left(patterns: list[str], without: list[str]) -> OSError:
    """Return the error for patterns of which notfilter, if given, leaves no function."""
    try:
        n = _engine.fprobe_count_ips_from_filter(patterns, []) if without else 0
    except FileNotFoundError:
        n = 0
    if not n:
        return nobody(patterns)
    removed = f"all {n} functions" if n > 1 else "the only function"
    match = "match" if len(patterns) > 1 else "matches"
    text = f"notfilter {_listed(without)} removes {removed} that {_listed(patterns)} {match}"
    return OSError(errno.ENOENT, text)


def _listed(patterns: list[str]) -> str:
    return ", ".join(map(repr, patterns))


def several(patterns: Patterns | None) -> list[str]:
    """Return one pattern, several or none as a list."""
    if patterns is None:
        return []
    return [patterns] if isinstance(patterns, str) else list(patterns)


def _names(names: Iterable[str]) -> list[str]:
    if isinstance(names, str):
        raise TypeError(f"names must be a sequence, not one str; use [{names!r}]")
    return list(names)
