"""kprobe_multi(): one handler on many functions, with a cookie for each."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from funcgraph import _engine
from funcgraph._engine import Function, KprobeMultiCtx, KprobeMultiLink
from funcgraph.fprobe import Patterns, functions_named, nobody, several


def kprobe_multi(
    handler: Callable[[KprobeMultiCtx], object] | int,
    functions: Iterable[object] | None = None,
    *,
    filter: Patterns | None = None,
    cookies: Iterable[int] | None = None,
    kind: Literal["entry", "return", "session"] = "entry",
    name: str = "",
    keep_on_error: bool = False,
    save_regs: bool = False,
) -> KprobeMultiLink:
    """Put one handler on many functions, and return the link that keeps it there.

    The kernel's kprobe_multi link of BPF programs (BPF_TRACE_KPROBE_MULTI and BPF_TRACE_KPROBE_SESSION).

        def slow(ctx):
            if not ctx.is_return:
                ctx.session_cookie = time.monotonic_ns()
            elif time.monotonic_ns() - ctx.session_cookie > ctx.cookie:
                print(ctx.func.name, "is slow")

        link = funcgraph.kprobe_multi(slow, ["shop.checkout", shop.pay], cookies=[5_000_000, 1_000_000],
                                      kind="session")
        ...
        link.detach()

    Args:
        handler: called as handler(ctx) with a KprobeMultiCtx; or the address of a C function, as for
            FgraphOps, with the signature of kprobe_multi_prog_t in funcgraph.h.
        functions: names, Python functions, methods, code objects, C functions, Functions. A name that several
            functions have is all of these.
        filter: instead of `functions`: a pattern or several, as register_fprobe has it.
        cookies: an int for each of `functions`, 0 to 2**64 - 1: what the handler finds as ctx.cookie.
        kind: "entry": called at the entry; "return": at the return; "session": at both, where a true answer
            at the entry means that the return is not wanted, and both share ctx.session_cookie.
        name: what error messages call it.
        keep_on_error: it stays enabled after the handler has raised.
        save_regs: ctx.regs.get_regs() gives the full frame.

    Returns:
        The link. It holds until detach(), also if nobody keeps it; it is a context manager that detaches
        itself.

    Raises:
        OSError: EINVAL (both or neither of functions and filter; none given; as many cookies as functions are
            needed, and none with a filter), ENOENT (nobody has one of the names, or nothing matches; the text
            has the nearest names), ENOSPC. Then nothing is attached.
        ValueError: a bad pattern; no such kind; no address.
        TypeError, OverflowError (a cookie), RuntimeError, MemoryError.
    """
    settings = (kind, name, keep_on_error, save_regs)
    if (functions is None) == (filter is None):
        raise OSError(errno.EINVAL, "either functions or a filter is needed")
    if functions is None:
        if cookies is not None:
            raise OSError(errno.EINVAL, "cookies are for functions, not for a filter")
        return _attach_filter(handler, several(filter), settings)
    if isinstance(functions, str):
        raise TypeError("functions must be a sequence, not one str")
    found, found_cookies = _resolve(list(functions), None if cookies is None else list(cookies))
    return _engine.kprobe_multi_attach(handler, found, (), found_cookies, *settings)


def _attach_filter(
    handler: Any, patterns: list[str], settings: tuple[str, str, bool, bool]
) -> KprobeMultiLink:
    try:
        return _engine.kprobe_multi_attach(handler, None, patterns, None, *settings)
    except FileNotFoundError as error:
        raise nobody(patterns) from error


def _resolve(
    given: Sequence[object], cookies: Sequence[int] | None
) -> tuple[list[Function], tuple[int, ...] | None]:
    """All functions, and a cookie for each."""
    if cookies is not None and len(cookies) != len(given):
        raise OSError(errno.EINVAL, f"{len(cookies)} cookies for {len(given)} functions")
    named = functions_named([name for name in given if isinstance(name, str)])
    found: list[Function] = []
    found_cookies: list[int] = []
    for i, one in enumerate(given):
        these = named[one] if isinstance(one, str) else [_engine.function_of(one)]
        found += these
        if cookies is not None:
            found_cookies += [cookies[i]] * len(these)
    return found, None if cookies is None else tuple(found_cookies)
