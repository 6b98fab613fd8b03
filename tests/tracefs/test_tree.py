"""The tree of tracefs: folders, modes, how files open and read, what they tell, as in the kernel."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Iterator

import pytest
from tracefs_shell import Shell
from tree_calls import HERE, end, leaf, outer, refused, traced

import funcgraph
from funcgraph.settings.table import TOP
from funcgraph.tracefs.interface import Tree as AnyTree
from funcgraph.tracefs.tree import Tree

pytestmark = pytest.mark.one_python


@pytest.fixture
def shell() -> Iterator[Shell]:
    tree: AnyTree = Tree()  # mypy: it is one
    yield Shell(tree)
    end()


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
    shell.cat("trace_pipe")
    assert line[0] in shell.cat("saved_cmdlines")  # the reader of a pipe still needs the name
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
