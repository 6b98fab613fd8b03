"""`funcgraph plan` fills the cache and prints a table; `list -f --native` names functions and refusals."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Done, Funcgraph
from planned import build, needs_decoder

from funcgraph.commands import plan as plan_command
from funcgraph.native import code, hooking
from funcgraph.native.errors import PLANNER

pytestmark = [pytest.mark.one_python, needs_decoder]

SOURCE = """
int first(int x) { return x * 3 + 1; }
int second(int x) { return x * 5 + 1; }
int setjmp(void *x) { return x != 0; }
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return build(tmp_path, SOURCE, "-Wl,--build-id", "-fno-builtin", language="c", name="libshop.so.1")


def test_the_table_says_what_can_be_hooked_and_why_the_rest_cannot(
    in_process: Callable[..., Done], library: Path
) -> None:
    done = in_process("plan", library)
    assert (done.returncode, done.stderr) == (0, "")
    head, row = done.stdout.splitlines()
    assert head.split() == ["object", "functions", "hookable", "%", "seconds", "plan", "not", "hookable"]
    assert re.fullmatch(
        r"libshop +3 +2 +66\.7 +\d\.\d\d\d +new +1 returns twice, or on another stack", row
    ), row


def test_the_second_time_the_plan_is_from_the_cache(in_process: Callable[..., Done], library: Path) -> None:
    in_process("plan", library)
    assert " cache " in in_process("plan", library).stdout
    assert " new " in in_process("plan", "--afresh", library).stdout


def test_errors_are_one_line_each_and_the_rest_is_planned(
    in_process: Callable[..., Done], library: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_text("hello, this is no object")
    done = in_process("plan", text, tmp_path / "none", library, 2**22 + 1)
    assert done.returncode == 1
    assert "libshop" in done.stdout
    assert done.stderr.splitlines() == [
        f"funcgraph: {text}: is not an ELF file",
        f"funcgraph: {tmp_path / 'none'}: No such file or directory",
        f"funcgraph: process {2**22 + 1}: there is no such process",
    ]
    assert in_process("plan", text).returncode == 2


def test_without_the_extra_one_line_says_what_to_install(
    in_process: Callable[..., Done], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "iced_x86", None)
    done = in_process("plan", library)
    assert done.returncode == 2
    assert done.stderr == (
        f"funcgraph: {library}: planning native functions needs iced-x86 and pydemumble: "
        "pip install 'funcgraph[native]'\n"
    )


def test_without_the_gil_one_line_says_that_it_needs_it(
    in_process: Callable[..., Done], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "iced_x86", None)
    monkeypatch.setattr(code.sys, "_is_gil_enabled", lambda: False, raising=False)
    assert "planning takes a CPython with the GIL" in in_process("plan", library).stderr


def cached_plans(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*.plan")}


def test_another_python_makes_the_same_plans(
    in_process: Callable[..., Done], library: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (), ("--place", "second+4"):
        in_process("plan", "--afresh", *place, library)
    own = cached_plans(cache)
    shutil.rmtree(cache)
    monkeypatch.setitem(sys.modules, "iced_x86", None)
    monkeypatch.setenv(PLANNER, sys.executable)
    for place in (), ("--place", "second+4"):
        done = in_process("plan", *place, library)
        assert (done.returncode, done.stderr) == (0, "")
    assert cached_plans(cache) == own
    assert len(own) == 2


def test_another_python_that_makes_none_is_one_line(
    in_process: Callable[..., Done], library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "iced_x86", None)
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexit 3\n")
    silent.chmod(0o755)
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    for python, error in (
        (tmp_path / "none", "No such file or directory"),
        (silent, "it ended with 3"),
        (bare, "ModuleNotFoundError: No module named 'funcgraph'"),
    ):
        monkeypatch.setenv(PLANNER, str(python))
        done = in_process("plan", library)
        assert done.returncode == 2
        assert done.stderr == f"funcgraph: {library}: {PLANNER}: {python}: {error}\n"


def test_a_program_heeds_no_environment_of_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable names a program that is run."""
    assert hooking._is_for_helper(PLANNER) and not hooking._is_for_helper("FUNCGRAPH_SESSION")
    monkeypatch.setattr(hooking._environ, "is_secure", lambda: True)
    assert not hooking._is_for_helper(PLANNER) and hooking._is_for_helper("PATH")


def test_on_another_machine_one_line_says_so(
    in_process: Callable[..., Done], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "iced_x86", None)
    machine = os.uname_result(("Linux", "host", "6.12", "#1", "aarch64"))
    monkeypatch.setattr(code.os, "uname", lambda: machine)
    assert in_process("plan", library).stderr == f"funcgraph: {library}: planning is for x86-64 machines\n"


def test_a_plan_that_is_there_needs_no_extra(
    in_process: Callable[..., Done], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_process("plan", library)
    monkeypatch.setitem(sys.modules, "iced_x86", None)
    done = in_process("plan", library)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_cache_that_cannot_be_used_is_said_once(
    in_process: Callable[..., Done], library: Path, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file")
    done = in_process("plan", library, library)
    assert done.returncode == 0
    assert done.stderr.startswith("funcgraph: plans are not kept: ")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def program(library: Path) -> int:
    """A running program that has loaded the library."""
    words = [
        sys.executable,
        "-c",
        f"import ctypes; ctypes.CDLL({str(library)!r}); print(flush=True); input()",
    ]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.communicate(b"\n")


def test_a_process_is_planned_with_all_that_it_has_loaded(
    in_process: Callable[..., Done], program: int
) -> None:
    done = in_process("plan", program)
    assert (done.returncode, done.stderr) == (0, "")
    names = {line.split()[0] for line in done.stdout.splitlines()[1:]}
    assert names >= {"libshop", "libc", "python", "ld-linux-x86-64"}


def test_native_functions_are_listed_with_their_objects(
    in_process: Callable[..., Done], program: int
) -> None:
    done = in_process("list", "-P", program, "-f", "--native", "*:mod:libshop")
    assert done.stdout == "first [libshop]\nsecond [libshop]\n2 functions\n"
    done = in_process("list", "-P", program, "-f", "fir:mod:libshop", "--native")
    assert done.stdout == "first [libshop]\n1 function\n"


def test_why_lists_the_refused_with_the_reason(in_process: Callable[..., Done], program: int) -> None:
    done = in_process("list", "-P", program, "-f", "--native", ":mod:libshop", "--why")
    assert done.stdout == "setjmp [libshop]: returns twice, or on another stack\n1 function\n"


def test_only_the_objects_that_are_asked_for_are_planned(
    in_process: Callable[..., Done], program: int, tmp_path: Path
) -> None:
    in_process("list", "-P", program, "-f", "--native", "*:mod:libshop", "--count")
    assert len(os.listdir(tmp_path / "cache/funcgraph/native")) == 1


@pytest.mark.parametrize(
    ("words", "text"), [(("--native",), "--native needs -f"), (("-f", "--why"), "--why needs --native")]
)
def test_flags_that_need_others_say_so(
    in_process: Callable[..., Done], words: tuple[str, ...], text: str
) -> None:
    done = in_process("list", "-P", os.getpid(), *words)
    assert done.returncode == 2
    assert text in done.stderr


def test_names_harm_no_terminal(tmp_path: Path, fg: Funcgraph) -> None:
    evil = build(tmp_path, SOURCE, language="c", name="lib\x1b[31m.so")
    done = fg.run("plan", evil)
    assert "\x1b" not in done.stdout
    assert "lib\\x1b[31m" in done.stdout
    assert plan_command.NAME == "plan"
