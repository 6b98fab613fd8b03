"""The variable FUNCGRAPH starts instances before a program's first line. A mistake in it gives one line of
error, and the program runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from funcgraph.tracedata.trace_file import TraceFile

APP = """
import sys
import funcgraph

def leaf(n):
    return n

def root():
    for i in range(3):
        leaf(i)

root()
"""
CALLS = "ftrace=function_graph ftrace_filter=__main__.*"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(code: str, variable: str | None, **settings: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **settings}
    env.pop("FUNCGRAPH", None)
    if variable is not None:
        env["FUNCGRAPH"] = variable
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def calls(path: Path) -> dict[str, int]:
    return {row.name: row.calls for row in TraceFile(path).summary()}


def test_instances_record_from_the_first_line_on_and_each_its_own() -> None:
    code = APP + "for i in funcgraph.instances().values(): print(i.name, i.trace(), sep=chr(10))"
    result = run(
        code,
        "ftrace=function_graph ftrace_filter=__main__.root,__main__.<module> ftrace_graph_max_depth=2"
        " trace_instance=leaves ftrace=function ftrace_filter=__main__.leaf trace_options=funcgraph-args",
    )
    assert result.stderr == ""
    top, leaves = result.stdout.removeprefix("top\n").split("leaves\n")
    assert "__main__.<module>() {" in top
    assert "  __main__.root();" in top
    assert "leaf" not in top
    assert leaves.startswith("# tracer: function\n")
    assert leaves.count("__main__.leaf") == 3


def test_events_from_the_first_line_on() -> None:
    code = (
        APP
        + """
for i in funcgraph.instances().values():
    print(i.name, i.files["set_event"].split(), i.trace().count("n="), i.tracing_on)
    print(i.events["g/leaf"].hist.count("{ n:"))
"""
    )
    result = run(
        code,
        "kprobe_event=f:g/leaf,__main__.leaf,n trace_instance=few trace_event=g:leaf"
        ' "trace_trigger=leaf.traceoff:1 if n == 1,g:leaf.hist:keys=n"',
    )
    assert result.stderr == ""
    assert result.stdout == "top ['g:leaf'] 3 True\n0\nfew ['g:leaf'] 2 False\n3\n"


def test_a_static_event_from_the_first_line_on() -> None:
    code = """
import funcgraph
for n in range(3):
    try:
        raise OSError(n)
    except OSError:
        pass
