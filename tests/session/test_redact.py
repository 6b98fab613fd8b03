"""--redact: values of names that match never reach the ring, nor the trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import funcgraph
from funcgraph import _engine
from funcgraph.session.check import OptionError
from funcgraph.settings import check

WITH_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()
SECRET = "hunter2-correct-horse"


class Account:
    def __init__(self) -> None:
        self.user = "ann"
        self.db_password = SECRET
        self.nested = {"api": {"Access-Token": SECRET, b"token": SECRET.encode()}}


class Slotted:
    __slots__ = ("TOKEN", "user")

    def __init__(self) -> None:
        self.TOKEN, self.user = SECRET, "ann"


class Keys(str):
    pass


def log_in(user: str, password: str, *rest: object, token: object = None, **more: object) -> str:
    return user


def seen(value: object) -> None:
    pass


def get_token() -> str:
    return SECRET


def tokens() -> Any:
    yield SECRET


def raises(value: object) -> None:
    raise ValueError(value)


class Wide:
    def __init__(self) -> None:
        vars(self)["größe_password"] = SECRET


def call_all() -> None:
    """Calls with the secret under names that match, at each depth."""
    log_in("ann", SECRET, token=SECRET, new_password=SECRET)
    get_token()
    list(tokens())
    for value in (
        Account(),
        Slotted(),
        [Account()],
        {"PASSWORD": SECRET},
        {Keys("password"): SECRET},
        Wide(),
    ):
        seen(value)
    seen([("Password", SECRET), ("a", [b"x-token", SECRET.encode()])])
    seen({"a" * 300: SECRET, "password" * 40: SECRET})
    try:
        raises({"token": SECRET})
    except ValueError:
        pass


FUNCTIONS = [
    f"{__name__}.{name}"
    for name in ("log_in", "seen", "get_token", "tokens", "raises", "Account.*", "Slotted.*")
]


@pytest.mark.parametrize("tracer", ["function_graph", "function"])
@pytest.mark.parametrize("values", [0, 1, 2, 4, 8])
def test_the_ring_never_has_the_secret(tmp_path: Path, tracer: str, values: int) -> None:
    handle = _engine.start(
        str(tmp_path),
        tracer=tracer,
        filter=FUNCTIONS,
        args=True,
        retval=True,
        values=values,
        redact="password|TOKEN|a*",
        mode="drop",
    )
    try:
        call_all()
        (ring,) = tmp_path.glob("*.ring")
        data = ring.read_bytes()
    finally:
        _engine.stop(handle)
    assert b"ann" in data  # it is the ring of these calls
    assert SECRET.encode() not in data


def test_without_redact_the_ring_has_it(tmp_path: Path) -> None:
    """That the test above sees what it looks for."""
    handle = _engine.start(str(tmp_path), filter=FUNCTIONS, args=True, mode="drop")
    try:
        call_all()
        (ring,) = tmp_path.glob("*.ring")
        data = ring.read_bytes()
    finally:
        _engine.stop(handle)
    assert SECRET.encode() in data


def test_neither_has_the_trace(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(
        "class User:\n"
        "    def __init__(self, name, password): self.name, self.password = name, password\n"
        "def log_in(user, api_token): return {'user': user, 'token': api_token}\n"
        f"log_in(User('ann', '{SECRET}'), api_token='{SECRET}')\n"
    )
    trace = tmp_path / "t.fg"
    command = [sys.executable, "-m", "funcgraph", "record", "-q", "-o", str(trace), "--values", "1"]
    subprocess.run([*command, "--redact", "password|token", str(program)], check=True)
    dat = tmp_path / "t.dat"
    for words in (["export", "trace-dat", str(trace), str(dat)], ["report", "-i", str(trace)]):
        done = subprocess.run(
            [sys.executable, "-m", "funcgraph", *words], capture_output=True, text=True, check=True
        )
    assert SECRET not in done.stdout
    if WITH_GIL:
        assert (
            "__main__.log_in(user=User(name='ann', password=<redacted>), api_token=<redacted>); "
            "/* ret={'user': <User at 0x" in done.stdout
        )
    assert "api_token=<redacted>" in done.stdout
    assert SECRET.encode() not in trace.read_bytes() + dat.read_bytes()


@pytest.mark.parametrize(
    ("words", "name", "hides"),
    [
        ("password", "password", True),
        ("password", "DB_Password2", True),
        ("password", "passwor", False),
        ("a|tok", "token", True),
        ("pass*", "password", True),
        ("pass*", "my_password", False),
        ("*_key", "api_KEY", True),
        ("[pq]in", "pin", True),
        ("[pq]in", "spin", False),
    ],
)
def test_words_are_parts_of_names_or_globs(words: str, name: str, hides: bool) -> None:
    with funcgraph.Instance(
        "redact", tracer="function_graph", filter=[f"{__name__}.seen"], value_depth=1, value_redact=words
    ) as instance:
        seen(((name, SECRET),))  # a tuple of two is shown at the second level
        instance.value_depth = 2
        seen(((name, SECRET),))
        text = instance.trace()
    assert (SECRET not in text) is hides
    assert ("<redacted>" in text) is hides


def test_a_change_while_calls_are_recorded() -> None:
    with funcgraph.Instance(
        "redact", tracer="function_graph", filter=[f"{__name__}.log_in"], options=["funcgraph-args"]
    ) as instance:
        for words in ("password", "", "user", "password"):
            instance.value_redact = words
            assert instance.value_redact == words
            instance.files["trace"] = ""
            log_in("ann", SECRET)
            assert (SECRET in instance.trace()) == (words != "password")
        instance.files["value_redact"] = "tok|user\n"
        assert instance.files["value_redact"] == "tok|user\n"


@pytest.mark.parametrize("words", ["|", "a||b", "a|", "x" * 256, 3, None])
def test_wrong_words(words: Any) -> None:
    with pytest.raises(ValueError, match="must"):
        check.redact(words)
    with pytest.raises(OptionError, match="redact"):
        funcgraph.record("x.fg", redact=words)
    with funcgraph.Instance("redact") as instance, pytest.raises(OSError, match="value_redact"):
        instance.value_redact = words


def test_the_longest_list_of_words() -> None:
    words = "|".join("abcdefgh"[n % 8] for n in range(128))
    assert len(words) == 255
    with funcgraph.Instance("redact", value_redact=words) as instance:
        assert instance.value_redact == words


EVENTS_PROGRAM = f"""
import funcgraph
paid = funcgraph.trace_event("shop", "paid", user=str, new_password=str)
sent = funcgraph.trace_event("shop", "sent", user=str)
class User:
    def __init__(self, name): self.name, self.api_token = name, "{SECRET}"
