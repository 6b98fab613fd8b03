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
    """Attach one handler to many functions, and return the link.

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
            functions have selects all of them.
        filter: instead of `functions`: a pattern or several, as for register_fprobe().
        cookies: an int (0 to 2**64 - 1) for each of `functions`; the handler gets it as ctx.cookie.
        kind: "entry": the handler runs at the entry; "return": at the return; "session": at both. In a
            session both share ctx.session_cookie, and a true result at the entry skips the return.
        name: its name in error messages.
        keep_on_error: the handler stays enabled after it has raised.
        save_regs: ctx.regs.get_regs() returns the full frame.

    Returns:
        The link. The handler stays attached until detach(), even without a reference to the link. As a
        context manager the link detaches itself.

    Raises:
        OSError: EINVAL (both or neither of functions and filter; no function; the number of cookies differs
            from that of functions; cookies with a filter), ENOENT (no function has one of the names, or
            nothing matches; the message has similar names), EOPNOTSUPP (native functions: their calls can
            have no Python callbacks), ENOSPC. Then nothing is attached.
        ValueError: an invalid pattern, kind or address.
        TypeError, OverflowError (a cookie), RuntimeError, MemoryError.
    """
    settings = (kind, name, keep_on_error, save_regs)
    if (functions is None) == (filter is None):
        raise OSError(errno.EINVAL, "kprobe_multi() needs either functions or a filter")
    if functions is None:
        if cookies is not None:
            raise OSError(errno.EINVAL, "cookies need functions, not a filter")
        return _attach_filter(handler, several(filter), settings)
    if isinstance(functions, str):
        raise TypeError(f"functions must be a sequence, not one str; use [{functions!r}]")
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
    """Return all functions, with a cookie for each."""
    if cookies is not None and len(cookies) != len(given):
        raise OSError(errno.EINVAL, f"got {len(cookies)} cookies for {len(given)} functions")
    named = functions_named([name for name in given if isinstance(name, str)])
    found: list[Function] = []
    found_cookies: list[int] = []
    for i, one in enumerate(given):
        these = named[one] if isinstance(one, str) else [_engine.function_of(one)]
        found += these
        if cookies is not None:
            found_cookies += [cookies[i]] * len(these)
    return found, None if cookies is None else tuple(found_cookies)