top = funcgraph.instances()["top"]
print(top.files["set_event"].split(), top.trace().count('type="OSError"'))
print(top.events["py/raise"].hist.count("OSError"))
"""
    result = run(code, "trace_event=py:raise trace_trigger=py:raise.hist:keys=type")
    assert (result.stdout, result.stderr) == ("['py:raise'] 3\n1\n", "")


@pytest.mark.parametrize(
    "wrong",
    [
        "trace_event=nosuch",
        "trace_trigger=nosuch.traceoff",
        "kprobe_event=f:g/e,__main__.leaf,n trace_trigger=e.traceoff:x",
        "kprobe_event=f:g/e,__main__.leaf,n;f:g/e,__main__.root,n:u8",
    ],
)
def test_a_wrong_event_leaves_nothing(wrong: str) -> None:
    code = APP + "print(len(funcgraph.instances()), len(funcgraph.dynamic_events), funcgraph.users())"
    result = run(code, wrong)
    assert result.stdout == "0 0 []\n"
    assert result.stderr.startswith("funcgraph: FUNCGRAPH") and result.stderr.count("\n") == 1


def test_settings_are_those_of_the_variable() -> None:
    code = (
        "import funcgraph; i = funcgraph.instances()['top']; print(i.current_tracer, i.set_ftrace_filter,"
        " i.set_ftrace_notrace, i.set_graph_function, i.set_graph_notrace, i.max_graph_depth,"
        " i.tracing_thresh, i.buffer_size_kb, i.trace_clock, i.options['funcgraph-tail'],"
        " i.options['funcgraph-cpu'])"
    )
    text = (
        "ftrace=function_graph ftrace_filter=a.*,b.* ftrace_notrace=c ftrace_graph_filter=d"
        " ftrace_graph_notrace=e ftrace_graph_max_depth=4 tracing_thresh=9 trace_buf_size=128K"
        " trace_clock=boot trace_options=funcgraph-tail,nofuncgraph-cpu"
    )
    expected = "function_graph ('a.*', 'b.*') ('c',) ('d',) ('e',) 4 9 128 boot True False\n"
    assert run(code, text).stdout == expected


def test_alloc_snapshot_has_the_memory_of_a_snapshot_from_the_start() -> None:
    code = (
        "import funcgraph\nfor i in funcgraph.instances().values(): print('allocated' in i.files['snapshot'])"
    )
    text = "alloc_snapshot trace_instance=one trace_instance=two alloc_snapshot"
    assert run(code, text).stdout == "True\nFalse\nTrue\n"
    wrong = run("print(1)", "alloc_snapshot=1")
    assert "takes no value: must be alloc_snapshot" in wrong.stderr


def test_without_a_tracer_nothing_is_recorded_as_in_the_kernel() -> None:
    code = APP + "i = funcgraph.instances()['top']; print(i.current_tracer, 'leaf' in i.trace())"
    assert run(code, "ftrace_filter=__main__.*").stdout == "nop False\n"


@pytest.mark.parametrize(
    ("variable", "reason"),
    [
        (
            "ftrase=function",
            "FUNCGRAPH, column 1: ftrase=function: unknown parameter 'ftrase': must be one of ftrace, ",
        ),
        ("ftrace=graph", "ftrace=graph: must be one of "),
        (f"{CALLS} trace_options=colour", "'colour': must be one of "),
        (f"{CALLS} trace_clock=sundial", "=sundial: must be one of local, global"),
        (f"{CALLS},json.[", "'json.[': "),
        (f"{CALLS} trace_buf_size=big", "=big: must be a size from 32K"),
        (f"{CALLS} trace_instance=a/b", "'a/b': must be non-empty"),
        (
            f"{CALLS} trace_instance={','.join(map(str, range(70)))} ftrace=function",
            "FUNCGRAPH: ",
        ),  # 64 users
    ],
)
def test_a_mistake_is_one_line_and_the_program_runs_untraced(variable: str, reason: str) -> None:
    result = run(APP + "print(dict(funcgraph.instances())); sys.exit(7)", variable)
    assert (result.returncode, result.stdout) == (7, "{}\n")
    (line,) = result.stderr.splitlines()
    assert line.startswith("funcgraph: FUNCGRAPH")
    assert reason in line
    assert line.endswith("; nothing is traced")


def test_the_trace_is_written_at_the_end_if_the_variable_says_so(folder: Path) -> None:
    result = run(APP, f"{CALLS} ftrace_dump_on_exit=%p.dat")
    assert (result.returncode, result.stderr) == (0, "")
    (path,) = folder.glob("*.dat")
    assert calls(path) == {"__main__.<module>": 1, "__main__.root": 1, "__main__.leaf": 3}


def test_a_forks_child_does_not_write_it(folder: Path) -> None:
    run(APP + "import os\nif os.fork() == 0: sys.exit()\nos.wait()", f"{CALLS} ftrace_dump_on_exit=t.dat")
    assert calls(folder / "t.dat")["__main__.leaf"] == 3


def test_a_trace_that_cannot_be_written_is_one_line_and_the_exit_status_the_programs(folder: Path) -> None:
    result = run(APP + "sys.exit(3)", f"{CALLS} ftrace_dump_on_exit=missing/t.dat")
    assert result.returncode == 3
    (line,) = result.stderr.splitlines()
    assert line.startswith(
        f"funcgraph: {folder}/missing/t.dat: the trace of instance 'top' could not be written"
    )


def test_children_inherit_it_and_have_instances_of_their_own(folder: Path) -> None:
    child = "def inner(): pass\ninner()"
    code = APP + f"import subprocess\nsubprocess.run([sys.executable, '-c', {child!r}], check=True)"
    run(code, f"{CALLS} ftrace_dump_on_exit=%p.dat")
    found = [calls(path) for path in folder.glob("*.dat")]
    assert sorted("__main__.inner" in each for each in found) == [False, True]


@pytest.mark.parametrize("variable", [None, ""])
def test_without_it_nothing_is_imported(variable: str | None) -> None:
    code = "import sys; print([name for name in sys.modules if name.startswith('funcgraph')])"
    assert run(code, variable).stdout == "[]\n"


def test_a_recording_and_instances_at_the_same_time(folder: Path) -> None:
    (folder / "app.py").write_text(APP + "print(funcgraph.instances()['top'].trace().count('leaf'))")
    words = ["-m", "funcgraph", "record", "-q", "-l", "__main__.root", "app.py"]
    env = {**os.environ, "FUNCGRAPH": CALLS}
    result = subprocess.run(
        [sys.executable, *words], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout) == (0, "3\n"), result.stderr
    assert calls(folder / "trace.fg") == {"__main__.root": 1}
