"""Names and places are terminals' links (OSC 8) where the terminal knows them; nothing breaks out of one."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from funcgraph.names import printable
from funcgraph.tracedata.description import Function
from funcgraph.tracedata.links import NO_LINKS, Links, link_format

pytestmark = pytest.mark.one_python

FILE, LINE = "file://{host}{path}", "file://{host}{path}#{line}"
XTERM = {"TERM": "xterm-256color"}
LINK = re.compile(r"\x1b\]8;;([!-~]+)\x1b\\([^\x1b]*)\x1b\]8;;\x1b\\")
PROGRAM = """
class Missing(Exception): pass
def find(key):
    raise Missing(key)
def main():
    try:
        find(3)
    except Missing:
        pass
main()
"""

KNOWN = [
    ({}, None),
    (XTERM, None),
    ({**XTERM, "TERM_PROGRAM": "iTerm.app"}, FILE),
    ({**XTERM, "TERM_PROGRAM": "vscode"}, LINE),
    ({**XTERM, "TERM_PROGRAM": "Apple_Terminal"}, None),
    ({**XTERM, "VTE_VERSION": "7006"}, FILE),
    ({**XTERM, "VTE_VERSION": "5000"}, None),
    ({**XTERM, "VTE_VERSION": "x"}, None),
    ({**XTERM, "WT_SESSION": "1"}, FILE),
    ({**XTERM, "KITTY_WINDOW_ID": "1"}, LINE),
    ({"TERM": "xterm-kitty"}, LINE),
    ({"TERM": "dumb", "VTE_VERSION": "7006"}, None),
    ({**XTERM, "VTE_VERSION": "7006", "STY": "1.pts"}, None),
    ({**XTERM, "VTE_VERSION": "7006", "TMUX": "/tmp/tmux"}, None),
    ({**XTERM, "TMUX": "/tmp/tmux", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a"}, None),
    ({**XTERM, "TMUX": "/tmp/tmux", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4"}, FILE),
    ({**XTERM, "FORCE_HYPERLINK": "1"}, FILE),
    ({**XTERM, "TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "1"}, LINE),
    ({**XTERM, "TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"}, None),
    ({**XTERM, "TERM_PROGRAM": "vscode", "FUNCGRAPH_LINKS": "never", "FORCE_HYPERLINK": "1"}, None),
    ({**XTERM, "FUNCGRAPH_LINKS": "always"}, FILE),
    ({**XTERM, "FUNCGRAPH_LINKS": "vscode://file{path}:{line}"}, "vscode://file{path}:{line}"),
    ({**XTERM, "FUNCGRAPH_LINKS": "x{path}\x1b\\"}, None),
]


@pytest.mark.parametrize(("environment", "form"), KNOWN)
def test_links_are_where_the_terminal_knows_them(environment: dict[str, str], form: str | None) -> None:
    assert link_format(environment) == form


def test_a_link_has_the_address_and_the_text() -> None:
    links = Links("edit://{path}?{line}")
    assert links.place("app.f", "/srv/my app.py", 7) == (
        "\x1b]8;;edit:///srv/my%20app.py?7\x1b\\app.f\x1b]8;;\x1b\\"
    )
    assert f"://{os.uname().nodename}/" in Links(FILE).place("f", "/a.py", 1)
    assert NO_LINKS.place("f", "/a.py", 1) == "f"


HOSTILE = [
    "/tmp/\x1b\\\x1b]0;owned\x07.py",
    "/tmp/\x9c\x1b[31m.py",
    "/tmp/{line}{host}.py",
    "/tmp/a\nb\r.py",
    "/tmp/\udcff\ud800.py",
    "/tmp/%1b%5c;;.py",
    "/tmp/\u202e.py",
]


@pytest.mark.parametrize("path", HOSTILE)
def test_a_hostile_path_cannot_end_the_escape_sequence(path: str) -> None:
    function = Function("m", printable("f\x1b\\"), path, 3, 0, ())
    linked = Links(LINE).function(printable(function.name), function)
    match = LINK.fullmatch(linked)
    assert match, linked
    assert re.fullmatch(r"file://[\w.%~-]*/tmp/[\w.%~/-]*\.py#3", match[1], re.ASCII), match[1]
    assert match[2] == printable(function.name)


def test_what_is_no_file_is_no_link() -> None:
    links = Links(FILE)
    for file in ("", "<string>", "<frozen importlib._bootstrap>", "no/such.py"):
        assert links.function("f", Function("m", "f", file, 3, 0, ())) == "f"
    assert links.function("<unknown>", None) == "<unknown>"


def test_a_message_has_a_link_to_the_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "funcgraph.toml").write_text("")
    place = f"{tmp_path}/funcgraph.toml:12"
    linked = Links(LINE).message(f"funcgraph: {place}: no such option 'x'")
    assert f"#12\x1b\\{place}\x1b]8;;\x1b\\: no such option 'x'" in linked
    place = f"{tmp_path}/funcgraph.toml: line 7"
    assert f"#7\x1b\\{place}\x1b]8;;\x1b\\: its" in Links(LINE).message(f"funcgraph: {place}: its indent")
    for text in ("funcgraph: /no/such:12: wrong", "funcgraph: 12:13", f"funcgraph: {tmp_path}: is a folder"):
        assert Links(LINE).message(text) == text


# ---- commands


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("links")
    (folder / "app.py").write_text(PROGRAM)
    (folder / "expected.txt").write_text("__main__.find(key=4)\n")
    command = [
        sys.executable,
        "-m",
        "funcgraph",
        "record",
        "-q",
        "--args",
        "-O",
        "funcgraph-retaddr",
        "app.py",
    ]
    subprocess.run(command, cwd=folder, check=True)
    return folder


def on_terminal(words: list[str], folder: Path, **variables: str) -> str:
    """Return what a command writes to a terminal that knows links."""
    main, other = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "TERM_PROGRAM": "vscode", "PAGER": "", **variables}
    for name in ("TMUX", "STY", "NO_COLOR", "FORCE_HYPERLINK", "FUNCGRAPH_LINKS"):
        environment.pop(name, None)
    if not environment["PAGER"]:
        environment.pop("PAGER")
    command = [sys.executable, "-m", "funcgraph", *words]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdin=other, stdout=other, stderr=other
    ) as child:
        os.close(other)
        printed = b""
        while True:
            try:
                printed += os.read(main, 65536)
            except OSError:  # the command has ended
                break
    os.close(main)
    assert child.returncode is not None
    return printed.decode()


COMMANDS = {
    "summary": (["summary", "--no-pager"], "__main__.find", 3),
    "tree": (["report", "--tree", "--min-percent", "0", "--no-pager"], "__main__.find", 3),
    "report": (["report", "--no-pager"], "__main__.find", 3),
    "caller": (["report", "--no-pager"], "__main__.main:7", 7),
    "expect": (["expect", "expected.txt"], "line 1", 1),
    "why": (["why", "__main__.main"], "__main__.find", 3),
    "values": (["values", "__main__.find"], "app.py:3", 3),
    "exceptions": (["exceptions", "-l", "__main__.*", "--nth", "1"], "app.py:3", 3),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_links_to_the_line(folder: Path, name: str) -> None:
    words, text, line = COMMANDS[name]
    seen = on_terminal(words, folder)
    file = "expected.txt" if name == "expect" else "app.py"
    address = f"file://{os.uname().nodename}{folder}/{file}#{line}"
    assert any(address == at and shown.endswith(text) for at, shown in LINK.findall(seen)), seen
    plain = LINK.sub(r"\2", seen)
    assert "]8;" not in plain


def test_a_pipe_and_json_have_none(folder: Path) -> None:
    for words in (["summary"], ["exceptions", "--nth", "1"], ["summary", "--json"], ["report"]):
        command = [sys.executable, "-m", "funcgraph", *words]
        environment = {**os.environ, "TERM_PROGRAM": "vscode", "FUNCGRAPH_LINKS": "always"}
        text = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True).stdout
        assert b"\x1b" not in text


@pytest.mark.parametrize(("version", "is_linked"), [("less 551 (PCRE)", False), ("less 590 (GNU)", True)])
def test_a_pager_gets_them_if_it_passes_them(
    folder: Path, tmp_path: Path, version: str, is_linked: bool
) -> None:
    less = tmp_path / "less"
    less.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" && exit\nexec cat\n')
    less.chmod(0o755)
    seen = on_terminal(["summary"], folder, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert bool(LINK.search(seen)) == is_linked
    assert LINK.search(on_terminal(["summary"], folder, PAGER="cat -u")) is None
