"""The socket is there only if somebody asks for it: serve(), FUNCGRAPH=control, record --control."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import Funcgraph
from served import Served, served

from funcgraph import _boot
from funcgraph.control import serving
from funcgraph.control.client import connect

READY = "import os, sys; print('ready', flush=True); sys.stdin.read()"
MODULES = """
    import sys
    print('ready', *sorted(name for name in sys.modules if name.startswith('funcgraph')), flush=True)
    sys.stdin.read()
"""


def has_thread(program: Served) -> bool:
    return len(os.listdir(f"/proc/{program.pid}/task")) > 1


@pytest.mark.one_python
def test_nobody_asks(tmp_path: Path) -> None:
    with served(tmp_path, "import funcgraph; " + READY) as program:
        assert not has_thread(program)
        assert not list(tmp_path.glob("funcgraph-*"))


def test_the_variable_asks_and_little_is_loaded(tmp_path: Path) -> None:
    with served(tmp_path, MODULES, FUNCGRAPH="control") as program:
        assert "funcgraph._control" in program.path.split()
        heavy = {
            "funcgraph._engine",
            "funcgraph.control.server",
            "funcgraph.control.wire",
            "funcgraph.instance",
        }
        assert not heavy & set(program.path.split())
        with program.connect() as process:
            assert process.call("info")["instances"] == []
        assert program.end() == 0


def test_the_variable_asks_beside_other_parameters(tmp_path: Path) -> None:
    with served(tmp_path, READY, FUNCGRAPH="ftrace=function ftrace_filter=json.* control") as program:
        with program.connect() as process:
            assert process.read_text("current_tracer") == "function\n"


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("control=1", "column 1: control=1: takes no value: must be control"),
        ("ftrace=function contrl", "unknown parameter 'contrl': must be one of"),
    ],
)
def test_a_mistake_in_the_variable_is_told(tmp_path: Path, text: str, error: str) -> None:
    with served(tmp_path, READY, FUNCGRAPH=text) as program:
        assert not has_thread(program)
        assert error in program.errors.read_text()


@pytest.mark.one_python
@pytest.mark.parametrize(
    ("requested_by", "reported"), [("FUNCGRAPH", "funcgraph: FUNCGRAPH: no room\n"), ("", "")]
)
def test_no_socket_is_told_if_a_person_asked(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], requested_by: str, reported: str
) -> None:
    def serve(**keywords: bool) -> None:
        raise OSError(28, "no room")

    monkeypatch.setattr(serving, "serve", serve)
    _boot._serve(requested_by)
    assert capfd.readouterr().err == reported


def test_each_process_of_a_recording_can_have_one(fg: Funcgraph) -> None:
    script = fg.script(
        """
        import os, subprocess, sys
        if len(sys.argv) == 1:
            child = subprocess.Popen([sys.executable, __file__, 'child'], stdin=subprocess.PIPE)
            forked = os.fork()
            if not forked:
                sys.stdin.readline()
                os._exit(0)
            print(os.getpid(), child.pid, forked, flush=True)
            sys.stdin.readline()
            child.communicate(b'end')
        else:
            sys.stdin.readline()
        """
    )
    recorder = fg.start("record", "--control", "-q", "-l", "__main__.*", sys.executable, script)
    assert recorder.stdin and recorder.stdout
    parent, child, forked = map(int, recorder.stdout.readline().split())
    for pid in (parent, forked, child):
        for _ in range(100_000):  # the child may still be starting
            try:
                process = connect(pid)
            except ConnectionError:
                continue
            break
        with process:
            assert process.call("info")["pid"] == pid
    recorder.communicate("end\nend\n", 60)
    assert recorder.returncode == 0
    assert not list(fg.runtime.glob("funcgraph-*"))


def test_a_recording_without_control(fg: Funcgraph) -> None:
    script = fg.script("import os; print(len(os.listdir('/proc/self/task')))")
    assert fg.record("-q", "-l", "__main__.*", sys.executable, script).stdout == "1\n"
    assert fg.record("-q", "--control", "-l", "__main__.*", sys.executable, script).stdout == "2\n"


@pytest.mark.parametrize("program_is_first", [False, True])
def test_two_threads_may_import_collections_abc(program_is_first: bool) -> None:
    """Its file replaces itself by another module: who comes meanwhile sees no names (up to 3.13.0)."""
    code = """
        import sys, types, _collections_abc
        for name in [name for name in sys.modules if name.split(".")[0] == "collections"]:
            del sys.modules[name]
        class Shim(types.ModuleType):
            def __getattr__(self, name):
                import collections
                sys.modules["collections.abc"] = collections.abc = _collections_abc
                raise AttributeError(name)
        class Finder:
            def find_spec(name, path=None, target=None):
                assert name != "collections.abc", "imported from its file"
        sys.meta_path.insert(0, Finder)
        if sys.argv[1] == "True":
            sys.modules["collections.abc"] = Shim("collections.abc")
        from funcgraph.control import entrance
        import collections.abc
        assert callable(entrance.handle)
        assert sys.modules["collections.abc"] is _collections_abc
        assert collections.abc is _collections_abc
    """
    words = [sys.executable, "-S", "-c", textwrap.dedent(code), str(program_is_first)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