def login(user, password, limit, box): return user
def get_token(user): return "{SECRET}"
login("ann", "{SECRET}", 3, {{"password": "{SECRET}", "user": User("bob")}})
get_token("ann")
paid("ann", "{SECRET}")
sent("ann")
"""


def record_events(tmp_path: Path, *events: str) -> tuple[bytes, str, str]:
    """Return the bytes of a trace of the program with these events, its report, and what record says."""
    (tmp_path / "app.py").write_text(EVENTS_PROGRAM)
    trace = tmp_path / "t.fg"
    record = [sys.executable, "-m", "funcgraph", "record", "-o", str(trace), "--redact", "password|token"]
    options = [word for event in events for word in ("-e", event)]
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import app"
    errors = subprocess.run(
        [*record, *options, "-p", "nop", "-c", code], capture_output=True, text=True, check=False
    ).stderr
    data = trace.read_bytes() if trace.exists() else b""
    report = subprocess.run(
        [sys.executable, "-m", "funcgraph", "report", "-i", str(trace)],
        capture_output=True,
        text=True,
        check=False,
    )
    return data, report.stdout, errors


def test_fields_of_events_are_redacted(tmp_path: Path) -> None:
    data, report, errors = record_events(
        tmp_path,
        "f:x/login app.login password=password user=user limit=limit",
        "f:x/typed app.login other=password:string password=user",
        'f:x/parts app.login a=box["password"] b=box["user"].api_token c=box["user"].name',
        "f:x/result app.get_token%return result=$retval user",
        "p:x/place app.login w=password",
    )
    assert SECRET.encode() not in data
    for line in (
        'password="<redacted>" user="ann" limit=3',
        'other="<redacted>" password="<redacted>"',
        'result="<redacted>" user="ann"',
        'w="<redacted>"',
    ):
        assert line in report.replace("'", '"'), errors
    assert 'a="<redacted>" b="<redacted>"' in report
    if WITH_GIL:
        assert 'c="bob"' in report.replace("'", '"')


def test_an_event_that_the_program_declares_with_such_a_field_is_not_recorded(tmp_path: Path) -> None:
    data, report, errors = record_events(tmp_path, "shop:paid", "shop:sent")
    assert SECRET.encode() not in data
    assert 'sent: user="ann"' in report
    assert "shop:paid: shop/paid records the field new_password, which is redacted" in errors


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ("f:x/a app.login password:u64", "the type u64 cannot show that"),
        ("f:x/a app.login limit=box.token:s8", "the type s8 cannot show that"),
        ("f:x/a app.login password=box:string[3]", r"the type string\[3\] cannot show that"),
        ("f:x/a app.login a=$arg2", r"\$arg2: redaction goes by names"),
        ("p:x/a app.login a=$stack1", r"\$stack1: redaction goes by names"),
        ("f:x/a app.*%return a=$retval", "give the name of one function"),
    ],
)
def test_what_cannot_be_redacted_is_refused(event: str, reason: str) -> None:
    with pytest.raises(OptionError, match=reason):
        funcgraph.record("x.fg", redact="password|token", events=[event])
