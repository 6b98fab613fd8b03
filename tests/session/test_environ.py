"""The builtins of funcgraph._environ behave and look like the ones that they replace."""

from __future__ import annotations

import _posixsubprocess
import inspect
import os
import pickle
import posix
import subprocess
import sys
from collections import UserDict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from funcgraph import _environ

NAME, VALUE = b"FG_TEST_VARIABLE", b"a value"
FUNCTIONS = [posix.execve, posix.posix_spawn, posix.posix_spawnp, _posixsubprocess.fork_exec]
PRINT = [sys.executable, "-S", "-c", "import os; print(sorted(os.environb.items()))"]


@pytest.fixture(autouse=True)
def variable() -> Iterator[None]:
    _environ.set_variable(NAME, VALUE)
    yield
    _environ.set_variable(NAME, None)


def spawned(environment: Any, spawn: Callable[..., int] | None = None) -> dict[bytes, bytes]:
    """Return the environment that a child of posix_spawn(..., environment) sees."""
    read_end, write_end = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, write_end, 1)]
    pid = (spawn or _environ.wrap(posix.posix_spawn))(
        sys.executable, PRINT, environment, file_actions=actions
    )
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        text = pipe.read()
    assert os.waitpid(pid, 0)[1] == 0
    pairs: dict[bytes, bytes] = dict(eval(text))
    pairs.pop(b"LC_CTYPE", None)  # set by Python in the C locale
    return pairs


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_wrapper_looks_like_the_original(function: Any) -> None:
    wrapper = _environ.wrap(function)
    assert wrapper is not function
    for attribute in ("__name__", "__qualname__", "__module__", "__doc__", "__self__", "__text_signature__"):
        assert getattr(wrapper, attribute) == getattr(function, attribute)
    assert type(wrapper) is type(function)
    assert repr(wrapper) == repr(function)
    if function.__text_signature__ and "unrepresentable" not in function.__text_signature__:
        assert inspect.signature(wrapper) == inspect.signature(function)
    assert wrapper.__reduce__() == function.__reduce__()


def test_wrap_and_original_are_inverse() -> None:
    wrapper = _environ.wrap(posix.execve)
    assert _environ.wrap(wrapper) is wrapper
    assert _environ.wrap(posix.execve) is wrapper
    assert _environ.original(wrapper) is posix.execve
    assert _environ.original(posix.execve) is posix.execve
    assert _environ.original(len) is len


@pytest.mark.parametrize("thing", [len, posix.fork, print, lambda: 0, 3, type("execve", (), {})])
def test_wrap_refuses_other_functions(thing: Any) -> None:
    with pytest.raises(ValueError, match="does not start a program with an environment"):
        _environ.wrap(thing)


class Mapping(UserDict):  # type: ignore[type-arg]
    """A mapping that is not a dict: the original accepts any mapping."""


@pytest.mark.parametrize(
    "environment",
    [{}, {"A": "b"}, {b"A": b"b"}, {"A": b"b"}, Mapping({"A": "b"})],
    ids=["0", "s", "b", "sb", "map"],
)
def test_variable_is_added(environment: Any) -> None:
    before = dict(environment)
    expected = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
    assert spawned(environment) == {**expected, NAME: VALUE}
    assert dict(environment) == before


@pytest.mark.parametrize("name", [NAME, NAME.decode()])
def test_variable_that_is_there_is_left_alone(name: Any) -> None:
    assert spawned({name: "mine"}) == {NAME: b"mine"}


def test_nothing_is_added_when_the_variable_is_none() -> None:
    wrapper = _environ.wrap(posix.posix_spawn)
    _environ.set_variable(NAME, None)
    assert spawned({"A": "b"}, wrapper) == {b"A": b"b"}


def test_subprocess_takes_it_by_fork_exec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "_USE_POSIX_SPAWN", False)
    monkeypatch.setattr(subprocess, "_fork_exec", _environ.wrap(_posixsubprocess.fork_exec))
    for environment in ({}, {"A": "b"}):
        pairs = eval(subprocess.check_output(PRINT, env=environment))
        assert (NAME, VALUE) in pairs
    assert (NAME, b"mine") in eval(subprocess.check_output(PRINT, env={NAME: b"mine"}))
    assert NAME not in dict(eval(subprocess.check_output(PRINT)))  # a child inherits the C environment


