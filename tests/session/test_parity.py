"""A recorded program sees the arguments, streams, environment and interpreter flags of an untraced one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Funcgraph
from sizes import share

from funcgraph.session import environ

# Prints everything about its surroundings that funcgraph could change by mistake.
SURROUNDINGS = """
import os, posix, resource, signal, sys

def main():
    print("argv", sys.argv)
    print("orig_argv", sys.orig_argv[1:])
    print("flags", sys.flags)
    print("path", sys.path)
    print("environ", sorted(os.environ.items()))
    print("posix.environ", sorted(posix.environ.items()))
    print("environb", sorted(os.environb.items()))
    print("getenv", os.getenv("FUNCGRAPH_SESSION"))
    print("cwd", os.getcwd())
    print("group", os.getpgrp() == os.getpgid(os.getppid()), os.getsid(0) == os.getsid(os.getppid()))
    print("mask", sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    print("handlers", [(n, str(signal.getsignal(n))) for n in sorted(signal.valid_signals())])
    print("descriptors", sorted(os.listdir("/proc/self/fd"), key=int))
    print("limits", [resource.getrlimit(n) for n in range(16)])
    print("recursion", sys.getrecursionlimit())
    print("functions", os.execve, os.posix_spawn, os.posix_spawnp, os.execve in os.supports_fd)
    print("profile", sys.getprofile(), sys.gettrace())
    print("stdin", sys.stdin.read())
    print("to stderr", file=sys.stderr)

main()
"""


@pytest.mark.parametrize("words", [[], ["a b", "", "--", "-l", "x", "--args", "-q", "é"]])
def test_program_sees_its_surroundings_as_without_us(fg: Funcgraph, words: list[str]) -> None:
    script = fg.script(SURROUNDINGS)
    expected = fg.plain(sys.executable, script, *words, input="typed\n")
    result = fg.record("-q", script, *words, input="typed\n")
    assert result.stdout.splitlines() == expected.stdout.splitlines()
    assert result.stderr == expected.stderr
    assert result.returncode == expected.returncode == 0
    assert fg.calls()["__main__.main"] == 1


@pytest.mark.parametrize(
    "flags",
    share([["-I"], ["-E"], ["-P"], ["-O"], ["-X", "dev"], ["-W", "error"], ["-s"], ["-u"], ["-B"]], of=3),
)
def test_interpreter_flags_are_kept_and_the_program_is_traced(fg: Funcgraph, flags: list[str]) -> None:
    script = fg.script(SURROUNDINGS)
    expected = fg.plain(sys.executable, *flags, script)
    heeds_environment = flags[0] not in ("-I", "-E")
    result = fg.record("-q", *([] if heeds_environment else ["--isolated"]), sys.executable, *flags, script)
    lines = expected.stdout.splitlines()
    if not heeds_environment:
        at = next(at for at, line in enumerate(lines) if line.startswith("descriptors"))
        lines[at] = f"{lines[at][:-1]}, '{environ.DESCRIPTOR}']"
    assert result.stdout.splitlines() == lines
    assert result.stderr == expected.stderr
    assert fg.calls()["__main__.main"] == 1


def test_safe_path_variable_is_honoured(fg: Funcgraph) -> None:
    script = fg.script(SURROUNDINGS)
    fg.env["PYTHONSAFEPATH"] = "1"
    assert fg.record("-q", script).stdout == fg.plain(sys.executable, script).stdout
    assert fg.calls()["__main__.main"] == 1


def test_without_site_nothing_is_recorded_and_it_says_so(fg: Funcgraph) -> None:
    result = fg.record(sys.executable, "-S", "-c", "print('ran')")
    assert (result.returncode, result.stdout) == (2, "ran\n")
    assert "no Python process with funcgraph installed ran" in result.stderr
    assert not fg.trace.exists()


@pytest.mark.parametrize(
    "end",
    [
        "raise SystemExit(0)",
        "raise SystemExit(7)",
        "raise SystemExit('words')",
        "raise ValueError('oops')",
        "os._exit(9)",
        "sys.exit(255)",
    ],
)
def test_exit_status_and_message_are_the_programs(fg: Funcgraph, end: str) -> None:
    code = f"import os, sys\ndef f():\n    {end}\nf()"
    expected = fg.plain(sys.executable, "-c", code)
    result = fg.record("-q", "-c", code)
    assert (result.returncode, result.stderr) == (expected.returncode, expected.stderr)
    assert fg.calls()["__main__.f"] == 1


def test_module_runs_as_main(fg: Funcgraph) -> None:
    fg.script("import sys\ndef f(): print(sys.argv[1:], __name__, __spec__.name)\nf()\n", "tool.py")
    result = fg.record("-q", "-m", "tool", "-x", "y")
    assert result.stdout == "['-x', 'y'] __main__ tool\n"
    assert fg.calls()["__main__.f"] == 1


def test_code_runs_as_main(fg: Funcgraph) -> None:
    result = fg.record("-q", "-c", "import sys\ndef f(): print(sys.argv)\nf()", "-m", "x")
    assert result.stdout == "['-c', '-m', 'x']\n"
    assert fg.calls()["__main__.f"] == 1


def test_source_without_execute_permission_runs_with_this_python(fg: Funcgraph) -> None:
    script = fg.script("import sys\ndef f(): print(sys.executable)\nf()\n", "program")
    assert fg.record("-q", script).stdout == f"{sys.executable}\n"
    assert fg.calls()["__main__.f"] == 1


def test_executable_is_found_on_the_path_and_its_pythons_are_traced(fg: Funcgraph) -> None:
    script = fg.script(f"#!{sys.executable}\ndef f(): print('hello')\nf()\n", "hello")
    script.chmod(0o755)
    fg.env["PATH"] = f"{fg.folder}:{fg.env['PATH']}"
    assert fg.record("-q", "hello").stdout == "hello\n"
    assert fg.calls()["__main__.f"] == 1


def test_script_without_interpreter_line_runs_in_a_shell(fg: Funcgraph) -> None:
    script = fg.script(f'{sys.executable} -c "def f(): print(1)\nf()"; exit 5\n', "script")
    script.chmod(0o755)
    result = fg.record("-q", script)
    assert (result.returncode, result.stdout) == (5, "1\n")
    assert fg.calls()["__main__.f"] == 1


def test_large_binary_input_and_output_pass_unchanged(fg: Funcgraph) -> None:
    data = bytes(range(256)) * 8192
    script = fg.script(
        "import sys\ndef copy():\n    sys.stdout.buffer.write(sys.stdin.buffer.read())\ncopy()\n"
    )
    assert fg.record("-q", script, input=data, text=False).stdout == data


def test_further_descriptors_reach_the_program(fg: Funcgraph, tmp_path: Path) -> None:
    with open(tmp_path / "extra", "w+b") as extra:
        script = fg.script(f"import os\ndef f(): os.write({extra.fileno()}, b'through')\nf()\n")
        assert fg.record("-q", script, pass_fds=[extra.fileno()]).returncode == 0
        extra.seek(0)
        assert extra.read() == b"through"


def test_closed_standard_streams_are_no_reason_to_fail(fg: Funcgraph) -> None:
    script = fg.script("def f(): pass\nf()\n")
    line = f"exec {sys.executable} -m funcgraph record {script} 0<&- 1>&- 2>&-"
    assert subprocess.run(["sh", "-c", line], cwd=fg.folder, env=fg.env, timeout=60).returncode == 0
    assert fg.calls()["__main__.f"] == 1
