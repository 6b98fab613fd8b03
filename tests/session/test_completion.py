"""`funcgraph completion`: the scripts have every command and option; no text of others reaches a shell."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Funcgraph

from funcgraph import cli
from funcgraph.command_support.completion import Words, words_of
from funcgraph.command_support.shells import SCRIPTS
from funcgraph.steering.processes import python_processes

pytestmark = pytest.mark.one_python

#: What a script has for an option.
FORMS = {
    "bash": lambda name: rf"flags='[^']*(?<![\w-]){re.escape(name)}(?![\w-])",
    "zsh": lambda name: rf"'\*{re.escape(name)}=?\[",
    "fish": lambda name: f" {'-l' if name[:2] == '--' else '-s'} {re.escape(name.lstrip('-'))} ",
}


def script(capsys: pytest.CaptureFixture[str], shell: str) -> str:
    """Return the script for a shell."""
    assert cli.run(["completion", shell]) == 0
    return capsys.readouterr().out


def parts(shell: str, text: str) -> dict[str, str]:
    """Return what a script has for each command."""
    if shell == "fish":
        found = re.findall(
            r"^complete -c funcgraph -n '__funcgraph_(?:options_)?of (\w+)' (.*)$", text, re.MULTILINE
        )
        lines: dict[str, str] = {}
        for name, rest in found:
            lines[name] = lines.get(name, "") + f" {rest}\n"
        return lines
    rows = re.split(r"^        \(?(\w+)\) ", text, flags=re.MULTILINE)
    return dict(zip(rows[1::2], rows[2::2], strict=True))


def folder_of(shell: str, folder: Path) -> Path:
    """Return a folder with the script for a shell, and traces beside a file that is none."""
    table = {command.NAME: (command, parser) for command, parser in cli.table()}
    words: dict[str, Words] = {
        name: words_of(parser, runs_command=getattr(command, "TAKES_COMMAND", False))
        for name, (command, parser) in table.items()
    }
    helps = {name: command.HELP for name, (command, _) in table.items()}
    (folder / "script").write_text(SCRIPTS[shell](words, helps))
    for name in ("a.fg", "b c.dat", "d.fg.part", "x.txt", "$(touch HARM).fg"):
        (folder / name).touch()
    return folder


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_of("bash", tmp_path_factory.mktemp("bash"))


@pytest.fixture(scope="module", params=["fish", "zsh"])
def other_shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    if shutil.which(request.param) is None:
        pytest.skip(f"needs {request.param}")
    folder = folder_of(request.param, tmp_path_factory.mktemp(request.param))
    return Shell(folder, fish_completed if request.param == "fish" else zsh_completed)


def completed(folder: Path, *words: str) -> list[str]:
    """Return what bash completes at the end of a command line, whose last word is its last one."""
    line = " ".join(map(shlex.quote, words))
    code = (
        f". ./script; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _funcgraph 2>/dev/null; "
        "((${#COMPREPLY[@]})) && printf '%s\\0' \"${COMPREPLY[@]}\""
    )
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert not done.stderr
    assert not (folder / "HARM").exists()
    return sorted(filter(None, done.stdout.split("\0")))


class Shell(NamedTuple):
    """A shell that is no bash: what it completes in its folder at the end of a command line."""

    folder: Path
    function: Callable[[Path, str], list[str]]

    def completed(self, line: str) -> list[str]:
        found = self.function(self.folder, line)
        assert not (self.folder / "HARM").exists()
        return sorted(set(found))

    def answer(self, *lines: str) -> None:
        """Have a `funcgraph` on the path that answers so, and writes down what was asked."""
        command = self.folder / "funcgraph"
        answers = " ".join(map(shlex.quote, lines))
        command.write_text(f"#!/bin/sh\necho \"$*\" > asked\nprintf '%s\\n' {answers}\n")
        command.chmod(0o755)


def fish_completed(folder: Path, line: str) -> list[str]:
    code = f"source script; complete -C {shlex.quote(line)}"
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder)}
    done = subprocess.run(
        ["fish", "--no-config", "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert not done.stderr
    return [row.partition("\t")[0] for row in done.stdout.splitlines()]


#: Each word that is added to the completions is printed between two marks; a third one follows the last.
ZSH = """\
PS1=; autoload -Uz compinit && compinit -u -D; . ./script
compadd() {
    local -a hits; local hit
    builtin compadd -O hits "$@"
    for hit in $hits; do print -rn -- $'\\x02'"${(Q)hit}"$'\\x03'; done
    builtin compadd "$@"
}
complete-and-tell() { zle complete-word; print -rn -- $'\\x04' }
zle -N complete-and-tell; bindkey '^I' complete-and-tell
stty -echo; print -rn -- $'\\x04'
"""


def zsh_completed(folder: Path, line: str) -> list[str]:
    main, other = pty.openpty()
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb"}
    with subprocess.Popen(
        ["zsh", "-f", "-i"],
        cwd=folder,
        env={**environment, "HOME": str(folder)},
        stdin=other,
        stdout=other,
        stderr=other,
        start_new_session=True,
    ) as shell:
        os.close(other)
        os.write(main, ZSH.encode())
        read_until(main, b"\x04")
        os.write(main, f"{line}\t".encode())
        text = read_until(main, b"\x04").decode()
        shell.kill()
    os.close(main)
    return re.findall("\x02(.*?)\x03", text)


def read_until(fd: int, mark: bytes) -> bytes:
    """Return what comes from a terminal up to a mark."""
    data = b""
    while mark not in data:
        assert select.select([fd], [], [], 300)[0], data
        data += os.read(fd, 65536)
    return data


@pytest.mark.parametrize("shell", FORMS)
def test_a_script_has_each_command_and_each_of_its_options(
    capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    of_command = parts(shell, script(capsys, shell))
    assert set(cli.COMMANDS) <= set(of_command)
    for command, parser in cli.table():
        names = [name for action in parser._actions for name in action.option_strings]
        missing = [name for name in names if not re.search(FORMS[shell](name), of_command[command.NAME])]
        assert not missing, command.NAME


@pytest.mark.parametrize("shell", FORMS)
def test_the_shell_itself_takes_the_script(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    done = subprocess.run([shell, "-n"], input=script(capsys, shell), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["rec"], ["record", "recover"]),
        (["help", "rec"], ["record", "recover"]),
        (["report", "--col"], ["--color"]),
        (["report", "--color", ""], ["always", "auto", "never"]),
        (["report", "--color", "="], ["always", "auto", "never"]),
        (["report", "--color", "=", "al"], ["always"]),
        (["record", "-p", "function_"], ["function_graph"]),
        (["record", "-O", "nosleep"], ["nosleep-time"]),
        (["export", "spee"], ["speedscope"]),
        (["completion", ""], ["bash", "fish", "zsh"]),
        (["report", "--color", "=", "auto", ""], ["$(touch HARM).fg", "a.fg", "b c.dat", "d.fg.part"]),
        (["summary", "-i", "b"], ["b c.dat"]),
        (["report", "$(touch HARM)"], ["$(touch HARM).fg"]),
        (["values", "$(touch HARM)"], []),
        (["record", "-l", "f", "program", "--"], []),  # the program's own options
        (["record", "-l", "--dro"], []),  # a pattern
        (["record", "-l", "f", "--dro"], ["--drop"]),
        (["$(touch HARM)", ""], []),
    ],
)
def test_bash_completes(bash: Path, words: list[str], found: list[str]) -> None:
    assert completed(bash, "funcgraph", *words) == found


def test_of_processes_only_digits_are_completed(bash: Path) -> None:
    command = bash / "funcgraph"
    command.write_text(
        '#!/bin/sh\n[ "$*" = "completion --pids" ] || exit\n'
        "printf '%s\\n' 4711 '$(touch HARM)' '12;touch HARM' 'a[$(touch HARM)]' '-x' '' 48\n"
    )
    command.chmod(0o755)
    assert completed(bash, "funcgraph", "top", "-P", "") == ["4711", "48"]
    assert completed(bash, "funcgraph", "top", "-P", "9,47") == ["9,4711"]
    assert completed(bash, "funcgraph", "attach", "48") == ["48"]
    assert completed(bash, "funcgraph", "top", "-P", "$(touch HARM)") == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("rec", ["record", "recover"]),
        ("help rec", ["record", "recover"]),
        ("report --col", ["--color"]),
        ("report --color ", ["always", "auto", "never"]),
        ("record -p function_", ["function_graph"]),
        ("record -O nosleep", ["nosleep-time"]),
        ("export spee", ["speedscope"]),
        ("completion ", ["bash", "fish", "zsh"]),
        ("report ", ["$(touch HARM).fg", "a.fg", "b c.dat", "d.fg.part"]),
        ("summary -i b", ["b c.dat"]),
        ("record --dro", ["--drop"]),
        ("record -l f --dro", ["--drop"]),
        ("record -l f program --dro", []),  # the program's own options
        ("record -m module --dro", []),
    ],
)
def test_other_shells_complete(other_shell: Shell, line: str, found: list[str]) -> None:
    assert other_shell.completed(f"funcgraph {line}") == found


def test_other_shells_complete_processes_and_functions(other_shell: Shell) -> None:
    other_shell.answer("4711", "$(touch HARM)", "12;touch HARM", "a[$(touch HARM)]", "-x", "", "48")
    assert other_shell.completed("funcgraph attach 4") == ["4711", "48"]
    assert (other_shell.folder / "asked").read_text() == "completion --pids\n"
    other_shell.answer(
        "shop.pay", "shop.$(touch HARM)", "shop.<locals>", "shop;touch HARM", "-x", "", "shop.price"
    )
    assert other_shell.completed("funcgraph report -i a.fg -g shop") == ["shop.pay", "shop.price"]
    assert (other_shell.folder / "asked").read_text() == "completion --functions shop --of a.fg\n"


def test_of_functions_only_plain_names_are_completed(bash: Path) -> None:
    asked = bash / "funcgraph"
    asked.write_text(
        '#!/bin/sh\n[ "$1 $2" = "completion --functions" ] || exit\necho "$*" > asked\n'
        "printf '%s\\n' shop.pay 'shop.$(touch HARM)' 'shop.<locals>' 'shop;touch HARM' -x '' shop.price\n"
    )
    asked.chmod(0o755)
    for words, question in (
        (["record", "-P", "48", "-l"], "shop --of 48"),
        (["report", "-i", "a.fg", "-g"], "shop --of a.fg"),
        (["why"], "shop"),
        (["values", "-i", "a.fg"], "shop --of a.fg"),
    ):
        assert completed(bash, "funcgraph", *words, "shop") == ["shop.pay", "shop.price"]
        assert (bash / "asked").read_text() == f"completion --functions {question}\n"
    assert completed(bash, "funcgraph", "record", "-P", "$(touch HARM)", "-l", "$(touch HARM)") == []


def test_the_functions_are_those_of_the_process_or_of_the_trace(
    fg: Funcgraph, capsys: pytest.CaptureFixture[str]
) -> None:
    def names(begin: str, of: str) -> list[str]:
        assert cli.run(["completion", "--functions", begin, "--of", of]) == 0
        return capsys.readouterr().out.split()

    script = fg.script(
        "import json, sys\ndef pay_now(): pass\ndef pay_later(): pass\n"
        "pay_now()\nprint('ready', flush=True)\ninput()\n"
    )
    program = subprocess.Popen(
        [sys.executable, script],
        env={**fg.env, "FUNCGRAPH": "control"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with program:
        assert program.stdout and program.stdout.readline() == "ready\n"
        assert names("__main__.pay", str(program.pid)) == ["__main__.pay_later", "__main__.pay_now"]
        many = names("", str(program.pid))
        assert "json." in many and not any(name.startswith("json.dec") for name in many)
        program.communicate("\n")
    assert names("", str(program.pid)) == []  # nobody reads an error while typing
    fg.record(fg.script("def pay_now(): pass\npay_now()\n"))
    assert names("__main__.", str(fg.folder / "trace.fg")) == ["__main__.pay_now"]
    assert names("", "/no/such") == []


def test_the_ids_are_those_of_python_processes_without_ones_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as other:
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as cat:
            assert cli.run(["completion", "--pids"]) == 0
            lines = capsys.readouterr().out.splitlines()
            assert str(other.pid) in lines and str(cat.pid) not in lines
            assert all(line.isdecimal() for line in lines)
            assert os.getpid() not in python_processes()
        other.communicate("\n")


@pytest.mark.parametrize("words", [[], ["bash", "--pids"], ["tcsh"]])
def test_one_shell_must_be_named(words: list[str]) -> None:
    with pytest.raises(cli.CommandError, match="bash, zsh"):
        cli.run(["completion", *words])


def test_a_script_has_only_ascii_and_its_words_need_no_quotes() -> None:
    for command, parser in cli.table():
        words = words_of(parser, runs_command=getattr(command, "TAKES_COMMAND", False))
        values = [words.rest, *(flag.value for flag in words.flags if flag.value)]
        names = [*words.flag_names(), *(word for value in values for word in value.words)]
        assert all(re.fullmatch(r"[\w.+-]+", name, re.ASCII) for name in names), command.NAME
