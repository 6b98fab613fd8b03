"""kprobe_multi: one handler on many functions, cookies, sessions, links.

Broken by hand: read_cookies() gave all functions the first cookie; the session cookie was not written;
run_in() returned 0; keeping a ctx released the borrowed ret_ip (a crash); link_exit() detached twice.
"""

from __future__ import annotations

import errno
import gc
import weakref
from typing import Any

import pytest

import funcgraph

pytest_plugins = ("probes",)
pytestmark = pytest.mark.usefixtures("no_users_left")
HERE = __name__


def first(n: int = 0) -> int:
    return n


def second(n: int = 0) -> int:
    return -n


def fails() -> None:
    raise LookupError


def attach(kind: str, calls: list[Any], **settings: Any) -> Any:
    def handler(ctx):
        calls.append((ctx.func.qualname, ctx.cookie, ctx.is_return))

    return funcgraph.kprobe_multi(handler, [first, f"{HERE}.second"], kind=kind, **settings)


@pytest.mark.parametrize(
    ("kind", "returns"), [("entry", [False]), ("return", [True]), ("session", [False, True])]
)
@pytest.mark.parametrize("cookies", [None, [5, 2**64 - 1]])
def test_kinds_and_cookies(kind, returns, cookies):
    calls: list[Any] = []
    of_first, of_second = cookies or (0, 0)
    link = attach(kind, calls, cookies=cookies, name="multi")
    assert (link.kind, link.registered, link.name, link.nmissed) == (kind, True, "multi", 0)
    assert repr(link) == "<funcgraph._engine.KprobeMultiLink 'multi', attached>"
    second(), first()
    link.detach()
    first()
    expected = [("second", of_second, is_return) for is_return in returns]
    assert calls == expected + [("first", of_first, is_return) for is_return in returns]
    assert not link.registered and "not attached" in repr(link)


def test_what_the_handler_is_told():
    reported = []

    def handler(ctx):
        value = ctx.regs.get_return_value() if ctx.is_return else ctx.regs.get_argument("n")
        reported.append((ctx.link, ctx.func.name, ctx.ret_ip.qualname, value))

    with funcgraph.kprobe_multi(handler, [first], kind="session") as link:
        first(3)
    where = "test_what_the_handler_is_told"
    assert reported == [(link, f"{HERE}.first", where, 3)] * 2
    assert not link.registered


def test_a_session_shares_a_word_and_may_refuse_the_return():
    seen = []

    def handler(ctx):
        if not ctx.is_return:
            assert ctx.session_cookie == 0
            ctx.session_cookie = 2**64 - 1 - ctx.regs.get_argument(0)
            return ctx.regs.get_argument(0) == 2
        seen.append(2**64 - 1 - ctx.session_cookie)
        return True

    def outer(n):
        return n and outer(n - 1)

    with funcgraph.kprobe_multi(handler, [outer], kind="session", cookies=[9]):
        outer(4)
    assert seen == [0, 1, 3, 4]


def test_the_answer_counts_in_a_session_only():
    calls = []

    def handler(ctx):
        calls.append(ctx.is_return)
        return True

    for kind in ("entry", "return", "session"):
        with funcgraph.kprobe_multi(handler, [first], kind=kind):
            first()
    assert calls == [False, True, False]


def test_ctx_that_is_kept():
    kept = []

    def handler(ctx):
        if not ctx.is_return:
            ctx.session_cookie = len(kept) + 1
        kept.append(ctx)

    with funcgraph.kprobe_multi(handler, [first, second], kind="session", cookies=[7, 8]) as link:
        first(), second()
    assert [ctx.is_return for ctx in kept] == [False, True, False, True]
    assert [ctx.session_cookie for ctx in kept] == [1, 1, 3, 3]
    assert [(ctx.func.qualname, ctx.cookie) for ctx in kept[1:3]] == [("first", 7), ("second", 8)]
    for ctx in kept:
        assert ctx.link is link and ctx.ret_ip.qualname == "test_ctx_that_is_kept"
        with pytest.raises(RuntimeError, match="after its callback"):
            ctx.regs
        with pytest.raises(RuntimeError, match="after its callback"):
            ctx.session_cookie = 1
    gone = weakref.ref(link)
    del link, ctx
    kept.clear()
    gc.collect()
    assert gone() is None


def test_session_cookie_of_another_kind_and_bad_ones(no_users_left):
    errors = []

    def handler(ctx):
        for value in (None, -1, 2**64, "1"):
            try:
                if value is None:
                    ctx.session_cookie
                else:
                    ctx.session_cookie = value
            except (AttributeError, OverflowError, TypeError) as error:
                errors.append(type(error))

    with funcgraph.kprobe_multi(handler, [first]):
        first()
    assert errors == [AttributeError] * 4
    errors.clear()
    with funcgraph.kprobe_multi(handler, [first], kind="session"):
        first()
    assert errors == [OverflowError, OverflowError, TypeError] * 2
    assert not no_users_left


