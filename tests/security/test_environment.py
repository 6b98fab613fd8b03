"""No variable of ours has an effect in a program with more rights than its starter, or with -I or -E."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph
from hostile_user import as_user

from funcgraph import _environ
from funcgraph.session import environ

ROOT = Path(__file__).parents[2]
OTHER = 12345
NOBODY = as_user(65534)
ISOLATED = [["-I"], ["-E"]]
PROGRAM = "def work(): pass\nwork()\nprint('ran')\n"
# A parent and its children, which subprocess starts in each of its ways.
PARENT = """
import multiprocessing, os, subprocess, sys

def work(): pass

if __name__ == "__main__":
    work()
    word = [sys.executable, *sys.argv[1:], "-c", "def child(): pass\\nchild()"]
    subprocess.run(word, check=True)
    subprocess.run(word, check=True, cwd="/")
    subprocess.run(word, check=True, close_fds=False, env=dict(os.environ))
    subprocess.run(word, check=True, cwd="/", env={"LANG": "C"})
    if os.fork() == 0:
        os.execve(sys.executable, word, {})
    assert os.wait()[1] == 0
    child = multiprocessing.get_context("spawn").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == 0
"""


@pytest.fixture
def setuid_python() -> Iterator[Path]:
    """Return a setuid copy of this Python, owned by root, where everybody can execute it."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root makes files of root that are setuid, and becomes somebody else")
    folder = Path(tempfile.mkdtemp(prefix="fgtest-setuid-"))
    try:
        if os.statvfs(folder).f_flag & os.ST_NOSUID:
            pytest.skip(f"{folder.parent} is mounted nosuid")
        folder.chmod(0o755)
        python = folder / "bin" / "python3"
        python.parent.mkdir()
        shutil.copyfile(os.path.realpath(sys.executable), python)
        base = os.path.dirname(os.path.realpath(sys.executable))
        (folder / "pyvenv.cfg").write_text(f"home = {base}\ninclude-system-site-packages = false\n")
        packages = Path(_environ.__file__).parents[1]
        there = folder / "lib" / packages.parent.name / packages.name
        there.parent.mkdir(parents=True)
        there.symlink_to(packages)
        os.chown(python, 0, 0)
        python.chmod(0o4755)
        yield python
    finally:
        shutil.rmtree(folder)


def kept_file(fg: Funcgraph) -> Path:
    """Return a file that must stay as it is."""
    path = fg.folder / "kept"
    path.write_text("kept")
    return path


def boot_parameters(path: Path) -> str:
    return f"ftrace=function_graph ftrace_dump_on_exit={path}"


def is_secure(fg: Funcgraph, python: Path) -> bool:
    code = "from funcgraph import _environ; print(_environ.is_secure())"
    return fg.plain(*NOBODY, python, "-c", code).stdout == "True\n"


@pytest.mark.parametrize("flags", [[], *ISOLATED])
def test_setuid_program_writes_no_file_that_the_variable_names(
    fg: Funcgraph, setuid_python: Path, flags: list[str]
) -> None:
    assert is_secure(fg, setuid_python)
    kept = kept_file(fg)
    fg.env["FUNCGRAPH"] = boot_parameters(kept)
    result = fg.plain(*NOBODY, setuid_python, *flags, "-c", PROGRAM)
    assert (result.stdout, result.stderr) == ("ran\n", "")
    assert kept.read_text() == "kept"


@pytest.mark.parametrize("flags", [[], ["--isolated"]])
def test_setuid_program_joins_no_session(fg: Funcgraph, setuid_python: Path, flags: list[str]) -> None:
    result = fg.record(*flags, *NOBODY, setuid_python, "-c", PROGRAM)
    assert (result.stdout, result.returncode) == ("ran\n", 2)
    assert "no Python process with funcgraph installed ran" in result.stderr
    assert not fg.trace.exists()


def test_setuid_program_serves_no_socket(fg: Funcgraph, setuid_python: Path) -> None:
    fg.env["FUNCGRAPH"] = "control"
    code = "import threading, os; print(len(os.listdir('/proc/self/task')))"
    assert fg.plain(*NOBODY, setuid_python, "-c", code).stdout == "1\n"
    assert not list(fg.runtime.iterdir())


def test_setuid_program_that_serves_takes_no_folder_from_its_starter(
    fg: Funcgraph, setuid_python: Path
) -> None:
    code = "import funcgraph; print(funcgraph.serve()); funcgraph.serve(False)"
    served = fg.plain(*NOBODY, setuid_python, "-c", code)
    assert "funcgraph-control-0" in served.stdout
    assert not served.stdout.startswith(str(fg.runtime))


@pytest.mark.parametrize("flags", ISOLATED)
def test_isolated_python_makes_no_instance(fg: Funcgraph, flags: list[str]) -> None:
    kept = kept_file(fg)
    fg.env["FUNCGRAPH"] = boot_parameters(kept)
    result = fg.plain(sys.executable, *flags, "-c", PROGRAM)
    assert (result.stdout, result.stderr) == ("ran\n", "")
    assert kept.read_text() == "kept"


@pytest.mark.parametrize("flags", ISOLATED)
def test_isolated_python_joins_no_session_that_the_environment_names(fg: Funcgraph, flags: list[str]) -> None:
    result = fg.record(sys.executable, *flags, "-c", PROGRAM)
    assert (result.stdout, result.returncode) == ("ran\n", 2)
    assert "--isolated" in result.stderr
    assert not fg.trace.exists()


