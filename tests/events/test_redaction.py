"""Redaction of events in running programs: what value_redact names is never fetched, whoever defines or uses
an event, and in whichever order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from errno import EBUSY, EINVAL, EPERM
from pathlib import Path

import pytest

import funcgraph
from funcgraph.definitions.definition import Definition
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.parse import parse_definition
from funcgraph.events.redaction import redact

events = funcgraph.dynamic_events
HERE = __name__
SECRET = "hunter2-correct-horse"
WORDS = "password|token"
LOGIN = f"f:x/login {HERE}.login password user"


def login(user: str, password: str) -> str:
    return user


def get_token() -> str:
    return SECRET


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("redaction") as instance:
        yield instance
    events.clear()
    events.log.clear()


def texts(instance: funcgraph.Instance) -> str:
    """Return all that an instance tells of events."""
    files = instance.files
    names = [name for name in files if name.startswith("events/x/") or name in ("trace", "dynamic_events")]
    return "".join(files[name] for name in names)


def test_an_event_that_is_defined_with_words_in_effect_reads_a_text(one: funcgraph.Instance) -> None:
    one.value_redact = WORDS
    made = events.define(LOGIN)
    events.define(f"f:x/result {HERE}.get_token%return result=$retval:string")
    events.define(f"f:x/second {HERE}.login $arg2")  # its name is known here
    assert events.read() == (
        f'f:x/login {HERE}.login password=\\"<redacted>" user=user\n'
        f'f:x/result {HERE}.get_token%return result=\\"<redacted>"\n'
        f'f:x/second {HERE}.login password=\\"<redacted>"\n'
    )
    assert isinstance(made, Definition) and made.text in events.read()
    for name in ("x/login", "x/result"):
        one.events[name].enable = True
    one.events["x/login"].trigger = "hist:keys=password,user"
    login("ann", SECRET)
    get_token()
    found = texts(one)
    assert "password=\"<redacted>\" user='ann'" in found and 'result="<redacted>"' in found
    assert re.search(r"password: <redacted> *, user: ann", found)
    assert SECRET not in found


def test_without_words_the_texts_have_the_secret(one: funcgraph.Instance) -> None:
    """That the test above sees what it looks for."""
    events.define(LOGIN)
    one.events["x/login"].trigger = "hist:keys=user,password:size=256"
    one.events["x/login"].enable = True
    login("ann", SECRET)
    assert texts(one).count(SECRET) == 2


@pytest.mark.parametrize("line", [LOGIN, LOGIN.replace("x/login", "x/read password=user token=password")])
def test_a_redacted_definition_is_what_its_text_means(line: str) -> None:
    own = parse_definition(LOGIN)
    assert isinstance(own, Definition)
    other = redact(own, [WORDS])
    assert parse_definition(other.text) == other != own
    assert redact(other, [WORDS]).text == other.text
    assert redact(own, ["nothing"]) is own


def test_an_instance_with_words_takes_no_older_event_that_records_such_a_value(
    one: funcgraph.Instance,
) -> None:
    events.define(LOGIN)
    one.value_redact = WORDS
    event = one.events["x/login"]
    changes: list[Callable[[], object]] = [
        lambda: setattr(event, "enable", True),
        lambda: setattr(event, "trigger", "hist:keys=user"),
        lambda: one.files.__setitem__("set_event", "x:"),
        lambda: one.files.__setitem__("events/x/login/enable", "1"),
    ]
    for change in changes:
        with pytest.raises(PermissionError, match="x/login records password=password: define it") as caught:
            change()
        assert caught.value.errno == EPERM
    assert one.files["set_event"] == "" and not event.enable and event.hist == ""
    with funcgraph.Instance("other") as other:  # it has no words
        other.events["x/login"].enable = True
        login("ann", SECRET)
        assert SECRET in other.trace()
    login("ann", SECRET)
    assert SECRET not in texts(one)
    events.delete("-:x/login")
    events.define(LOGIN)
    one.events["x/login"].enable = True
    login("ann", SECRET)
    assert "<redacted>" in texts(one) and SECRET not in texts(one)


def test_words_are_refused_while_an_event_records_such_a_value(one: funcgraph.Instance) -> None:
    events.define(LOGIN)
    event = one.events["x/login"]
    for on in (True, False):
        event.enable = on
        event.trigger = "hist:keys=user"
        with pytest.raises(OSError, match=r"value_redact.*x/login records password=password") as caught:
            one.value_redact = WORDS
        assert caught.value.errno == EBUSY and one.value_redact == ""
        event.trigger = "!hist:keys=user"
    one.value_redact = WORDS
    one.value_redact = ""
    event.enable = True


def test_what_cannot_show_the_text_is_an_error_of_the_definition(one: funcgraph.Instance) -> None:
    one.value_redact = WORDS
    for line, word in (
        (f"f:x/a {HERE}.login user password:u64", "password:u64"),
        (f"p:x/a {HERE}.login user $stack1", "$stack1"),
    ):
        with pytest.raises(ProbeError) as caught:
            events.define(line)
        assert caught.value.errno == EINVAL and caught.value.hint
        assert caught.value.command[caught.value.caret :] == word
    assert len(events) == 0
    assert events.log.text().count("A value of this name is never recorded") == 2


def test_an_event_that_the_program_declared_is_not_recorded(one: funcgraph.Instance) -> None:
    paid = funcgraph.trace_event("redaction", "paid", user=str, new_password=str)
    one.value_redact = WORDS
    with pytest.raises(PermissionError, match="redaction/paid records the field new_password"):
        one.events["redaction/paid"].enable = True
    made = events.define("t:x/paid redaction/paid user")
    assert isinstance(made, Definition)
    one.events["x/paid"].enable = True
    paid("ann", SECRET)
    assert "user='ann'" in texts(one) and SECRET not in texts(one)


def test_a_recording_does_not_fetch_what_an_instance_redacts(one: funcgraph.Instance, tmp_path: Path) -> None:
    one.value_redact = WORDS
    file = tmp_path / "t.fg"
    with funcgraph.record(file, filter=["nothing"], events=[f'{LOGIN} if user ~ "a*"']):
        login("ann", SECRET)
    assert len(events) == 0  # it is deleted, though its definition is another than that of the recording
    assert SECRET.encode() not in file.read_bytes()
    with funcgraph.open(file) as trace:
        found = [event.fields for event in trace.events() if event.kind == "event"]
    assert found == [{"password": "<redacted>", "user": "ann"}]


PROGRAM = f"""
import sys
import funcgraph
sys.modules["app"] = sys.modules["__main__"]
def login(user, password): return user
login.__module__ = "app"
if len(sys.argv) > 1:
    funcgraph.serve()
