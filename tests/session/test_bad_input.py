"""Bad input gives one clear line and exit status 2. A command that cannot run gives a shell's exit status."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph import cli
from funcgraph.command_support.messages import CommandError

pytestmark = pytest.mark.one_python

RUNS = ["-c", "print('ran')"]


def refused(fg: Funcgraph, *words: str | Path, status: int = 2) -> str:
    """Run a command that must be refused before the program starts; return its error without the prefix."""
    result = fg.run(*words)
    assert (result.returncode, result.stdout) == (status, ""), result.stderr
    (line,) = result.stderr.splitlines()
    assert line.startswith("funcgraph: ")
    assert fg.sessions() == []
    assert not list(fg.folder.glob("*.part"))
    return line.removeprefix("funcgraph: ")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--bogus"], "--bogus"),
        (["-z"], "-z"),
        (["--arg"], "--arg"),  # no abbreviations: a new option could make one ambiguous
        (["-p", "latency"], "latency"),
        (["--thresh", "soon"], "soon"),
        (["--thresh", "-1"], "-1"),
        (["--thresh", "1000", "--args"], "--thresh 1000: cannot be given together with --args"),
        (["--max-graph-depth", "-3"], "-3"),
        (["-b", "31"], "-b 31: must be a whole number from 32 to"),
        (["-b", "big"], "big"),
        (["--drop", "--overwrite"], "--overwrite"),
        (["-B", "one", "--drop", "--overwrite"], "--overwrite"),
        (["-B", ""], "-B: invalid instance name ''"),
        (["-B", "one", "-B", "one"], "-B one: another instance has that name"),
        (["-B", "a/b"], "-B a/b: must be one word without '/'"),
        (["-B", ".."], "-B ..: must be one word without '/'"),
        (["-B", "a b"], "-B 'a b': must be one word"),
        (["-B", "x" * 64], "must have at most 63 bytes"),
        (["-B", "one", "-b", "31"], "-b 31: must be a whole number from 32 to"),
        (["-C", "sundial"], "-C sundial: must be one of local, global, counter, uptime"),
        (["-O", "funcgraph-colour"], "-O funcgraph-colour: must be one of funcgraph-cpu, "),
    ],
)
def test_bad_option(fg: Funcgraph, options: list[str], named: str) -> None:
    assert named in refused(fg, "record", *options, *RUNS)


@pytest.mark.parametrize("option", ["-l", "-n", "-g"])
@pytest.mark.parametrize("before", [[], ["-l", "json.*", "-B", "one"]])
def test_bad_pattern(fg: Funcgraph, before: list[str], option: str) -> None:
    line = refused(fg, "record", *before, option, "json.[", *RUNS)
    assert line.startswith(f"{option} 'json.[': ")
    assert "column" in line


def test_no_command(fg: Funcgraph) -> None:
    assert "no command given" in refused(fg, "record", "-q")


@pytest.mark.parametrize("word", ["-m", "-c", "-o", "-l"])
def test_option_without_its_value(fg: Funcgraph, word: str) -> None:
    assert word in refused(fg, "record", word)


def test_unknown_command(fg: Funcgraph) -> None:
    assert "recrod" in refused(fg, "recrod", "x.py")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["recrod", "x.py"], "record"),
        (["stauts"], "status"),
        (["STATUS"], "status"),
        (["record", "--thrsh", "5", *RUNS], "--thresh"),
        (["record", "--max-graph-deth=3", *RUNS], "--max-graph-depth"),
        (["record", "--output", "x.dat", *RUNS], "-o"),
        (["record", "--filter", "m.*", *RUNS], "-l"),
        (["record", "-p", "functoin_graph", *RUNS], "function_graph"),
        (["record", "-C", "mno", *RUNS], "mono"),
        (["record", "-O", "funcgraph-arg", *RUNS], "funcgraph-args"),
        (["record", "-O", "nofuncgraph-arg", *RUNS], "nofuncgraph-args"),
        (["report", "--colour", "never"], "--color"),
        (["report", "--color", "nevr"], "never"),
        (["summary", "--sort", "cals"], "calls"),
        (["selftest", "--jsno"], "--json"),
    ],
)
def test_the_nearest_name_is_proposed(words: list[str], meant: str) -> None:
    with pytest.raises(CommandError, match=f"; did you mean '{meant}'") as refusal:
        cli.run(words)
    assert refusal.value.status == 2


@pytest.mark.parametrize("words", [["xyzzy"], ["record", "--qwertz", *RUNS], ["record", "-C", "9", *RUNS]])
def test_no_name_is_proposed_that_is_not_similar(words: list[str]) -> None:
    with pytest.raises(CommandError) as refusal:
        cli.run(words)
    assert "did you mean" not in str(refusal.value)


def test_the_nearest_session_and_instance_are_proposed(
    fg: Funcgraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fg.record("-q", "-B", "orders", fg.script("def f(): pass\nf()\n")).returncode == 0
    dead = fg.runtime / "funcgraph-4711-abcdefgh"
    dead.mkdir(0o700)
    (dead / "lock").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(fg.runtime))
    trace = str(fg.trace)
    for words, meant in (
        (["report", "-i", trace, "-B", "ordres"], "orders"),
        (["report", "-i", trace, "--task", "pyhton"], "python"),
        (["recover", f"{fg.runtime}/funcgraph-4711-abcdefg"], dead.name),
    ):
        with pytest.raises(CommandError, match=f"; did you mean '{meant}'"):
            cli.run(words)


def test_options_behind_the_command_are_its_own(fg: Funcgraph) -> None:
    script = fg.script("import sys\ndef f(): print(sys.argv[1:])\nf()\n")
    assert fg.record("-q", script, "--bogus", "-l", "[").stdout == "['--bogus', '-l', '[']\n"
    assert fg.record("-q", "--", script, "--", "-x").stdout == "['--', '-x']\n"


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("no-such-command", 127),
        ("./no-such-file", 127),
        ("no-such-script.py", 127),
        ("folder", 127),
        ("./folder", 126),
        ("./text", 126),
        ("./shell", 126),
        ("./broken", 127),
        ("./nonsense", 126),
    ],
)
def test_command_that_cannot_run_has_a_shells_status(fg: Funcgraph, word: str, status: int) -> None:
    (fg.folder / "folder").mkdir()
    (fg.folder / "text").write_text("echo not python\n")
    (fg.folder / "shell").write_text("#!/bin/sh\ntrue\n")
    (fg.folder / "broken").write_text("#!/no/such/interpreter\n")
    (fg.folder / "broken").chmod(0o755)
    (fg.folder / "nonsense").write_bytes(b"\x7fELF nonsense")
    (fg.folder / "nonsense").chmod(0o755)
    if word == "./nonsense":
        # A shell would run it as a script, and print its own error.
        assert fg.record("-q", word).returncode in (126, 127, 2)
        return
    shell = subprocess.run(["sh", "-c", word], cwd=fg.folder, capture_output=True, timeout=60)
    assert shell.returncode == status or word == "no-such-script.py"
    assert word in refused(fg, "record", word, status=status)


def test_nothing_matched_says_so_with_the_nearest_names(fg: Funcgraph) -> None:
    script = fg.script("class Parser:\n    def feed(self): pass\nParser().feed()\n")
    result = fg.record("-l", "__main__.Parser.fed", script)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert "nothing matched __main__.Parser.fed" in line
    assert "__main__.Parser.feed" in line
    assert not fg.trace.exists()
    assert fg.sessions() == []


def test_nothing_matched_keeps_the_programs_own_failure_and_an_older_trace(fg: Funcgraph) -> None:
    fg.trace.write_text("older")
    result = fg.record("-l", "no.such", "-c", "raise SystemExit(5)")
    assert result.returncode == 5
    assert "nothing matched" in result.stderr
    assert fg.trace.read_text() == "older"
    assert not Path(f"{fg.trace}.part").exists()


def test_graph_function_that_never_ran_is_nothing_matched(fg: Funcgraph) -> None:
    result = fg.record("-g", "__main__.mian", "-c", "def main(): pass\nmain()")
    assert result.returncode == 2
    assert "__main__.main" in result.stderr


def test_program_without_python_is_nothing_recorded(fg: Funcgraph) -> None:
    result = fg.record("true")
    assert result.returncode == 2
    assert "no Python process with funcgraph installed ran" in result.stderr


def test_process_that_cannot_be_traced_runs_and_is_told(fg: Funcgraph) -> None:
    script = fg.script("def f(): print('ran')\nf()\n")
    result = fg.record("sh", "-c", f"ulimit -f 1; exec {sys.executable} {script}")
    assert (result.returncode, result.stdout) == (2, "ran\n")
    refusal, nothing = result.stderr.splitlines()
    assert re.match(r"funcgraph: process \d+: could not be traced: its limit of a file's size ", refusal)
    assert nothing == "funcgraph: no process was traced; no trace was written"


def test_session_that_is_deleted_meanwhile_is_no_reason_to_fail(fg: Funcgraph) -> None:
    script = fg.script(
        f"""
        import glob, os, shutil
        def f(): pass
        f()
        # Before that nobody could find this process.
        opened = f"/proc/{{os.getppid()}}/fd/*"
        while not any(os.path.realpath(fd).endswith(".ring") for fd in glob.glob(opened)):
            pass
        shutil.rmtree({str(fg.runtime)!r})
        f()
        """
    )
    result = fg.record(script)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert fg.calls()["__main__.f"] == 2


def test_no_slow_call_is_an_empty_trace_and_no_error(fg: Funcgraph) -> None:
    result = fg.record("--thresh", "60000000", "-c", "def f(): pass\nf()")
    assert result.returncode == 0, result.stderr
    assert fg.summary()["functions"] == []


@pytest.mark.parametrize("where", ["missing/t.dat", "folder", "file/t.dat"])
def test_output_that_cannot_be(fg: Funcgraph, where: str) -> None:
    (fg.folder / "folder").mkdir()
    (fg.folder / "file").touch()
    assert refused(fg, "record", "-o", where, *RUNS).startswith(f"{where}: ")


def test_device_is_no_output(fg: Funcgraph) -> None:
    before = os.stat(os.devnull)
    assert "not a regular file" in refused(fg, "record", "-o", os.devnull, *RUNS)
    assert os.stat(os.devnull).st_ino == before.st_ino
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def give_up_roots_rights() -> None:
    """Drop root's right to read and write every file, in a child before exec. For other users do nothing."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_output_without_permission(fg: Funcgraph) -> None:
    closed = fg.folder / "closed"
    closed.mkdir(mode=0o555)
    result = fg.record("-o", closed / "t.dat", *RUNS, preexec_fn=give_up_roots_rights)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"funcgraph: {closed / 't.dat'}: no permission to write in {closed}\n"


