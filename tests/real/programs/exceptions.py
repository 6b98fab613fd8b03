"""Exceptions: through frames, finally, contexts, groups, out of C code, in clean-up."""

import contextlib
import gc
import io
import traceback
import warnings


class Refused(Exception):
    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason

    def __str__(self):
        return f"refused: {self.reason}"


class Resource:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, tb):
        self.log.append(kind.__name__ if kind else "exit")
        return self.swallow


class Explosive:
    def __eq__(self, other):
        raise Refused("comparison")

    __hash__ = None

    def __getattr__(self, name):
        raise AttributeError(name)

    def __iter__(self):
        raise Refused("iteration")

    def __repr__(self):
        raise Refused("repr")


class Finalized:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("deleted")
        try:
            raise Refused("inside __del__")
        except Refused:
            pass


def deep(n):
    if n == 0:
        raise Refused("bottom")
    deep(n - 1)


def through_finally(n, log):
    try:
        if n:
            through_finally(n - 1, log)
        else:
            raise Refused("bottom")
    finally:
        log.append(helper(n))


def helper(n):
    return n


def reraising(n):
    try:
        if n == 0:
            raise KeyError(n)
        reraising(n - 1)
    except KeyError as error:
        if n % 2:
            raise ValueError(n) from error
        raise
    except ValueError:
        raise KeyError(n)  # noqa: B904  its context is what is looked at


# CPython warns of this when it compiles it, from 3.14 on (PEP 765).
RETURNS_IN_FINALLY = """
def returns_in_finally():
    try:
        raise Refused("lost")
    finally:
        return "kept"
"""


def plain():
    for n in range(5):
        with contextlib.suppress(Refused):
            deep(n)
    log = []
    try:
        through_finally(4, log)
    except Refused:
        pass
    assert log == [0, 1, 2, 3, 4]
    for n in range(4):
        try:
            reraising(n)
        except (KeyError, ValueError) as error:
            assert len(traceback.format_exception(error)) > 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scope = {"__name__": __name__, "Refused": Refused}
        exec(RETURNS_IN_FINALLY, scope)
        assert scope["returns_in_finally"]() == "kept"


def contexts():
    log = []
    with Resource(log, swallow=True):
        deep(2)
    try:
        with Resource(log), Resource(log):
            deep(1)
    except Refused as error:
        assert str(error) == "refused: bottom"
    with Resource(log), Resource(log):
        pass
    assert log == [
        "enter", "Refused", "enter", "enter", "Refused", "Refused", "enter", "enter", "exit", "exit",
    ]  # fmt: skip


def groups():
    def fail(kind):
        raise kind("member")

    errors = []
    for kind in (ValueError, TypeError, OSError):
        try:
            fail(kind)
        except Exception as error:  # noqa: BLE001
            errors.append(error)
    try:
        try:
            raise ExceptionGroup("three", errors)
        except* ValueError as some:
            assert len(some.exceptions) == 1
        except* TypeError:
            deep(1)
    except ExceptionGroup as rest:
        assert len(rest.exceptions) == 2


def out_of_c():
    for action in (
        lambda: [Explosive()].index(3),
        lambda: list(Explosive()),
        lambda: sorted([3, "a"], key=lambda value: deep(0)),
        lambda: {}["missing"],
        lambda: int("x"),
        lambda: getattr(Explosive(), "missing"),  # noqa: B009
        lambda: next(iter([])),
        lambda: repr([Explosive()]),
        lambda: max((deep(0) for _ in range(3)), default=1),
        lambda: "".join(map(lambda _: deep(1), "ab")),  # noqa: C417
        lambda: io.StringIO(3),
        lambda: deep(),
    ):
        try:
            action()
        except Exception as error:  # noqa: BLE001
            traceback.format_exc()
            assert error.__traceback__
    assert getattr(Explosive(), "missing", 5) == 5
    assert not hasattr(Explosive(), "missing")


def clean_up():
    log = []
    Finalized(log)
    cycle = [Finalized(log)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert log == ["deleted"] * 2
    with contextlib.ExitStack() as stack:
        stack.push(lambda *details: True)
        stack.callback(deep, 2)
        raise ValueError


def main():
    plain()
    contexts()
    groups()
    out_of_c()
    clean_up()
    try:
        raise RecursionError if not deep.__name__ else Refused("end")
    except Refused:
        pass