print("serves", flush=True)
for line in sys.stdin:
    login("ann", "{SECRET}")
    print("done", flush=True)
"""
COMMAND = [sys.executable, "-m", "funcgraph"]
EVENT = "f:x/login __main__.login password user"


@pytest.fixture
def app(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "app.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "app.py"), "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            hit(process)
            yield process
        finally:
            process.kill()


def hit(process: subprocess.Popen[str], text: str = "") -> None:
    """Let the program log in once, if it serves already."""
    assert process.stdin and process.stdout
    process.stdin.write(text)
    process.stdin.flush()
    assert process.stdout.readline()


def run(*words: str) -> str:
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("verb", ["start", "set"])
def test_verbs_for_running_programs(app: subprocess.Popen[str], verb: str, tmp_path: Path) -> None:
    pid = ["-P", str(app.pid)]
    run(verb, *pid, "-e", EVENT, "-R", "hist:keys=password", "--redact", WORDS)
    hit(app, "\n")
    told = run("show", *pid) + run("hist", *pid, "x:login") + run("stat", *pid)
    file = tmp_path / "t.fg"
    run("extract", *pid, "-o", str(file))
    assert 'password="<redacted>"' in told and "password: <redacted>" in told
    assert SECRET not in told and SECRET.encode() not in file.read_bytes()


def test_a_recording_of_a_running_program(app: subprocess.Popen[str], tmp_path: Path) -> None:
    file = tmp_path / "t.fg"
    words = ["record", "-q", "-P", str(app.pid), "--redact", WORDS, "-e", EVENT, "-p", "nop", "-o", str(file)]
    assert app.stdin and app.stdout
    ends = app.stdin.fileno(), app.stdout.fileno()
    # The recording ends with its command: not before the program has made its calls.
    go = f"import os; os.write({ends[0]}, b'\\n'); assert os.read({ends[1]}, 5) == b'done\\n'"
    subprocess.run([*COMMAND, *words, "--", sys.executable, "-c", go], check=True, pass_fds=ends)
    assert SECRET.encode() not in file.read_bytes()
    assert 'password="<redacted>"' in run("report", "-i", str(file))


@pytest.mark.parametrize(
    ("definition", "says"),
    [
        ("f:x/login,__main__.login,password,user", ""),
        ("f:x/login,__main__.login,password:u64,user", "the type u64 cannot show that"),
    ],
)
def test_boot_parameters(definition: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PROGRAM)
    file = tmp_path / "t.dat"
    variable = f"value_redact={WORDS} kprobe_event={definition} ftrace_dump_on_exit={file}"
    done = subprocess.run(
        [sys.executable, str(tmp_path / "app.py")],
        input="\n",
        env={**os.environ, "FUNCGRAPH": variable},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "serves\ndone\n"
    assert says in done.stderr
    assert file.exists() == (not says)
    if not says:
        assert SECRET.encode() not in file.read_bytes()
        assert 'password="<redacted>"' in run("report", "-i", str(file))
