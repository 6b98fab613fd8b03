"""The files of an instance as text: what each prints, takes, and refuses with which number.

A Linux kernel gave these texts and numbers for the same writes; the functions' names are ours.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from traced import leaf, outer

import funcgraph
from funcgraph.instance.control_files.files import Files
from funcgraph.settings.table import BY_FILE, OPTIONS

pytestmark = pytest.mark.one_python

ALL_ENABLED = "#### all functions enabled ####\n"
NONE_DISABLED = "#### no functions disabled ####\n"
OF_BUFFER = (
    "trace",
    "trace_pipe",
    "snapshot",
    "trace_stat/function",
    "trace_marker",
    "trace_marker_raw",
)
OF_PROCESS = (
    "README",
    "available_filter_functions",
    "available_filter_functions_addrs",
    "kallsyms",
    "enabled_functions",
    "printk_formats",
    "saved_cmdlines",
    "saved_cmdlines_size",
    "saved_tgids",
    "tracing_cpumask",
    "timestamp_mode",
    "buffer_subbuf_size_kb",
    "free_buffer",
)
PATTERN_FILES = ("set_ftrace_filter", "set_ftrace_notrace", "set_graph_function", "set_graph_notrace")
NUMBER_FILES = ("max_graph_depth", "tracing_thresh", "tracing_max_latency", "buffer_size_kb")
FLAG_FILES = ("tracing_on", "function_profile_enabled")


@pytest.fixture
def instance() -> Iterator[funcgraph.Instance]:
    with funcgraph.Instance("files") as instance:
        yield instance


@pytest.fixture
def files(instance: funcgraph.Instance) -> Files:
    return instance.files


#: As trace_options has them of a new instance, after `overwrite`.
OTHER_OPTIONS = "nodisplay-graph\nnostacktrace\nnoevent-fork\nnofunction-fork\nnosym-offset\nbrief-calls\n"


def refused(files: Files, name: str, text: str, number: int, append: bool = False) -> str:
    """Write a text that the file refuses; return the message. Nothing has changed."""
    writable = name in files and files.access(name) == "rw"
    before = files.read(name) if writable else None
    with pytest.raises(OSError) as caught:
        files.write(name, text, append)
    assert caught.value.errno == number, (name, text, caught.value)
    if before is not None:
        assert files.read(name) == before
    return caught.value.strerror or ""


# ---- the folder


def test_there_are_the_tables_files_and_one_for_each_option(files: Files) -> None:
    empty = ("dynamic_events", "kprobe_events", "synthetic_events", "error_log", "set_event")
    empty += ("available_events", "kprobe_profile", "show_event_filters", "show_event_triggers")
    of_events = (*empty, *(f"events/{name}" for name in ("header_event", "header_page", "enable")))
    of_a_lane = ("buffer_size_kb", "snapshot", "stats", "trace", "trace_pipe", "trace_pipe_raw")
    cpus = range(os.sysconf("SC_NPROCESSORS_CONF"))
    of_lanes = [f"per_cpu/cpu{cpu}/{name}" for cpu in cpus for name in of_a_lane]
    others = [name for name in files if name.count("/") < 2 or not name.startswith("events/")]
    options = [f"options/{name}" for name in OPTIONS]
    assert others == [*BY_FILE, *OF_BUFFER, *options, *OF_PROCESS, *of_lanes, *of_events]
    assert len(files) == len(list(files))
    assert "current_tracer" in files
    assert "options/overwrite" in files
    assert "options/nosuch" not in files
    assert "README.md" not in files
    empty += ("set_event_pid", "set_event_notrace_pid", "enabled_functions", "printk_formats")
    empty += ("saved_cmdlines", "saved_tgids")
    for name in files:
        is_full = name not in empty and not name.endswith(("/hist", "trace_pipe", "trace_pipe_raw"))
        if is_full and "r" in files.access(name):
            assert files[name].endswith("\n"), name


def test_a_new_instance_reads_as_the_kernels(files: Files) -> None:
    held = {name: files[name] for name in BY_FILE if name != "trace_options"}
    assert held == {
        "current_tracer": "nop\n",
        "set_ftrace_filter": ALL_ENABLED,
        "set_ftrace_notrace": NONE_DISABLED,
        "set_graph_function": ALL_ENABLED,
        "set_graph_notrace": NONE_DISABLED,
        "set_ftrace_pid": "no pid\n",
        "set_ftrace_notrace_pid": "no pid\n",
        "set_event_pid": "",
        "set_event_notrace_pid": "",
        "max_graph_depth": "0\n",
        "tracing_thresh": "0\n",
        "value_depth": "0\n",
        "value_string_size": "0\n",
        "value_redact": "\n",
        "buffer_size_kb": "1408\n",
        "buffer_total_size_kb": "1408\n",
        "trace_clock": "local global counter uptime perf [mono] mono_raw boot tai x86-tsc\n",
        "tracing_on": "1\n",
        "tracing_max_latency": "0\n",
        "function_profile_enabled": "0\n",
        "available_tracers": "function_graph function nop loopblock wakeup gilwait\n",
    }
    assert files["trace"].startswith("# tracer: nop\n")
    assert files["trace_options"] == f"overwrite\n{OTHER_OPTIONS}"


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("nosuch", errno.ENOENT),
        ("", errno.ENOENT),
        ("options/nosuch", errno.ENOENT),
        ("options/", errno.ENOENT),
        ("options", errno.EISDIR),
        ("instances/one", errno.ENOENT),
    ],
)
def test_a_file_that_does_not_exist(files: Files, name: str, number: int) -> None:
    for access in (files.read, lambda name: files.write(name, "1")):
        with pytest.raises(OSError) as caught:
            access(name)
        assert caught.value.errno == number


def test_files_that_cannot_be_read_or_written(files: Files) -> None:
    for name in ("available_tracers", "buffer_total_size_kb"):
        assert "read-only" in refused(files, name, "x\n", errno.EINVAL)
    with pytest.raises(OSError, match="write-only") as caught:
        files.read("trace_marker")
    assert caught.value.errno == errno.EINVAL


def test_a_closed_instance_has_no_files() -> None:
    with funcgraph.Instance("files") as instance:
        pass
    for access in (instance.files.read, lambda name: instance.files.write(name, "nop")):
        with pytest.raises(OSError, match="closed") as caught:
            access("current_tracer")
        assert caught.value.errno == errno.ENODEV


def test_a_text_is_a_str(files: Files) -> None:
    with pytest.raises(TypeError, match="must be a str, not bytes"):
        files.write("current_tracer", b"nop")  # type: ignore[arg-type]


# ---- the tracer


def test_current_tracer(files: Files, instance: funcgraph.Instance) -> None:
    for text in (" function_graph\n", "function_graph", "function_graph   "):
        files["current_tracer"] = "nop\n"
        files["current_tracer"] = text
        assert files["current_tracer"] == "function_graph\n"
    for text in ("junk\n", "function_grap\n", "function_graphx\n", "\n", "", "x" * 120, "nop nop"):
        assert "must be one of function_graph, function, nop" in refused(
            files, "current_tracer", text, errno.EINVAL
        )
    assert "; did you mean 'function_graph'?" in refused(
        files, "current_tracer", "function_grap", errno.EINVAL
    )
    assert "; did you mean 'current_tracer'?" in refused(files, "curent_tracer", "nop", errno.ENOENT)
    assert instance.current_tracer == "function_graph"


def test_current_tracer_is_busy_while_the_pipe_is_open(files: Files, instance: funcgraph.Instance) -> None:
    with instance.trace_pipe():
        refused(files, "current_tracer", "function", errno.EBUSY)


def test_a_tracer_that_finds_no_slot() -> None:
    free = 64 - len(funcgraph.users())
    many = [funcgraph.Instance(f"i{number}", tracer="function", filter=["no.*"]) for number in range(free)]
    try:
        assert "slot" in refused(many[-1].files, "function_profile_enabled", "1", errno.ENOSPC)
    finally:
        for instance in many:
            instance.close()


# ---- numbers and flags


@pytest.mark.parametrize("name", [*NUMBER_FILES, *FLAG_FILES, "options/overwrite"])
def test_numbers_are_read_as_the_kernel_reads_them(files: Files, name: str) -> None:
    for text in ("junk\n", "-1\n", "\n", "", "1x\n", "0x10\n", " 1\n", "1 \n", "1\n\n", "1 2", "\u0661"):
        assert "must be" in refused(files, name, text, errno.EINVAL)
    for text in ("99999999999999999999999\n", "18446744073709551616", "9" * 5000):
        refused(files, name, text, errno.ERANGE)


@pytest.mark.parametrize("name", NUMBER_FILES)
def test_numbers(files: Files, name: str) -> None:
    for text, held in (("64\n", "64\n"), ("100", "100\n"), ("+00128\n", "128\n")):
        files[name] = text
        assert files[name] == held
    setting = BY_FILE[name]
    assert f"from {setting.least} to {setting.most}" in refused(
        files, name, str(setting.most + 1), errno.EINVAL
    )


def test_a_buffer_that_is_too_small_gets_the_least_size(files: Files) -> None:
    files["buffer_size_kb"] = "2\n"
    assert (files["buffer_size_kb"], files["buffer_total_size_kb"]) == ("32\n", "32\n")
    refused(files, "buffer_size_kb", "0\n", errno.EINVAL)


@pytest.mark.parametrize("name", FLAG_FILES)
def test_each_number_but_zero_turns_a_flag_on(files: Files, name: str) -> None:
    for text, held in (("0\n", "0\n"), ("2\n", "1\n"), ("0", "0\n"), ("10\n", "1\n"), ("1", "1\n")):
        files[name] = text
        assert files[name] == held


# ---- options


def test_an_options_file_takes_0_and_1(files: Files, instance: funcgraph.Instance) -> None:
    for text in ("2\n", "10\n"):
        refused(files, "options/funcgraph-cpu", text, errno.EINVAL)
    files["options/funcgraph-tail"] = "1\n"
    assert files["options/funcgraph-tail"] == "1\n"
    assert instance.options["funcgraph-tail"]
    files["options/funcgraph-tail"] = "0"
    assert not instance.options["funcgraph-tail"]


def test_options_that_exclude_each_other(files: Files) -> None:
    files["options/func-args"] = "1"
    assert "cannot be on together" in refused(files, "options/func-no-repeats", "1", errno.EINVAL)


def test_trace_options_takes_one_option_of_the_current_tracer(files: Files) -> None:
    for text in ("nosuch\n", "nonooverwrite\n", "\n", "funcgraph-cpu\n", "overwrite display-graph", "no"):
        refused(files, "trace_options", text, errno.EINVAL)
    files["trace_options"] = " nooverwrite \n"
    assert files["trace_options"] == f"nooverwrite\n{OTHER_OPTIONS}"
    files["current_tracer"] = "function_graph"
    files["trace_options"] = "nofuncgraph-cpu\n"
    lines = files["trace_options"].split()
    assert lines[:3] == ["nooverwrite", "nodisplay-graph", "nostacktrace"]
    refused(files, "trace_options", "funcgraph-junk\n", errno.EINVAL)
    refused(files, "trace_options", "func-args", errno.EINVAL)


# ---- the clock


def test_trace_clock(files: Files) -> None:
    assert "must be one of local, global" in refused(files, "trace_clock", "junk\n", errno.EINVAL)
    refused(files, "trace_clock", "\n", errno.EINVAL)
    files["trace_clock"] = "global\n"
    assert files["trace_clock"] == "local [global] counter uptime perf mono mono_raw boot tai x86-tsc\n"


# ---- filters


@pytest.mark.parametrize("name", PATTERN_FILES)
def test_patterns_are_replaced_appended_removed_and_emptied(files: Files, name: str) -> None:
    empty = files[name]
    files[name] = "a.f b.g\n"
    assert files[name] == "a.f\nb.g\n"
    files.write(name, "c.*\tb.g\n", append=True)
    assert files[name] == "a.f\nb.g\nc.*\n"
    files.write(name, "!b.g\n", append=True)
    assert files[name] == "a.f\nc.*\n"
    files.write(name, "\n", append=True)
    assert files[name] == "a.f\nc.*\n"
    files[name] = "d"
    assert files[name] == "d\n"
    for text in ("", "\n", "   \n"):
        files[name] = "d"
        files[name] = text
        assert files[name] == empty


@pytest.mark.parametrize("name", PATTERN_FILES)
def test_a_removal_takes_what_it_names_or_matches(files: Files, name: str) -> None:
    files[name] = "a.f a.g b.f :mod:a x:mod:b"
    files.write(name, "!a.*", append=True)
    assert files[name] == "b.f\n:mod:a\nx:mod:b\n"
    files.write(name, "!:mod:a !x:mod:b", append=True)
    assert files[name] == "b.f\n"
    assert "which has b.f" in refused(files, name, "!a.f", errno.EINVAL, append=True)
    for text in ("!", "!!b.f", "!*:mod:b", "!:mod:b"):
        refused(files, name, text, errno.EINVAL, append=True)
    if name.startswith("set_graph"):  # as in the kernel, where the filters take it for done
        refused(files, name, "!traced.leaf", errno.EINVAL, append=True)
    else:
        files.write(name, "!traced.leaf", append=True)
    assert files[name] == "b.f\n"
    files.write(name, "!*", append=True)
    assert "####" in files[name]
    files.write(name, "!*", append=True)
    files[name] = "a.f a.g !a.f"
    assert files[name] == "a.g\n"


@pytest.mark.parametrize("name", PATTERN_FILES)
def test_patterns_by_module(files: Files, name: str) -> None:
    files[name] = "*:mod:nosuchmod\n"
    assert files[name] == "*:mod:nosuchmod\n"
    files[name] = ":mod:traced"
    assert "traced.leaf\n" in files[name] and ":mod:" not in files[name]
    files.write(name, "!:mod:traced", append=True)
    refused(files, name, "!:mod:traced", errno.EINVAL, append=True)


@pytest.mark.parametrize("name", PATTERN_FILES)
def test_the_functions_that_a_pattern_selects_are_listed(files: Files, name: str) -> None:
    """In the order of available_filter_functions, once each; then what selects none yet."""
    files[name] = "traced.[ms]* nosuch.* traced.leaf *raced.slow\n"
    assert files[name] == "traced.leaf\ntraced.marks\ntraced.middle\ntraced.slow\nnosuch.*\n"


@pytest.mark.parametrize("name", PATTERN_FILES)
def test_a_function_that_a_pattern_selects_can_be_removed(files: Files, name: str) -> None:
    files[name] = "traced.[ms]* traced.leaf nosuch.*\n"
    files.write(name, "!traced.marks\n", append=True)
    assert files[name] == "traced.leaf\ntraced.middle\ntraced.slow\nnosuch.*\n"
    files.write(name, "!traced.l* !*raced.slow", append=True)
    assert files[name] == "traced.middle\nnosuch.*\n"


def test_a_pattern_selects_functions_that_are_defined_later(files: Files) -> None:
    files["set_ftrace_filter"] = "later_module.*\n"
    assert files["set_ftrace_filter"] == "later_module.*\n"
    exec(compile("def f(): pass", "later", "exec"), {"__name__": "later_module"})  # gone at once
    held: dict[str, object] = {"__name__": "later_module"}
    exec(compile("def f(): pass", "later", "exec"), held)
    assert files["set_ftrace_filter"] == "later_module.f\n"


@pytest.mark.parametrize("name", PATTERN_FILES)
def test_what_is_no_pattern(files: Files, name: str) -> None:
    files[name] = "kept"
    for text in ("a[b", "a:junkcmd", "a:mod:", "a:traceoff", "a:traceoff:3", "a.f b[", ALL_ENABLED):
        refused(files, name, text, errno.EINVAL)
    assert "column" in refused(files, name, "a.f b[", errno.EINVAL)


def test_a_function_command_that_is_not_set_cannot_be_taken_away(files: Files) -> None:
    for text in ("!a:traceoff", "!a:traceoff:0", "!a.*:stacktrace"):
        assert "not set" in refused(files, "set_ftrace_filter", text, errno.ENODEV, append=True)
    refused(files, "set_ftrace_filter", "!a:junkcmd", errno.EINVAL, append=True)


def test_a_number_selects_a_line_of_available_filter_functions(files: Files) -> None:
    names = funcgraph.available_filter_functions()
    files["set_ftrace_filter"] = "5\n"
    assert files["set_ftrace_filter"] == f"{names[4]}\n"
    files.write("set_ftrace_filter", "!5", append=True)
    assert files["set_ftrace_filter"] == ALL_ENABLED
    for text in ("0", "99999999"):
        assert "from 1 to" in refused(files, "set_ftrace_filter", text, errno.EINVAL)


def test_filters_written_as_text_select_calls(files: Files) -> None:
    files["set_ftrace_filter"] = "leaf:mod:traced"
    files["current_tracer"] = "function_graph"
    outer()
    assert "traced.leaf();" not in files["trace"]
    files["set_ftrace_filter"] = "*.leaf:mod:traced"
    outer()
    assert files["trace"].count("traced.leaf();") == 3
    assert "traced.outer" not in files["trace"]


# ---- threads


def test_set_ftrace_pid(files: Files) -> None:
    files["set_ftrace_pid"] = "30 10 20\n"
    files.write("set_ftrace_pid", "10\n", append=True)
    files.write("set_ftrace_pid", "5 7\n", append=True)
    assert files["set_ftrace_pid"] == "5\n7\n10\n20\n30\n"
    for text in ("junk\n", "-1\n", "!10\n", "1-5\n", "1,2\n", "0\n", "2147483648\n", "1 x"):
        refused(files, "set_ftrace_pid", text, errno.EINVAL)
    files["set_ftrace_pid"] = "\n"
    assert files["set_ftrace_pid"] == "no pid\n"


def test_set_ftrace_pid_selects_threads(files: Files) -> None:
    files["set_ftrace_filter"] = "traced.*"
    files["current_tracer"] = "function_graph"
    files["set_ftrace_pid"] = str(threading.get_native_id())
    thread = threading.Thread(target=outer)
    thread.start()
    thread.join()
    leaf(1)
    assert files["trace"].count("traced.") == 1


# ---- the trace


def test_writing_to_trace_empties_it_and_appending_does_not(files: Files) -> None:
    files["set_ftrace_filter"] = "traced.*"
    files["current_tracer"] = "function"
    leaf(1)
    files.write("trace", "x", append=True)
    assert "traced.leaf" in files["trace"]
    files["trace"] = "junk\n"
    assert "traced.leaf" not in files["trace"]


def test_snapshot_takes_frees_and_empties(files: Files) -> None:
    assert "* Snapshot is freed *" in files["snapshot"]
    files["snapshot"] = "2"  # there is none to empty
    assert "* Snapshot is freed *" in files["snapshot"]
    files["current_tracer"] = "function_graph"
    leaf(1)
    files["snapshot"] = "1\n"
    assert files["snapshot"].count("traced.leaf();") == 1
    assert "traced.leaf();" not in files["trace"]  # it left the buffer, as in the kernel
    files["snapshot"] = "7"
    assert files["snapshot"].startswith("# tracer: function_graph\n")
    assert "* Snapshot is allocated *" in files["snapshot"]
    files["snapshot"] = "0"
    assert "* Snapshot is freed *" in files["snapshot"]
    refused(files, "snapshot", "now", errno.EINVAL)


def test_trace_stat_is_the_profilers_table(files: Files, instance: funcgraph.Instance) -> None:
    files["set_ftrace_filter"] = "traced.*"
    files["function_profile_enabled"] = "1"
    leaf(1)
    files["function_profile_enabled"] = "0"
    assert "traced.leaf" in files["trace_stat/function"]
    assert files["trace_stat/function"] == instance.trace_stat()
    refused(files, "trace_stat/function", "1", errno.EINVAL)


def test_trace_marker(files: Files) -> None:
    files["trace_marker"] = "hello\n"
    files.write("trace_marker", "again", append=True)
    text = files["trace"]
    assert "hello" in text
    assert "again" in text
    files["tracing_on"] = "0"
    assert "tracing_on is 0" in refused(files, "trace_marker", "lost", errno.EBADF)
    assert "lost" not in files["trace"]


def test_raw_data_is_in_every_view_of_the_trace(
    files: Files, instance: funcgraph.Instance, tmp_path: Path
) -> None:
    for tracer in ("nop", "function_graph"):
        files["current_tracer"] = tracer
        files["trace_marker_raw"] = b"\x11\0\0\0\x44\xff".decode("latin-1")
        assert "# 11 buf: 44 ff 00 00" in files["trace"]
    instance.save(tmp_path / "raw.dat")
    with funcgraph.Trace(tmp_path / "raw.dat") as trace:
        assert [event.text for event in trace.events() if event.kind == "mark"] == ["# 11 buf: 44 ff 00 00"]
    assert b"field:unsigned int id;" in (tmp_path / "raw.dat").read_bytes()
    for text in ("abc", "x" * 993):
        assert "an id of 4 bytes" in refused(files, "trace_marker_raw", text, errno.EINVAL)
    assert "U+00FF" in refused(files, "trace_marker_raw", "abcd\u0100", errno.EINVAL)
    assert instance.trace_marker_raw.write(b"\x12\0\0\0\1") == 5
    assert "# 12 buf: 01 00 00 00" in files["trace"]
    with pytest.raises(OSError, match="an id of 4 bytes"):
        instance.trace_marker_raw.write(b"")


def test_the_files_and_the_attributes_are_the_same(files: Files, instance: funcgraph.Instance) -> None:
    instance.set_graph_function = ["a.*", "b"]
    instance.tracing_thresh = 7
    assert (files["set_graph_function"], files["tracing_thresh"]) == ("a.*\nb\n", "7\n")
    files["set_graph_function"] = "c"
    files["max_graph_depth"] = "3"
    assert (instance.set_graph_function, instance.max_graph_depth) == (("c",), 3)


def test_the_files_work_with_a_latency_tracer(files: Files) -> None:
    files["tracing_thresh"] = "100"
    files["current_tracer"] = "gilwait"
    assert files["current_tracer"] == "gilwait\n"
    assert files["tracing_thresh"] == "100\n"
    files["tracing_max_latency"] = "0"
    assert files["trace"].startswith("# tracer: gilwait\n")
    files["current_tracer"] = "nop"
