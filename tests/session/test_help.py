"""What a person finds who asks for help: the commands, their options, a page for each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Funcgraph

from funcgraph import cli
from funcgraph.settings.table import BY_NAME, SETTINGS

pytestmark = pytest.mark.one_python

MANY = [name for name in cli.COMMANDS if cli.parser_of(cli.load(name)).is_long]


def help_text(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a command line that asks for help prints on standard output."""
    with pytest.raises(SystemExit) as end:
        cli.run(words)
    assert not end.value.code
    return capsys.readouterr().out


def flags_in(text: str) -> list[str]:
    """Return the first flag of each option that a help text explains, without those that ask for help."""
    flags = re.findall(r"^  (--?[a-zA-Z][\w-]*)", text, re.MULTILINE)
    return [flag for flag in flags if flag not in ("-h", "--help-all")]


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")


# ---- the list of commands


def test_help_begins_with_five_commands_and_has_the_others_in_five_groups(
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts = re.split(r"^([a-z][^\n]*):\n", help_text(capsys, "--help"), flags=re.MULTILINE)
    groups = {
        title: re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    del groups["options"]
    titles = list(groups)
    assert titles[1:] == [
        "record and read",
        "answers",
        "a running process",
        "control by trace-cmd's verbs",
        "files and upkeep",
    ]
    assert len(groups[titles[0]]) == 5 and groups[titles[0]][0] == "record"
    named = [name for names in groups.values() for name in names]
    assert sorted(named) == sorted(cli.COMMANDS)  # each once


@pytest.mark.parametrize("name", cli.ALIASES)
def test_a_former_name_still_works_and_is_not_in_the_help(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert not re.search(rf"\b{name}\b", help_text(capsys, "--help"))
    assert help_text(capsys, name, "--help") == help_text(capsys, cli.ALIASES[name][0], "--help")


def test_the_former_names_are_the_three_that_were_renamed() -> None:
    meant = {"stream": ("trace",), "convert": ("export", "-F", "trace-dat"), "stat": ("settings",)}
    assert meant == cli.ALIASES
    assert not meant.keys() & set(cli.COMMANDS)


def test_convert_is_export_trace_dat(fg: Funcgraph) -> None:
    assert fg.record("-q", "-c", "def f(): pass\nf()").returncode == 0
    for words in (["convert", "trace.fg", "a.dat"], ["export", "trace-dat", "trace.fg", "-o", "b.dat"]):
        done = fg.run(*words)
        assert done.returncode == 0
        assert done.stderr.startswith(f"funcgraph: trace-dat: {words[-1]} (")
    assert (fg.folder / "a.dat").read_bytes() == (fg.folder / "b.dat").read_bytes()
    assert fg.calls("b.dat") == fg.calls()
    assert fg.run("export", "trace-dat").returncode == 0
    assert (fg.folder / "trace.dat").read_bytes() == (fg.folder / "b.dat").read_bytes()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["trace-dat", "-l", "__main__.f"], "a trace.dat has the whole trace: it takes no selection"),
        (["trace-dat", "-o", "-"], "a trace.dat is written into a file: name it with -o"),
        (["csv", "--file-version", "6"], "--file-version 6: only for trace-dat"),
        (["trace-dat", "--file-version", "8"], "--file-version 8: must be a whole number from 6 to 7"),
    ],
)
def test_what_a_trace_dat_cannot_have_is_refused(fg: Funcgraph, words: list[str], text: str) -> None:
    assert fg.record("-q", "-c", "def f(): pass\nf()").returncode == 0
    done = fg.run("export", *words)
    assert done.returncode == 2 and text in done.stderr


# ---- the options of a command


def test_the_help_of_record_has_ten_options_which_the_table_of_settings_marks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = flags_in(help_text(capsys, "record", "--help"))
    assert len(shown) == 10
    marked = {setting.flag for setting in SETTINGS if setting.common}
    assert marked <= set(shown)
    assert set(shown) - {setting.flag for setting in SETTINGS} == {"-P", "-o"}  # the command's own


def test_help_all_has_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"record", "report", "trace", "start", "set", "show"} <= set(MANY)
    for name in MANY:
        parser = cli.parser_of(cli.load(name))
        every = {action.option_strings[0] for action in parser._actions if action.option_strings}
        assert set(flags_in(help_text(capsys, name, "--help-all"))) == every - {"-h", "--help-all"}
        few = help_text(capsys, name, "--help")
        assert 5 <= len(flags_in(few)) <= 10, name
        assert f"funcgraph {name} --help-all" in few
        assert len(few.splitlines()) <= 45, name


def test_a_command_with_few_options_shows_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--json" in flags_in(help_text(capsys, "summary", "--help"))
    with pytest.raises(cli.CommandError, match="--help-all"):
        cli.run(["clear", "--help-all"])


@pytest.mark.parametrize("name", ["", *cli.COMMANDS])
def test_help_fits_a_terminal_of_80_columns(capsys: pytest.CaptureFixture[str], name: str) -> None:
    texts = [help_text(capsys, *filter(None, [name]), "--help")]
    texts += [help_text(capsys, name, "--help-all")] if name in MANY else []
    for line in "\n".join(texts).splitlines():
        assert len(line) <= 80, line


# ---- other ways to ask


def test_help_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert help_text(capsys, "help") == help_text(capsys, "--help")
    assert help_text(capsys, "help", "record") == help_text(capsys, "record", "--help")
    assert help_text(capsys, "help", "stat") == help_text(capsys, "settings", "--help")
    with pytest.raises(cli.CommandError, match=r"unknown command 'recrod'.* did you mean 'record'"):
        cli.run(["help", "recrod"])


def test_a_short_flag_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["-V"]) == 0
    assert re.match(r"funcgraph \d+\.\d+\S*( \(commit .*\))?\nCPython 3", capsys.readouterr().out)


def test_no_setting_is_marked_that_record_does_not_have() -> None:
    assert all(setting.flag and setting.scope != "live" for setting in BY_NAME.values() if setting.common)


# ---- pages for man(1)


def test_the_environment_has_a_page_for_each_command() -> None:
    pages = Path(sys.prefix) / "share" / "man" / "man1"
    installed = {path.name for path in pages.glob("funcgraph*")}
    assert installed == {"funcgraph.1", *(f"funcgraph-{name}.1" for name in cli.COMMANDS)}


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man-db")
def test_man_finds_the_page_of_an_environment_whose_commands_are_in_path() -> None:
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "MANWIDTH": "80", "MANPAGER": "cat"}
    environment.pop("MANPATH", None)
    page = subprocess.run(["man", "funcgraph-record"], env=environment, capture_output=True, text=True)
    assert page.returncode == 0, page.stderr
    assert "funcgraph record [OPTIONS] script.py ARGS..." in page.stdout