@pytest.mark.parametrize("flags", [[], *ISOLATED])
def test_isolated_recording_has_the_program_and_its_isolated_children(
    fg: Funcgraph, flags: list[str]
) -> None:
    result = fg.record("--isolated", sys.executable, *flags, fg.script(PARENT), *flags)
    assert result.returncode == 0, result.stderr
    calls = fg.calls()
    assert (calls["__main__.child"], calls["__main__.work"]) == (5, 1)
    assert calls["__mp_main__.work"] == 1


def test_isolated_recording_reaches_a_script_that_says_so_itself(fg: Funcgraph) -> None:
    script = fg.script(f"#!{sys.executable} -I\n{PROGRAM}", "tool")
    script.chmod(0o755)
    assert fg.record("--isolated", "sh", "-c", script).returncode == 0
    assert fg.calls()["__main__.work"] == 1


def test_isolated_recording_hides_the_variable_as_others_do(fg: Funcgraph) -> None:
    code = "import os; print(os.environ.get('FUNCGRAPH_SESSION'))"
    assert fg.record("--isolated", sys.executable, "-I", "-c", code).stdout == "None\n"


def test_isolated_recording_that_follows_nobody_has_no_isolated_children(fg: Funcgraph) -> None:
    script = fg.script(PARENT)
    assert fg.record("--isolated", "--no-follow", sys.executable, "-I", script, "-I").returncode == 0
    assert (fg.calls()["__main__.child"], fg.calls()["__main__.work"]) == (0, 1)


def test_isolated_recording_needs_its_descriptor(fg: Funcgraph) -> None:
    taken = os.open(os.devnull, os.O_RDONLY)
    os.dup2(taken, environ.DESCRIPTOR, inheritable=True)
    try:
        result = fg.record("--isolated", "-c", "pass", pass_fds=[environ.DESCRIPTOR])
    finally:
        os.close(taken)
        os.close(environ.DESCRIPTOR)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"descriptor {environ.DESCRIPTOR}, which is open" in result.stderr
    assert not fg.sessions()


def test_descriptor_of_another_user_or_that_can_be_changed_tells_nothing() -> None:
    text = b"FUNCGRAPH_SESSION=/somewhere"
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING)
    try:
        os.write(fd, text)
        assert _environ.read_sealed(fd) is None
        import fcntl

        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        if os.geteuid() == 0:
            os.fchown(fd, OTHER, OTHER)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
        assert _environ.read_sealed(fd) == (None if os.geteuid() == 0 else text)
        os.fchown(fd, os.geteuid(), os.getegid())
        assert _environ.read_sealed(fd) == text
        assert _environ.read_sealed(-1) is None
    finally:
        os.close(fd)


def test_child_keeps_no_other_file_of_that_number(fg: Funcgraph) -> None:
    script = fg.script("""
        import os, subprocess, sys

        os.closerange(3, 256)
        os.dup2(0, 198)
        code = "import os; print(os.listdir('/proc/self/fd').count('198'))"
        for folder in (None, "/"):
            subprocess.run([sys.executable, "-S", "-c", code], cwd=folder)
        """)
    assert fg.record("--isolated", script).stdout == "0\n0\n"


@pytest.mark.parametrize("flags", ISOLATED)
def test_no_variable_of_ours_has_a_value_for_an_isolated_python(fg: Funcgraph, flags: list[str]) -> None:
    names = sorted(variables_in_sources())
    code = f"from funcgraph.session import environ; print([environ.value_of(name) for name in {names}])"
    fg.env |= dict.fromkeys(names, "a value")
    assert fg.plain(sys.executable, *flags, "-c", code).stdout == f"{[''] * len(names)}\n"


def variables_in_sources() -> set[str]:
    """Return each variable of ours that our sources name."""
    files = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".c", ".h", ".pth")]
    found = (re.findall(r"""["'](FUNCGRAPH(?:_[A-Z]+)*)["']""", path.read_text()) for path in files)
    return {name for names in found for name in names}


def test_document_lists_each_variable() -> None:
    section = (ROOT / "docs/guides/boot.md").read_text().partition("## Variables")[2]
    assert set(re.findall(r"^\| `(FUNCGRAPH\w*)`", section, re.MULTILINE)) == variables_in_sources()


def test_c_code_reads_no_variable() -> None:
    files = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".c", ".h")]
    assert not [path.name for path in files if re.search(r"\bgetenv\(|\benviron\b\s*\[", path.read_text())]


def test_line_at_the_start_of_python_knows_the_descriptor() -> None:
    assert f"os.path.exists({environ.DESCRIPTOR})" in (ROOT / "src/funcgraph.pth").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root meets sessions of others")
@pytest.mark.parametrize(("owner", "is_joined"), [(0, True), (OTHER, False)])
def test_a_session_in_a_folder_of_another_user_is_not_joined(
    tmp_path: Path, owner: int, is_joined: bool
) -> None:
    """Its user could have root write through a link: joining this one fails, and leaves a note."""
    session = tmp_path / "funcgraph-1-made"
    session.mkdir(0o700)
    for name in ("config", "lock"):
        (session / name).write_text("nonsense\n")
        os.chown(session / name, owner, owner)
    os.chown(session, owner, owner)
    subprocess.run(
        [sys.executable, "-c", "pass"], env={**os.environ, "FUNCGRAPH_SESSION": str(session)}, check=True
    )
    assert ({"config", "lock"} < set(os.listdir(session))) == is_joined