class Broken:
    """A mapping that raises at a chosen operation."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __len__(self) -> int:
        return self._give("len", 1)

    def keys(self) -> Any:
        return self._give("keys", ["A"])

    def values(self) -> Any:
        return self._give("values", ["b"])

    def __getitem__(self, key: str) -> str:
        return "b"

    def _give(self, where: str, value: Any) -> Any:
        if self.where == where:
            raise RuntimeError(f"{where} is broken")
        if self.where == f"{where}-type":
            return 3
        return value


BAD_CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    (("/none",), {}),
    (("/none", ["x"]), {}),
    (("/none", ["x"], {}, 1), {}),
    (("/none", ["x"], {}), {}),
    (("/none", ["x"], 3), {}),
    (("/none", ["x"], []), {}),
    (("/none", ["x"], [("A", "b")]), {}),
    (("/none", ["x"], {1: "b"}), {}),
    (("/none", ["x"], {"A": 1}), {}),
    (("/none", ["x"], {"A=": "b"}), {}),
    (("/none", ["x"], {"": "b"}), {}),
    (("/none", ["x"], {"A\0": "b"}), {}),
    (("/none", ["x"], {"A": "\ud800"}), {}),
    (("/none", [], {}), {}),
    (("/none", [""], {}), {}),
    (("/none", "x", {}), {}),
    (("/none", [3], {}), {}),
    ((3.5, ["x"], {}), {}),
    (("/no\0ne", ["x"], {}), {}),
    (("/none", ["x"], Broken("")), {}),
    (("/none", ["x"], Broken("len")), {}),
    (("/none", ["x"], Broken("keys")), {}),
    (("/none", ["x"], Broken("keys-type")), {}),
    (("/none", ["x"], Broken("values")), {}),
    (("/none", ["x"], Broken("values-type")), {}),
    (("/none", ["x"]), {"env": {}}),
    (("/none",), {"argv": ["x"], "env": {}}),
    (("/none", ["x"], {}), {"env": {}}),
    (("/none", ["x"]), {"environment": {}}),
    (("/none", ["x"], {}), {"nonsense": 1}),
]


@pytest.mark.parametrize(
    "function", [posix.execve, posix.posix_spawn, posix.posix_spawnp], ids=lambda f: f.__name__
)
@pytest.mark.parametrize(("args", "keywords"), BAD_CALLS, ids=repr)
def test_errors_are_the_originals(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    def outcome(call: Any) -> tuple[type[BaseException], tuple[Any, ...], Any]:
        with pytest.raises(Exception) as raised:
            call(*args, **keywords)
        return raised.type, raised.value.args, getattr(raised.value, "filename", None)

    assert outcome(_environ.wrap(function)) == outcome(function)


def test_mapping_is_asked_what_the_original_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    class Spied(Mapping):
        def __len__(self) -> int:
            calls.append("len")
            return super().__len__()

        def keys(self) -> Any:
            calls.append("keys")
            return super().keys()

        def values(self) -> Any:
            calls.append("values")
            return super().values()

    def questions(call: Any) -> list[str]:
        calls.clear()
        environment = Spied({"A": "b"})
        calls.clear()
        with pytest.raises(FileNotFoundError):
            call("/none", ["x"], environment)
        return list(calls)

    assert questions(_environ.wrap(posix.execve)) == questions(posix.execve)


@pytest.mark.parametrize("bad", [(), (b"A",), ("A", b"b"), (b"A", "b"), (b"A", 3)])
def test_set_variable_refuses_what_is_not_bytes(bad: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        _environ.set_variable(*bad)


def test_wrapped_function_survives_pickling_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = _environ.wrap(posix.execve)
    monkeypatch.setattr(posix, "execve", wrapper)
    assert pickle.loads(pickle.dumps(wrapper)) is wrapper


def test_calls_show_no_python_frame_and_the_originals_name(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def profile(frame: Any, event: str, arg: Any) -> None:
        seen.append((event, getattr(arg, "__qualname__", frame.f_code.co_name)))

    wrapper = _environ.wrap(posix.posix_spawn)
    sys.setprofile(profile)
    try:
        pid = wrapper("/bin/true", ["true"], {})
    finally:
        sys.setprofile(None)
    os.waitpid(pid, 0)
    assert seen[:2] == [("c_call", "posix_spawn"), ("c_return", "posix_spawn")]


@pytest.mark.skipif(not hasattr(posix, "_create_environ"), reason="os.reload_environ came with CPython 3.14")
def test_reload_environ_does_not_show_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    wrapped = _environ.wrap(posix._create_environ)  # type: ignore[attr-defined]
    monkeypatch.setattr(os, "_create_environ", wrapped)
    posix.putenv(NAME, VALUE)
    try:
        os.reload_environ()  # type: ignore[attr-defined]
        assert os.fsdecode(NAME) not in os.environ
    finally:
        posix.unsetenv(NAME)
