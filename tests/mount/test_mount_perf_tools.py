"""Scripts written for tracefs run on a mount: those of perf-tools, and the same steps in a shell.

perf-tools is GPL: its scripts are not here but in Debian's package perf-tools-unstable. Only the folder of
tracefs is changed in them, and the lock file that all of a machine share.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from mount.mounted import TIMEOUT_S, mount_process
from mount.shop_program import BUSY, end_program, start_program

pytestmark = pytest.mark.one_python

SCRIPTS = ("funcgraph", "funccount", "functrace", "funcslower", "kprobe", "tpoint")
#: What the files must say after each script.
INITIAL = {
    "current_tracer": "nop\n",
    "set_ftrace_filter": "#### all functions enabled ####\n",
    "set_graph_function": "#### all functions enabled ####\n",
    "set_ftrace_pid": "no pid\n",
    "tracing_thresh": "0\n",
    "max_graph_depth": "0\n",
    "kprobe_events": "",
    "function_profile_enabled": "0\n",
}


@pytest.fixture(scope="module")
def shop(fuse: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """A busy program, and the folder where its tracefs is mounted."""
    folder = tmp_path_factory.mktemp("shop")
    process = start_program(folder, BUSY)
    try:
        with mount_process(process.pid, folder / "tracing"):
            yield process.pid, folder / "tracing"
    finally:
        end_program(process)


@pytest.fixture
def tracing(shop: tuple[int, Path]) -> Iterator[Path]:
    """The mount; after the test its files must be as they were."""
    yield shop[1]
    assert {name: (shop[1] / name).read_text() for name in INITIAL} == INITIAL


class PerfTools:
    """Runs scripts of perf-tools."""

    def __init__(self, tracing: Path, folder: Path) -> None:
        self._folder = folder
        for name in SCRIPTS:
            text = Path(f"/usr/sbin/{name}-perf").read_text()
            text = re.sub(r"^tracing=.*$", f"tracing={tracing}", text, flags=re.MULTILINE)
            text = re.sub(r"^flock=[^;\n]*", f"flock={folder}/lock", text, flags=re.MULTILINE)
            (folder / name).write_text(text)
        # They switch the kernel's own ftrace on, and wait for whole seconds.
        (folder / "sysctl").write_text("#!/bin/sh\n")
        (folder / "sleep").write_text("#!/bin/sh\nexec /bin/sleep 0.1\n")
        for file in folder.iterdir():
            file.chmod(0o755)

    def start(self, *words: str) -> subprocess.Popen[str]:
        path = f"{self._folder}:{os.environ['PATH']}"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        return subprocess.Popen(
            words, text=True, start_new_session=True, env={**os.environ, "PATH": path}, **pipes
        )  # type: ignore[call-overload,no-any-return]

    def run(self, *words: str) -> list[str]:
        """Return the lines that a script prints."""
        with self.start(*words) as process:
            text = process.communicate(timeout=TIMEOUT_S)[0]
            assert process.returncode == 0
        assert "ERROR" not in text
        assert "WARNING" not in text
        return text.splitlines()


@pytest.fixture
def perf_tools(tracing: Path, tmp_path: Path) -> PerfTools:
    if shutil.which("funcgraph-perf", path=f"{os.environ['PATH']}:/usr/sbin") is None:
        pytest.skip("Debian's package perf-tools-unstable is not installed")
    return PerfTools(tracing, tmp_path)


def matching(pattern: str, lines: list[str]) -> list[str]:
    return [line for line in lines if re.fullmatch(pattern, line)]


def test_funcgraph(perf_tools: PerfTools) -> None:
    lines = perf_tools.run("funcgraph", "-d", "1", "-H", "shop.pay")
    assert "# tracer: function_graph" in lines
    at = lines.index(matching(r" 0\) +\|  shop\.pay\(\) \{", lines)[0])
    assert matching(r" 0\) .* \|    shop\.tax\(\);", lines[at + 1 : at + 2])
    assert matching(r" 0\) .* \|  \}", lines[at + 2 : at + 3])
    assert not [line for line in lines if "shop.slow" in line]


def test_funcgraph_with_times_names_and_a_depth(perf_tools: PerfTools) -> None:
    lines = perf_tools.run("funcgraph", "-aT", "-m", "1", "-d", "1", "shop.pay")
    assert matching(r" *\d+\.\d{6} \|   0\)  +python-\d+ +\|.* \|  shop\.pay\(\);", lines)
    assert not [line for line in lines if "shop.tax" in line]


def test_funccount(perf_tools: PerfTools) -> None:
    lines = perf_tools.run("funccount", "-d", "1", "shop.*")
    counts = {line.split()[0]: int(line.split()[1]) for line in lines if line.startswith("shop.")}
    assert set(counts) == {"shop.pay", "shop.slow", "shop.tax"}
    assert all(counts.values())


def test_functrace_of_one_process(perf_tools: PerfTools, shop: tuple[int, Path]) -> None:
    lines = perf_tools.run("functrace", "-p", str(shop[0]), "-d", "1", "shop.t*")
    assert matching(rf" +python-{shop[0]} +\[000\].* \d+\.\d{{6}}: shop\.tax <-shop\.pay", lines)


def test_functrace_until_it_is_interrupted(perf_tools: PerfTools) -> None:
    with perf_tools.start("functrace", "shop.*") as process:
        assert process.stdout is not None
        read = [process.stdout.readline() for _ in range(60)]
        os.killpg(process.pid, signal.SIGINT)
        rest = process.communicate(timeout=TIMEOUT_S)[0]
    assert any("shop.tax <-shop.pay" in line for line in read)
    assert "Ending tracing..." in rest
    assert process.returncode == 0


def test_funcslower(perf_tools: PerfTools) -> None:
    lines = perf_tools.run("funcslower", "-d", "1", "shop.*", "1000")
    assert matching(r" 0\) .*2\d\d\d\.?\d* us +\|  \} /\* shop\.slow \*/", lines)
    assert not [line for line in lines if "shop.tax" in line]


def test_kprobe_with_values_and_a_filter(perf_tools: PerfTools) -> None:
    lines = perf_tools.run("kprobe", "-d", "1", "p:pay shop.pay amount=amount:s32", "amount == 3")
    assert matching(r" +python-\d+ .*: pay: \(shop\.pay\) amount=3", lines)
    lines = perf_tools.run("kprobe", "-d", "1", "p:pay shop.pay amount=amount:s32", "amount > 3")
    assert not [line for line in lines if "pay:" in line]


def test_kprobe_at_the_return(perf_tools: PerfTools, shop: tuple[int, Path]) -> None:
    lines = perf_tools.run("kprobe", "-p", str(shop[0]), "-d", "1", "r:paid shop.pay $retval")
    assert matching(r" +python-\d+ .*: paid: \(.*shop\.pay\) arg1=7", lines)


def test_kprobe_with_stacks(perf_tools: PerfTools, tracing: Path) -> None:
    lines = perf_tools.run("kprobe", "-s", "-d", "1", "p:taxed shop.tax")
    at = lines.index(next(line for line in lines if line.endswith(": taxed: (shop.tax)")))
    assert lines[at + 1].endswith(": <stack trace>")
    assert lines[at + 2 : at + 4] == [" => shop.tax", " => shop.pay"]
    assert (tracing / "options/stacktrace").read_text() == "0\n"


def test_kprobe_shows_the_format(perf_tools: PerfTools, tracing: Path) -> None:
    with perf_tools.start("kprobe", "-v", "p:pay shop.pay amount=amount:s32") as process:
        lines = process.communicate(timeout=TIMEOUT_S)[0].splitlines()
    assert lines[0] == "name: pay"
    assert "\tfield:s32 amount;\toffset:16;\tsize:4;\tsigned:1;" in lines


def test_tpoint(perf_tools: PerfTools, tracing: Path) -> None:
    listed = perf_tools.run("tpoint", "-l")
    assert "py:gc_start" in listed
    others = [name for name in listed if not name.startswith(("ftrace:", "funcgraph:"))]  # without enable
    assert others == sorted((tracing / "available_events").read_text().split())
    assert perf_tools.run("tpoint", "-v", "py:gc_start")[0] == "name: gc_start"
    perf_tools.run("tpoint", "-d", "1", "py:gc_start", "generation == 2")
    assert (tracing / "events/py/gc_start/enable").read_text() == "0\n"


def test_the_steps_of_a_tracing_script(tracing: Path, shop: tuple[int, Path]) -> None:
    script = """
    set -e
    read mode < current_tracer; [ "$mode" = nop ]
    : > set_ftrace_pid
    for task in /proc/$1/task/*; do echo ${task##*/} >> set_ftrace_pid; done
    grep -w shop.pay available_filter_functions
    echo shop.pay > set_graph_function
    echo 'shop.*' > set_ftrace_filter
    echo function_graph > current_tracer
    echo funcgraph-abstime > trace_options
    echo 1 > options/funcgraph-proc
    echo > trace
    head -40 trace_pipe | grep -c shop.tax
    echo 0 > options/funcgraph-proc
    echo nofuncgraph-abstime > trace_options
    echo nop > current_tracer
    echo > set_ftrace_pid
    echo > set_graph_function
    echo > set_ftrace_filter
    cat options/funcgraph-proc
    """
    words = ["bash", "-o", "pipefail", "-c", script, "steps", str(shop[0])]
    done = subprocess.run(words, cwd=tracing, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert (done.returncode, done.stderr) == (0, "")
    known, count, switch = done.stdout.split()
    assert (known, switch) == ("shop.pay", "0")
    assert int(count) > 1


def test_the_steps_of_a_probing_script(tracing: Path) -> None:
    script = """
    set -e
    echo 'p:pay shop.pay amount=amount:s32' >> kprobe_events
    echo 'amount > 2' > events/kprobes/pay/filter
    echo 1 >> events/kprobes/pay/enable
    head -3 trace_pipe
    echo 0 > events/kprobes/pay/enable
    echo 0 > events/kprobes/pay/filter
    cat events/kprobes/pay/filter
    echo -:pay >> kprobe_events
    [ ! -e events/kprobes/pay ]
    echo > trace
    """
    done = subprocess.run(
        ["bash", "-c", script], cwd=tracing, capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert (done.returncode, done.stderr) == (0, "")
    *records, last = done.stdout.splitlines()
    assert len(records) == 3
    assert all(record.endswith(": pay: (shop.pay) amount=3") for record in records)
    assert last == "none"