def test_older_trace_is_replaced_only_at_the_end(fg: Funcgraph) -> None:
    fg.trace.write_text("older")
    script = fg.script("def f(): print(open('trace.fg').read())\nf()\n")
    assert fg.record("-q", script).stdout == "older\n"
    assert fg.calls()["__main__.f"] == 1


BUSY = """
import sys
def step(): pass
def main():
    for _ in range(400_000):
        step()
    print("done")
main()
"""


def test_limit_of_file_size_stops_recording_not_the_program(fg: Funcgraph) -> None:
    script = fg.script(BUSY)
    # Only the recorder has this limit: the program must keep its own.
    code = (
        "import resource, sys; from funcgraph.recorder import child\n"
        "become = child._become\n"
        "def free(*args):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "    become(*args)\n"
        "child._become = free\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200 << 10, resource.RLIM_INFINITY))\n"
        "from funcgraph.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    result = fg.plain(sys.executable, "-c", code, "record", "-o", fg.trace, script)
    _kept_what_was_written(fg, result, "the limit of a file's size is reached")


TOO_LARGE = "could not be traced: its limit of a file's size (ulimit -f) is too small for a ring buffer"


@pytest.mark.parametrize("kib", [8, 100, 4000])
def test_a_program_whose_files_must_be_smaller_than_a_ring_runs_untraced(fg: Funcgraph, kib: int) -> None:
    script = fg.script(BUSY)
    result = fg.record("sh", "-c", f"ulimit -f {kib}; exec {sys.executable} {script}")
    assert (result.stdout, result.returncode) == ("done\n", 2)
    first, second = result.stderr.splitlines()
    assert re.fullmatch(rf"funcgraph: process \d+: {re.escape(TOO_LARGE)}", first)
    assert second == "funcgraph: no process was traced; no trace was written"


@pytest.mark.parametrize(("limit", "reason"), [(1000, TOO_LARGE), (0, "could not be traced: no room")])
def test_a_fork_whose_files_must_be_smaller_than_a_ring_is_not_killed(
    fg: Funcgraph, limit: int, reason: str
) -> None:
    """SIGXFSZ has its default action, as in programs that embed Python without its signal handlers."""
    script = fg.script(f"""
        import os, resource, signal
        def step(): pass
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
        step()
        pid = os.fork()
        step()
        if pid:
            os._exit(os.waitpid(pid, 0)[1])
        os._exit(0)
    """)
    result = fg.record("-l", "*.step", script)
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("could not be traced") == result.stderr.count(reason) == 1
    assert fg.calls() == {"__main__.step": 2}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with 200 KiB of room."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(folder)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("no permission to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_full_disk_stops_recording_not_the_program(fg: Funcgraph, small_disk: Path) -> None:
    script = fg.script(BUSY)
    fg.trace = small_disk / "trace.fg"
    result = fg.record("-o", fg.trace, script)
    _kept_what_was_written(fg, result, "no space left on the device")


def _kept_what_was_written(fg: Funcgraph, result: subprocess.CompletedProcess[str], reason: str) -> None:
    assert result.stdout == "done\n"
    assert result.returncode == 2
    assert reason in result.stderr
    assert "recording stops, the program goes on" in result.stderr
    assert "Traceback" not in result.stderr
    assert fg.sessions() == []
    part = Path(f"{fg.trace}.part")
    if part.exists():  # the trace had no room beside it
        fg.trace = fg.folder / "elsewhere.fg"
        recovered = fg.run("recover", "-o", fg.trace, part)
        assert recovered.returncode == 0, recovered.stderr
    assert 1000 < fg.calls()["__main__.step"] < 400_000


def test_closed_standard_error_is_no_reason_to_fail(fg: Funcgraph) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    result = fg.record("-c", "def f(): pass\nf()", stdout=subprocess.PIPE, stderr=write_end)
    os.close(write_end)
    assert result.returncode == 0
    assert fg.calls()["__main__.f"] == 1


def test_help_and_version(fg: Funcgraph) -> None:
    help_text = fg.run("--help")
    assert help_text.returncode == 0
    for command in ("record", "report", "summary", "recover", "status"):
        assert re.search(rf"^  {command} ", help_text.stdout, re.MULTILINE)
        assert fg.run(command, "--help").returncode == 0
    version = fg.run("--version").stdout
    # Each package that was built has this file; our own environments do not say which commit they are.
    built = (Path(funcgraph.__file__).parent / "commit.txt").read_text().strip()
    assert re.fullmatch("unknown|[0-9a-f]{12,}(-dirty)?", built)
    commit = "" if built == "unknown" else rf" \(commit {built}\)"
    assert re.match(rf"funcgraph \d+\.\d+\S*{commit}\nCPython 3\.\d+", version)
    number = r"\d+\.\d+(\.\d+)*\S*"
    assert re.search(rf"^compression: zstd {number} \(.*\), zlib {number} \(", version, re.MULTILINE)
    assert re.search(rf"^extras: .*textual {number}", version, re.MULTILINE)
    assert fg.run().returncode == 2


def test_interrupted_command_dies_of_the_signal(fg: Funcgraph) -> None:
    code = "import signal; signal.raise_signal(signal.SIGINT)"
    hook = f"from funcgraph import cli\ncli.run = lambda words: exec({code!r})\ncli.main()"
    assert fg.plain(sys.executable, "-c", hook).returncode == -signal.SIGINT


def test_limits_of_the_program_are_its_own(fg: Funcgraph) -> None:
    code = "import resource\ndef f(): print(resource.getrlimit(resource.RLIMIT_CORE))\nf()"
    limits = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))}
    assert fg.record("-q", "-c", code, **limits).stdout == "(0, 0)\n"


def test_functions_of_which_only_ends_are_recorded_are_counted(fg: Funcgraph) -> None:
    app = fg.script("import time\ndef slow(): time.sleep(0.002)\ndef main(): slow()\nmain()\n")
    result = fg.record("--thresh", "1000", "-l", "__main__.slow", "-l", "__main__.main", app)
    assert "2 events of 2 functions in 1 thread" in result.stderr