def test_by_filter():
    calls = []
    link = funcgraph.kprobe_multi(
        lambda ctx: calls.append((ctx.func.qualname, ctx.cookie)), filter=[f"{HERE}.fir*", f"{HERE}.late"]
    )
    first(), second()
    scope: dict[str, Any] = {"__name__": HERE}
    exec("def late(): pass", scope)
    scope["late"]()
    link.detach()
    assert calls == [("first", 0), ("late", 0)]


def test_a_name_of_several_functions_takes_its_cookie_to_all():
    scopes: list[dict[str, Any]] = [{"__name__": "multi_twins"} for _ in range(3)]
    for scope in scopes:
        exec("def twin(): pass", scope)
    calls = []
    functions = ["multi_twins.twin", first]
    with funcgraph.kprobe_multi(lambda ctx: calls.append(ctx.cookie), functions, cookies=(4, 5)):
        for scope in scopes:
            scope["twin"]()
        first()
    assert calls == [4, 4, 4, 5]


def test_ends_by_exceptions():
    seen = []
    link = funcgraph.kprobe_multi(
        lambda ctx: seen.append(ctx.regs.get_return_value()), [fails], kind="return"
    )
    with pytest.raises(LookupError) as raised, link:
        fails()
    assert seen == [raised.value]


def nothing(ctx: Any) -> None:
    pass


@pytest.mark.parametrize(
    ("number", "functions", "settings"),
    [
        (errno.EINVAL, None, {}),
        (errno.EINVAL, [first], {"filter": "*"}),
        (errno.EINVAL, [], {}),
        (errno.EINVAL, None, {"filter": []}),
        (errno.EINVAL, [first], {"cookies": []}),
        (errno.EINVAL, [first], {"cookies": [1, 2]}),
        (errno.EINVAL, None, {"filter": f"{HERE}.*", "cookies": [1]}),
        (errno.ENOENT, [first, f"{HERE}.frist"], {}),
        (errno.ENOENT, None, {"filter": f"{HERE}.frist"}),
    ],
)
def test_errors(number, functions, settings):
    with pytest.raises(OSError) as raised:
        funcgraph.kprobe_multi(nothing, functions, **settings)
    assert raised.value.errno == number
    if number == errno.ENOENT:
        assert f"{HERE}.first" in str(raised.value)
    assert funcgraph.users() == []


def test_wrong_values():
    for error, args, settings in (
        (TypeError, (None, [3]), {}),
        (TypeError, (nothing, f"{HERE}.first"), {}),
        (TypeError, (nothing, [first]), {"cookies": ["1"]}),
        (TypeError, ("nothing", [first]), {}),
        (OverflowError, (nothing, [first]), {"cookies": [2**64]}),
        (OverflowError, (nothing, [first]), {"cookies": [-1]}),
        (ValueError, (nothing, [first]), {"kind": "exit"}),
        (ValueError, (nothing,), {"filter": "a["}),
        (ValueError, (0, [first]), {}),
    ):
        with pytest.raises(error):
            funcgraph.kprobe_multi(*args, **settings)
    with pytest.raises(TypeError):
        funcgraph.KprobeMultiLink()
    assert funcgraph.users() == []


def test_without_a_handler():
    with pytest.raises(TypeError):
        funcgraph.kprobe_multi(None, [first])
    assert funcgraph.users() == []


def test_detach_twice():
    link = funcgraph.kprobe_multi(nothing, [first])
    link.detach()
    with pytest.raises(OSError) as raised:
        link.detach()
    assert raised.value.errno == errno.EINVAL
    with link:
        pass


def test_a_link_holds_without_a_reference():
    calls = []
    gone = weakref.ref(funcgraph.kprobe_multi(lambda ctx: calls.append(1), [first]))
    gc.collect()
    first()
    assert calls == [1]
    gone().detach()
    gc.collect()
    assert gone() is None


def test_a_handler_that_raises(no_users_left):
    link = funcgraph.kprobe_multi(lambda ctx: 1 / 0, [first], kind="session")
    assert first(3) == 3 and first(4) == 4
    assert (link.errors, link.enabled, link.registered) == (1, False, True)
    assert isinstance(link.last_error, ZeroDivisionError) and len(no_users_left) == 1
    link.detach()
    with funcgraph.kprobe_multi(lambda ctx: 1 / 0, [first], kind="session", keep_on_error=True) as link:
        first()
        assert (link.errors, link.enabled) == (2, True)


def test_beside_fprobes_in_order():
    calls = []
    fp = funcgraph.Fprobe(lambda *args: calls.append("fp>"), lambda *args: calls.append("<fp"))
    with funcgraph.kprobe_multi(lambda ctx: calls.append("multi"), [first], kind="session"):
        with funcgraph.registered_fprobe(fp, f"{HERE}.first"):
            first()
    assert calls == ["multi", "fp>", "<fp", "multi"]
