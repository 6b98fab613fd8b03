"""Reading instances: each loss is counted, all ways agree, and reading itself is in no trace."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from ringfile import add_ring
from traced import leaf, marks, outer

import funcgraph
from funcgraph import _engine, _tracedata

HERE = "traced.*"


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("one", tracer="function_graph", filter=[HERE]) as instance:
        yield instance


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_a_pipe_gives_all_lines_at_once_as_bytes(one: funcgraph.Instance) -> None:
    leaf(1)
    leaf(2)
    lines = "".join(f"{line}\n" for line in body(one.trace()))
    with one.trace_pipe(blocking=False) as pipe:
        assert next(pipe).encode() + pipe.read() == lines.encode()
        assert not pipe.ready
        assert pipe.read() == b""
        leaf(3)
        assert pipe.ready
        assert pipe.read().count(b"leaf") == 1


def test_trace_pipe_and_snapshot_agree(one: funcgraph.Instance) -> None:
    outer()
    leaf(3)
    text = one.trace()
    assert len(body(text)) == 8
    assert one.trace() == text
    snapshot = one.snapshot()
    assert snapshot.trace() == text
    with one.trace_pipe(blocking=False) as pipe:
        assert [line.rstrip("\n") for line in pipe] == body(text)
    assert body(one.trace()) == []  # the pipe consumed it
    assert snapshot.trace() == text  # the contents at that moment
    leaf(4)
    assert len(list(one.trace_pipe(blocking=False))) == 1
    snapshot.close()
    snapshot.close()
    with pytest.raises(OSError, match="the snapshot is closed"):
        snapshot.trace()


def test_a_pipe_continues_after_what_it_returned(one: funcgraph.Instance) -> None:
    seen: list[str] = []
    with one.trace_pipe() as pipe:
        for turn in range(5):
            leaf(turn)
            seen.append(next(pipe))
    assert len(seen) == 5
    assert all("traced.leaf();" in line for line in seen)


@pytest.mark.parametrize(("overwrite", "buffer_kb"), [(True, 32), (True, 16384), (False, 128)])
def test_a_reader_that_reads_while_four_threads_write_counts_what_it_loses(
    tmp_path: Path, overwrite: bool, buffer_kb: int
) -> None:
    engine = _engine.Instance("busy", buffer_kb=buffer_kb, overwrite=overwrite)
    engine.set_filter(filter=["traced.leaf"])
    engine.set_tracer("function_graph")
    calls, nr_threads = 20_000, 4
    records = lost = 0

    def work() -> None:
        for number in range(calls):
            leaf(number)

    def take(turn: int) -> None:
        nonlocal records, lost
        ring = tmp_path / f"{turn}.ring"
        engine.copy(ring, consume=True)
        recorder = _tracedata.Recorder(tmp_path / f"{turn}.part")
        recorder.finish(add_ring(recorder, ring))
        totals = recorder.totals()
        recorder.close()
        records += totals["records"]
        lost += totals["lost"]

    threads = [threading.Thread(target=work) for _ in range(nr_threads)]
    for thread in threads:
        thread.start()
    turn = 0
    while any(thread.is_alive() for thread in threads):
        take(turn)
        turn += 1
    take(turn)
    engine.close()
    assert records + lost == calls * nr_threads * 2
    assert records
    if buffer_kb > 10_000:
        assert not lost


def test_losses_are_shown(one: funcgraph.Instance) -> None:
    one.buffer_size_kb = 32
    one.current_tracer = "function"
    for number in range(5000):
        leaf(number)
    text = one.trace()
    counts = re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)", text)
    assert counts
    assert int(counts[2]) == 5000
    assert 0 < int(counts[1]) == sum("leaf" in line for line in body(text)) < 5000


def test_reading_is_in_no_trace(one: funcgraph.Instance, tmp_path: Path) -> None:
    with funcgraph.Instance("all", tracer="function_graph") as everything:
        everything.clear()
        one.trace()
        one.save(tmp_path / "one.dat")
        snapshot = one.snapshot()
        snapshot.save(tmp_path / "snapshot.dat")
        snapshot.close()
        with one.trace_pipe(blocking=False) as pipe:
            list(pipe)
        one.options["funcgraph-tail"] = True
        one.set_ftrace_filter = [HERE]
        everything.trace()
        called = re.findall(r"([\w.<>]+)\(", "\n".join(body(everything.trace())))
    # Calls of the test itself, such as those of pathlib.
    assert [
        name for name in called if name.split(".")[0] in ("funcgraph", "json", "tempfile", "shutil")
    ] == []


def test_reading_is_not_counted_as_missed(one: funcgraph.Instance) -> None:
    ops = funcgraph.FgraphOps(filter=["json.*", "shutil.*", "tempfile.*"])
    with funcgraph.registered(ops):
        one.trace()
        assert ops.nmissed == 0


def test_a_saved_trace_is_read_by_report(one: funcgraph.Instance, tmp_path: Path) -> None:
    outer()
    path = tmp_path / "one.dat"
    one.save(path)
    done = subprocess.run(
        [sys.executable, "-m", "funcgraph", "report", "-i", path], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("traced.leaf();") == 3
    with one.snapshot() as snapshot:
        snapshot.save(path)
    assert path.stat().st_size
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")
def test_a_saved_trace_is_read_by_trace_cmd(one: funcgraph.Instance, tmp_path: Path) -> None:
    outer()
    one.trace_marker.write("a text")
    one.save(tmp_path / "one.dat")
    done = subprocess.run(
        ["trace-cmd", "report", "-i", tmp_path / "one.dat"], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("leaf();") == 3
    assert "a text" in done.stdout


def test_reading_puts_nothing_into_the_folder_for_temporary_files(
    one: funcgraph.Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    one.trace()
    list(one.trace_pipe(blocking=False))
    snapshot = one.snapshot()
    snapshot.trace()
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_reading_is_raised(one: funcgraph.Instance, tmp_path: Path) -> None:
    outer()
    with pytest.raises(IsADirectoryError):
        one.save(tmp_path)
    assert len(body(one.trace())) == 7


# ---- texts of the program


def test_texts_are_in_their_place_between_the_calls() -> None:
    with funcgraph.Instance("one", tracer="function_graph", filter=[HERE]) as one:
        marks(one)
        lines = [line.split("|", 1)[1].strip() for line in body(one.trace())]
    assert lines[1:4] == ["/* first */", "traced.leaf();", "/* second and 2 */"]


def test_nop_has_only_texts_with_their_callers() -> None:
    with funcgraph.Instance("one") as one, funcgraph.Instance("two", tracer="function", filter=[HERE]) as two:
        one.trace_marker.write("alone")
        two.trace_marker.write("neither")
        marks(two)
        assert [line.split(": ", 1)[1] for line in body(one.trace())] == ["tracing_mark_write: alone"]
        lines = [line.split(": ", 1)[1] for line in body(two.trace())]
        assert lines[0] == "tracing_mark_write: neither"
        assert lines[-1] == "traced.marks: second and 2"


def test_long_texts_continue_in_further_records() -> None:
    with funcgraph.Instance("one") as one:
        one.trace_marker.write("x" * 2500)
        lines = body(one.trace())
    assert [line.count("x") for line in lines] == [992, 992, 516]


def test_texts_do_nothing_when_nothing_records() -> None:
    funcgraph.trace_marker.write("nobody")
    funcgraph.trace_printk("%d", 1)
    with pytest.raises(TypeError):
        funcgraph.trace_printk("%d", "x")
    with pytest.raises(TypeError):
        funcgraph.trace_marker.write(b"x")  # type: ignore[arg-type]
    with funcgraph.Instance("one") as one:
        one.tracing_on = False
        assert one.trace_marker.write("off") == 3
        marker = one.trace_marker
    assert marker.write("closed") == 6


def test_texts_without_an_instances_name_go_to_top_and_to_recordings(tmp_path: Path) -> None:
    with funcgraph.Instance("top") as top, funcgraph.Instance("other") as other:
        with funcgraph.record(tmp_path / "trace.dat", filter=[HERE]):
            leaf(1)
            funcgraph.trace_marker.write("for all")
            funcgraph.trace_printk("%s", "for all")
        assert top.trace().count("for all") == 2
        assert "for all" not in other.trace()
    done = subprocess.run(
        [sys.executable, "-m", "funcgraph", "report", "-i", tmp_path / "trace.dat"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.count("/* for all */") == 2


def test_a_callback_can_write_texts(one: funcgraph.Instance) -> None:
    ops = funcgraph.FgraphOps(lambda *_: one.trace_marker.write("entered") and False, filter=["traced.leaf"])
    with funcgraph.registered(ops):
        leaf(1)
    assert "/* entered */" in one.trace()


# What a test process does with an instance; a kill -9 ends it in the middle.
KILLED = {
    "trace": "one.trace()",
    "pipe": "list(one.trace_pipe(blocking=False))",
    "snapshot": "one.snapshot()",
    "snapshot that is read": "one.snapshot().trace()",
    "save": "one.save('saved.dat')",
}


@pytest.mark.parametrize("what", KILLED)
def test_a_kill_9_while_an_instance_is_read_leaves_nothing(tmp_path: Path, what: str) -> None:
    """Before: a folder funcgraph-instance-PID-... stayed in memory until the next boot."""
    code = f"""
        import os, signal, sys
        import funcgraph
        from funcgraph import _tracedata
        from funcgraph.buffer import reading

        def f(): pass

        def kill(*args):
            os.kill(os.getpid(), signal.SIGKILL)

        class Recorder:  # stands before the real one, and dies where that has written the trace
            def __init__(self, *args, **keywords):
                self.real = real(*args, **keywords)
            def complete(self, *args):
                self.real.complete(*args)
                if not saved: kill()
            def __getattr__(self, name):
                return getattr(self.real, name)

        what, saved, real = {what!r}, [], _tracedata.Recorder
        one = funcgraph.Instance("one", tracer="function_graph", filter=["__main__.f"])
        f()
        if what == "snapshot that is read":
            reading.report_of = kill
        elif what == "snapshot":
            saved.append(one.snapshot())
            kill()
        else:
            _tracedata.Recorder = Recorder
        {KILLED[what]}
    """
    shared = set(Path("/dev/shm").glob("funcgraph-*"))
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "TMPDIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, env=environment, timeout=60
    )
    assert result.returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir() if path.name != "saved.dat"] == []
    assert set(Path("/dev/shm").glob("funcgraph-instance-*")) <= shared


def test_instances_are_read_where_no_memory_file_can_be_made(
    one: funcgraph.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str, flags: int) -> int:
        raise PermissionError(errno.EPERM, "not permitted")

    leaf(1)
    monkeypatch.setattr(os, "memfd_create", refuse)
    assert "traced.leaf();" in one.trace()
    monkeypatch.delattr(os, "memfd_create")
    assert "traced.leaf();" in one.snapshot().trace()


def test_a_snapshot_outlives_the_descriptors_of_the_program(one: funcgraph.Instance) -> None:
    leaf(1)
    before = set(os.listdir("/proc/self/fd"))
    snapshot = one.snapshot()
    assert set(os.listdir("/proc/self/fd")) == before  # os.closerange() takes nothing away
    assert snapshot.trace() == one.trace()
