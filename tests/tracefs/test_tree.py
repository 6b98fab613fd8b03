"""The tree of tracefs: folders, modes, how files open, read, take writes and close, as in the kernel."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Callable, Iterator

import pytest
from tracefs_shell import Shell

import funcgraph
from funcgraph.instance.boot import TOP
from funcgraph.tracefs.interface import Tree as AnyTree
from funcgraph.tracefs.tree import Tree

pytestmark = pytest.mark.one_python

HERE = __name__


def leaf() -> int:
    return 1


def outer() -> int:
    return leaf() + leaf()


def meet(barrier: threading.Barrier) -> int:
    barrier.wait()
    return leaf()


def together(count: int) -> None:
    """Run calls in threads that trace at the same time: each has a lane of its own."""
    barrier = threading.Barrier(count)
    threads = [threading.Thread(target=meet, args=(barrier,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def shell() -> Iterator[Shell]:
    tree: AnyTree = Tree()  # mypy: it is one
    yield Shell(tree)
    for instance in list(funcgraph.instances().values()):
        instance.__exit__(None, None, None)
    funcgraph.dynamic_events.clear()
    funcgraph.dynamic_events.log.clear()
    assert funcgraph.users() == []


def traced(shell: Shell, folder: str = "") -> None:
    """Trace the functions of this file."""
    shell.echo(f"{HERE}.leaf {HERE}.outer {HERE}.meet\n", f"{folder}set_ftrace_filter")
    shell.echo("function_graph\n", f"{folder}current_tracer")


def refused(number: int, call: Callable[..., object], *args: object) -> None:
    with pytest.raises(OSError) as caught:
        call(*args)
    assert caught.value.errno == number, caught.value


# ---- folders


def test_the_root_is_the_instance_top(shell: Shell) -> None:
    shell.echo("7\n", "max_graph_depth")
    assert funcgraph.instances()[TOP].max_graph_depth == 7
    assert shell.tree.list("instances") == []
    refused(errno.ENOENT, shell.tree.stat, f"instances/{TOP}")
    refused(errno.EEXIST, shell.tree.mkdir, f"instances/{TOP}")


def test_modes_are_the_kernels(shell: Shell) -> None:
    modes = shell.walk()
    assert modes["trace"] == modes["current_tracer"] == modes["options/overwrite"] == "-rw-r-----"
    assert modes["README"] == modes["available_tracers"] == modes["trace_pipe"] == "-r--r-----"
    assert modes["trace_marker"] == "--w--w----"
    assert modes["events"] == modes["instances"] == modes["per_cpu/cpu0"] == "drwxr-x---"
    assert modes["events/py/raise/id"] == modes["per_cpu/cpu0/stats"] == "-r--r-----"
    assert modes["events/py/raise/filter"] == modes["events/py/enable"] == "-rw-r-----"


def test_every_file_that_is_listed_can_be_read_or_written(shell: Shell) -> None:
    shell.tree.mkdir("instances/one")
    for path, mode in shell.walk().items():
        if mode.startswith("-r"):
            file = shell.tree.open(path, os.O_RDONLY)
            try:
                file.read(0, 100)
            except BlockingIOError:
                assert path.endswith(("trace_pipe", "trace_pipe_raw"))
            file.close()
        elif mode.startswith("--w"):
            refused(errno.EINVAL, shell.cat, path)


def test_an_instance_has_no_files_of_the_process(shell: Shell) -> None:
    shell.tree.mkdir("instances/one")
    root, one = set(shell.tree.list("")), set(shell.tree.list("instances/one"))
    assert root - one >= {
        "README",
        "dynamic_events",
        "available_filter_functions",
        "instances",
        "saved_cmdlines",
    }
    assert one < root
    assert {"trace", "trace_pipe", "options", "events", "per_cpu", "set_event"} < one


def test_mkdir_and_rmdir(shell: Shell) -> None:
    tree = shell.tree
    tree.mkdir("instances/one")
    tree.mkdir("instances/sp ace")
    assert tree.list("instances") == ["one", "sp ace"]
    refused(errno.EEXIST, tree.mkdir, "instances/one")
    refused(errno.EPERM, tree.mkdir, "instances/one/b")
    refused(errno.EPERM, tree.mkdir, "foo")
    refused(errno.EEXIST, tree.mkdir, "options")
    refused(errno.ENOENT, tree.mkdir, "instances/nosuch/b")
    refused(errno.ENOTDIR, tree.mkdir, "trace/b")
    refused(errno.ENAMETOOLONG, tree.mkdir, "instances/" + "x" * 300)
    refused(errno.ENOENT, tree.rmdir, "instances/nosuch")
    refused(errno.EPERM, tree.rmdir, "options")
    refused(errno.ENOTDIR, tree.rmdir, "README")
    refused(errno.EACCES, tree.open, "instances/f", os.O_WRONLY | os.O_CREAT)
    refused(errno.ENOENT, tree.open, "instances/f", os.O_WRONLY)
    refused(errno.EISDIR, tree.open, "options", os.O_RDONLY)
    refused(errno.ENOTDIR, tree.stat, "trace/x")
    refused(errno.ENOTDIR, tree.list, "trace")
    tree.rmdir("instances/one")
    assert "one" not in funcgraph.instances()


def test_an_instance_that_traces_can_be_removed_but_not_one_in_use(shell: Shell) -> None:
    shell.tree.mkdir("instances/one")
    traced(shell, "instances/one/")
    for name in ("trace", "trace_pipe", "events/enable"):
        file = shell.tree.open(f"instances/one/{name}", os.O_RDONLY)
        refused(errno.EBUSY, shell.tree.rmdir, "instances/one")
        file.close()
    shell.tree.rmdir("instances/one")
    assert shell.tree.list("instances") == []


def test_a_file_of_an_instance_that_its_program_closed(shell: Shell) -> None:
    instance = funcgraph.Instance("one")
    file = shell.tree.open("instances/one/trace", os.O_RDWR)
    filters = shell.tree.open("instances/one/set_ftrace_filter", os.O_WRONLY | os.O_TRUNC)
    instance.close()
    refused(errno.ENODEV, file.read, 0, 10)
    refused(errno.ENODEV, filters.write, 0, b"a.b\n")
    file.close()
    filters.close()
    refused(errno.ENOENT, shell.tree.stat, "instances/one/trace")


# ---- reading


def test_the_text_is_that_of_the_instance(shell: Shell) -> None:
    traced(shell)
    outer()
    shell.echo("0\n", "tracing_on")
    text = shell.cat("trace")
    assert text == funcgraph.instances()[TOP].trace()
    assert text.count(f"{HERE}.leaf();") == 2
    assert shell.cat("per_cpu/cpu0/trace") == text


def test_a_text_stays_while_it_is_read(shell: Shell) -> None:
    file = shell.tree.open("set_ftrace_pid", os.O_RDONLY)
    assert file.read(0, 3) == b"no "
    shell.echo("17\n", "set_ftrace_pid")
    assert file.read(3, 100) == b"pid\n"
    assert file.read(7, 100) == b""
    assert file.read(0, 100) == b"17\n"
    file.close()
    refused(errno.EBADF, file.read, 0, 10)


def test_readers_and_writers_need_the_mode(shell: Shell) -> None:
    reader = shell.tree.open("tracing_on", os.O_RDONLY)
    refused(errno.EBADF, reader.write, 0, b"0\n")
    writer = shell.tree.open("tracing_on", os.O_WRONLY)
    refused(errno.EBADF, writer.read, 0, 10)
    assert writer.write(0, b"0\n") == 2
    both = shell.tree.open("tracing_on", os.O_RDWR)
    assert both.ready
    assert both.read(0, 10) == b"0\n"
    for file in (reader, writer, both):
        file.close()


def test_no_function_of_the_tree_is_traced(shell: Shell) -> None:
    shell.echo("function\n", "current_tracer")
    shell.tree.list("events/py")
    shell.cat("saved_cmdlines")
    shell.cat("trace")
    shell.echo(":mod:nosuch\n", "set_ftrace_filter")
    names = re.findall(r": (funcgraph\.\S+)", shell.cat("trace"))
    assert names == []


# ---- lists


def test_truncation_empties_a_list_and_appending_extends_it(shell: Shell) -> None:
    shell.echo("a.* b.*\n", "set_ftrace_filter")
    shell.echo("c.f\n", "set_ftrace_filter", append=True)
    assert shell.cat("set_ftrace_filter") == "a.*\nb.*\nc.f\n"
    shell.echo("!b.*\n", "set_ftrace_filter", append=True)
    assert shell.cat("set_ftrace_filter") == "a.*\nc.f\n"
    shell.write("set_ftrace_filter", b"d.f\n")  # neither O_TRUNC nor O_APPEND: it adds
    assert shell.cat("set_ftrace_filter") == "a.*\nc.f\nd.f\n"
    for path, empty in (
        ("set_ftrace_filter", "#### all functions enabled ####\n"),
        ("set_ftrace_pid", "no pid\n"),
    ):
        shell.tree.open(path, os.O_WRONLY | os.O_TRUNC).close()
        assert shell.cat(path) == empty


def test_a_list_keeps_tracing_until_the_first_write_replaces_it(shell: Shell) -> None:
    """Broken by emptying it at open(): every function would be traced in between."""
    shell.echo("a.f\n", "set_ftrace_filter")
    file = shell.tree.open("set_ftrace_filter", os.O_WRONLY | os.O_TRUNC)
    assert shell.cat("set_ftrace_filter") == "a.f\n"
    file.write(0, b"b.f\n")
    assert shell.cat("set_ftrace_filter") == "b.f\n"
    file.write(4, b"c.f\n")
    file.close()
    assert shell.cat("set_ftrace_filter") == "b.f\nc.f\n"


def test_a_refused_write_keeps_the_list(shell: Shell) -> None:
    shell.echo("a.f\n", "set_ftrace_filter")
    refused(errno.EINVAL, shell.echo, "#x\n", "set_ftrace_filter")
    assert shell.cat("set_ftrace_filter") == "a.f\n"


def test_a_word_may_go_on_in_the_next_write(shell: Shell) -> None:
    """Shells write in pieces of 4096 bytes."""
    wanted = [f"modulé{number}.*" for number in range(2000)]
    data = "\n".join(wanted).encode()
    file = shell.tree.open("set_ftrace_filter", os.O_WRONLY | os.O_TRUNC)
    for at in range(0, len(data), 1021):
        assert file.write(at, data[at : at + 1021]) == len(data[at : at + 1021])
    file.close()
    assert shell.cat("set_ftrace_filter").splitlines() == wanted


def test_the_only_word_without_an_end_replaces_the_list(shell: Shell) -> None:
    shell.echo("a.f\n", "set_ftrace_filter")
    shell.echo("b.f", "set_ftrace_filter")
    assert shell.cat("set_ftrace_filter") == "b.f\n"


def test_a_trigger_file_opened_anew_loses_its_histograms(shell: Shell) -> None:
    trigger = "events/py/raise/trigger"
    shell.echo("traceoff\n", trigger, append=True)
    shell.echo("hist:keys=line\n", trigger, append=True)
    assert "hist:keys=line" in shell.cat(trigger)
    shell.tree.open(trigger, os.O_WRONLY | os.O_TRUNC).close()
    assert shell.cat(trigger) == "traceoff:unlimited\n"
    shell.echo("!traceoff\n", trigger)


# ---- events


def test_definitions_one_a_line(shell: Shell) -> None:
    shell.echo(f"f:shop/one {HERE}.leaf\n# nothing\nf:shop/two {HERE}.outer\n", "dynamic_events")
    assert "shop" in shell.tree.list("events")
    assert shell.tree.list("events/shop") == ["enable", "filter", "one", "two"]
    shell.echo("1\n", "events/shop/one/enable")
    assert shell.cat("events/shop/enable") == "X\n"
    leaf()
    assert "one: (" in shell.cat("trace")
    refused(errno.EBUSY, shell.tree.open, "dynamic_events", os.O_WRONLY | os.O_TRUNC)
    assert len(shell.cat("dynamic_events").splitlines()) == 2
    shell.echo("0\n", "events/shop/one/enable")
    shell.tree.open("dynamic_events", os.O_WRONLY | os.O_TRUNC).close()
    assert shell.cat("dynamic_events") == ""
    refused(errno.ENOENT, shell.tree.stat, "events/shop")


def test_error_log_is_emptied_by_truncation(shell: Shell) -> None:
    refused(errno.EINVAL, shell.echo, f"f:1x {HERE}.leaf\n", "dynamic_events", True)
    assert "Command: f:1x" in shell.cat("error_log")
    shell.echo("x\n", "error_log", append=True)
    assert "Command: f:1x" in shell.cat("error_log")
    shell.echo("\n", "error_log")
    assert shell.cat("error_log") == ""


# ---- the buffer


@pytest.mark.parametrize(("flags", "cleared"), [(os.O_TRUNC, True), (os.O_APPEND, False), (0, True)])
def test_who_clears_the_trace(shell: Shell, flags: int, cleared: bool) -> None:
    shell.echo("hello\n", "trace_marker")
    shell.write("trace", b"\n", flags)
    assert ("hello" in shell.cat("trace")) is not cleared


def test_opening_the_trace_with_truncation_is_enough(shell: Shell) -> None:
    shell.echo("hello\n", "trace_marker")
    shell.tree.open("trace", os.O_WRONLY | os.O_TRUNC).close()
    assert "hello" not in shell.cat("trace")


def test_a_marker_is_taken_a_page_at_a_time(shell: Shell) -> None:
    text = "é" * 4000
    assert shell.write("trace_marker", b"x" + text.encode()) == 4095  # no character is cut
    shell.echo("0\n", "tracing_on")
    assert shell.cat("trace").count("é") > 3990  # the engine goes on in another record every 992 bytes
    refused(errno.EBADF, shell.echo, "late\n", "trace_marker")


def test_free_buffer_acts_when_it_is_closed(shell: Shell) -> None:
    shell.echo("hello\n", "trace_marker")
    file = shell.tree.open("free_buffer", os.O_WRONLY)
    assert file.write(0, b"x\n") == 2
    assert "hello" in shell.cat("trace")
    file.close()
    assert "hello" not in shell.cat("trace")
    assert shell.cat("buffer_size_kb") == "32\n"


# ---- pipes


def test_a_pipe_takes_what_it_reads(shell: Shell) -> None:
    traced(shell)
    pipe = shell.tree.open("trace_pipe", os.O_RDONLY)
    assert not pipe.ready
    with pytest.raises(BlockingIOError):
        pipe.read(0, 100)
    outer()
    assert pipe.ready
    whole = shell.cat("trace")
    first = pipe.read(0, 10)
    rest = b"".join(iter(lambda: pipe.read(0, 37) if pipe.ready else b"", b""))
    assert first + rest == "".join(f"{line}\n" for line in whole.split("\n")[4:-1]).encode()
    assert "leaf" not in shell.cat("trace")
    leaf()
    assert b"leaf" in pipe.read(0, 1000)
    pipe.close()


def test_a_pipe_ends_when_tracing_is_off_and_it_has_read_something(shell: Shell) -> None:
    traced(shell)
    pipe = shell.tree.open("trace_pipe", os.O_RDONLY)
    shell.echo("0\n", "tracing_on")
    assert not pipe.ready
    with pytest.raises(BlockingIOError):
        pipe.read(0, 100)
    shell.echo("1\n", "tracing_on")
    leaf()
    shell.echo("0\n", "tracing_on")
    assert b"leaf" in pipe.read(0, 1000)
    assert pipe.ready
    assert pipe.read(0, 1000) == b""
    pipe.close()


def test_a_pipe_has_one_reader_and_keeps_the_tracer(shell: Shell) -> None:
    pipe = shell.tree.open("trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.tree.open, "trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.tree.open, "per_cpu/cpu0/trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.echo, "function\n", "current_tracer")
    assert shell.write("trace_options", b"nooverwrite\n") == 12
    pipe.close()
    lane = shell.tree.open("per_cpu/cpu0/trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.tree.open, "trace_pipe", os.O_RDONLY)
    refused(errno.EBUSY, shell.tree.open, "per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY)
    lane.close()
    shell.tree.open("trace_pipe", os.O_RDONLY).close()


def test_a_write_to_a_pipe_is_refused(shell: Shell) -> None:
    refused(errno.EINVAL, shell.write, "trace_pipe", b"x\n")


# ---- lanes


def test_a_lane_is_the_number_in_the_text(shell: Shell) -> None:
    traced(shell)
    together(3)
    shell.echo("0\n", "tracing_on")
    whole = shell.cat("trace").splitlines()
    assert shell.tree.list("per_cpu") == ["cpu0", "cpu1", "cpu2"]
    for lane in range(3):
        own = [line for line in whole if line.startswith(f" {lane}) ") and "=>" not in line]
        shown = shell.cat(f"per_cpu/cpu{lane}/trace").splitlines()
        assert [line for line in shown if "=>" not in line and line.startswith(" ")] == own
        assert len(own) == 3
    refused(errno.ENOENT, shell.tree.stat, "per_cpu/cpu3")
    refused(errno.ENOENT, shell.tree.stat, "per_cpu/cpu00/trace")
    assert shell.cat("tracing_cpumask") == "7\n"
    assert len(shell.cat("saved_cmdlines").splitlines()) == 3


def test_a_pipe_of_a_lane_leaves_the_others_theirs(shell: Shell) -> None:
    traced(shell)
    together(3)
    shell.echo("0\n", "tracing_on")
    wanted = {
        lane: [
            line
            for line in shell.cat("trace").splitlines()
            if line.startswith(f" {lane}) ") and "=>" not in line
        ]
        for lane in range(3)
    }
    assert shell.cat("per_cpu/cpu1/trace_pipe").splitlines() == wanted[1]
    assert "read events: 4\n" in shell.cat("per_cpu/cpu1/stats")
    assert "read events: 0\n" in shell.cat("per_cpu/cpu0/stats")
    assert shell.cat("per_cpu/cpu1/trace_pipe") == ""
    rest = shell.cat("trace_pipe")
    assert sorted(line for line in rest.splitlines() if "()" in line) == sorted(
        line for lane in (0, 2) for line in wanted[lane] if "()" in line
    )
    assert shell.cat("trace_pipe") == ""


def test_the_figures_of_a_lane(shell: Shell) -> None:
    traced(shell)
    outer()
    lines = dict(line.split(": ", 1) for line in shell.cat("per_cpu/cpu0/stats").splitlines())
    assert list(lines) == [
        "entries",
        "overrun",
        "commit overrun",
        "bytes",
        "oldest event ts",
        "now ts",
        "dropped events",
        "read events",
    ]
    assert lines["entries"] == "6"
    assert int(lines["bytes"]) > 6 * 16
    assert 0 < float(lines["oldest event ts"]) < float(lines["now ts"])


def test_losses_are_counted(shell: Shell) -> None:
    shell.echo("32\n", "buffer_size_kb")
    traced(shell)
    for _ in range(3000):
        outer()
    assert int(re.findall(r"\noverrun: (\d+)", shell.cat("per_cpu/cpu0/stats"))[0]) > 0


# ---- threads and functions


def test_functions(shell: Shell) -> None:
    assert f"{HERE}.leaf\n" in shell.cat("available_filter_functions")
    assert shell.cat("enabled_functions") == ""
    traced(shell)
    assert shell.cat("enabled_functions") == "".join(
        f"{HERE}.{name} (1)\n" for name in ("leaf", "meet", "outer")
    )


def test_threads_are_named(shell: Shell) -> None:
    traced(shell)
    thread = threading.Thread(target=outer, name="worker")
    thread.start()
    thread.join()
    line = re.search(r"^(\d+) worker$", shell.cat("saved_cmdlines"), re.MULTILINE)
    assert line
    assert f"{line[1]} {os.getpid()}\n" in shell.cat("saved_tgids")
    shell.echo("1\n", "saved_cmdlines_size")
    outer()
    assert len(shell.cat("saved_cmdlines").splitlines()) == 1
    shell.echo("4096\n", "saved_cmdlines_size")


def test_the_profile_is_one_table(shell: Shell) -> None:
    shell.echo(f"{HERE}.leaf\n", "set_ftrace_filter")
    shell.echo("1\n", "function_profile_enabled")
    outer()
    shell.echo("0\n", "function_profile_enabled")
    assert shell.tree.list("trace_stat") == ["function0"]
    assert re.search(rf"{HERE}\.leaf +2 ", shell.cat("trace_stat/function0"))
    refused(errno.ENOENT, shell.tree.stat, "trace_stat/function")
