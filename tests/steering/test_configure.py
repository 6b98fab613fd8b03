"""What `start` and `set` ask reaches the file of each setting, all of it or nothing."""

from __future__ import annotations

import argparse
from errno import EINVAL, EOPNOTSUPP

import pytest

import funcgraph
from funcgraph.cli import load, parser_of
from funcgraph.command_support.instance_flags import instance_requests
from funcgraph.command_support.messages import CommandError
from funcgraph.commands import set as set_command
from funcgraph.settings.table import BY_NAME, FLAG, SETTINGS
from funcgraph.steering.changes import Changes
from funcgraph.steering.configure import STEERED, InstanceRequest, InvalidSettingError, apply, begin
from funcgraph.steering.events import EventRequest, NoEventError
from funcgraph.steering.folder import Process
from steering.local import LocalRemote

pytestmark = pytest.mark.one_python

#: Setting -> the words after its flag, and what its file holds then.
VALUES = {
    "tracer": ("function", "function\n"),
    "filter": ("work.*", "work.pay\nwork.price\n"),
    "notrace": ("work.price", "work.price\n"),
    "graph": ("work.pay", "work.pay\n"),
    "graph_notrace": ("work.price", "work.price\n"),
    "tids": ("77", "77\n"),
    "notrace_tids": ("76", "76\n"),
    "event_tids": ("78", "78\n"),
    "event_notrace_tids": ("79", "79\n"),
    "max_graph_depth": ("3", "3\n"),
    "thresh_us": ("50", "50\n"),
    "redact": ("password|token", "password|token\n"),
    "values": ("2", "2\n"),
    "string_size": ("100", "100\n"),
    "buffer_kb": ("512", "512\n"),
    "clock": ("global", None),
}


def expected(*words: str) -> list[InstanceRequest]:
    args = parser_of(set_command).parse_args([*words])
    return instance_requests(args)


def files_of(process: Process, name: str = "") -> dict[str, str]:
    """Return what each file of a setting or an option holds."""
    folder = process.instance(name)
    files = [one.file for one in SETTINGS if one.file and one.access == "rw" and one.kind != "text"]
    files += [f"options/{option}" for option in folder.names("options")]
    return {file: folder.read(file) for file in [*files, "set_event"]}


@pytest.mark.parametrize("setting", [one for one in STEERED if one.file and one.name != "options"], ids=repr)
def test_each_setting_with_a_flag_is_written_to_its_file(process: Process, setting: object) -> None:
    """Broken by a setting in the table that `set` does not write."""
    name = setting.name  # type: ignore[attr-defined]
    word, text = VALUES[name]
    (one,) = expected(BY_NAME[name].flag, word)
    with Changes() as changes:
        apply(process, one, changes)
    held = process.instance().read(BY_NAME[name].file)
    assert held == text if text else f"[{word}]" in held


def test_a_flag_without_a_file_is_the_option_of_the_tracer(process: Process, top: funcgraph.Instance) -> None:
    for tracer, option, other in (
        ("function", "func-args", "funcgraph-args"),
        ("function_graph", "funcgraph-args", "func-args"),
    ):
        top.options[option] = top.options[other] = False
        apply(process, expected("-p", tracer, "--args")[0], Changes())
        assert top.options[option] and not top.options[other]


def test_options_are_set_one_by_one(process: Process, top: funcgraph.Instance) -> None:
    apply(process, expected("-O", "funcgraph-tail", "-O", "nofuncgraph-cpu")[0], Changes())
    assert top.options["funcgraph-tail"] and not top.options["funcgraph-cpu"]


def test_set_changes_nothing_that_is_not_given(process: Process, remote: LocalRemote) -> None:
    apply(process, expected("-l", "work.*")[0], Changes())
    assert [path for path, _, _ in remote.written] == ["set_ftrace_filter"]


def test_begin_stops_first_and_records_last(process: Process, remote: LocalRemote) -> None:
    begin(process, InstanceRequest(settings={"filter": ["work.*"], "tracer": "function"}), Changes())
    paths = [path for path, _, _ in remote.written]
    assert paths[0] == paths[-1] == "tracing_on"
    assert paths.index("set_ftrace_filter") < len(paths) - 1 - paths[::-1].index("current_tracer")
    assert remote.written[0][1] == "0\n" and remote.written[-1][1] == "1\n"


def test_begin_ends_what_ran_before(process: Process, top: funcgraph.Instance) -> None:
    top.events["py/raise"].enable = True
    top.set_ftrace_pid = [77]
    begin(process, InstanceRequest(settings={"tracer": "function"}), Changes())
    assert not top.events["py/raise"].enable and top.set_ftrace_pid == ()


@pytest.mark.parametrize("refused", ["current_tracer", "options/funcgraph-args", "buffer_size_kb"])
def test_a_refusal_leaves_all_as_it_was(
    process: Process, remote: LocalRemote, top: funcgraph.Instance, refused: str
) -> None:
    top.set_ftrace_filter = ["work.pay"]
    top.current_tracer = "function"
    top.events["py/raise"].enable = True
    top.trace_clock = "global"
    before = files_of(process)
    (one,) = expected("-l", "x.*", "-n", "y.*", "-C", "mono", "--args", "-b", "512", "-p", "function_graph")
    remote.refused[refused] = EINVAL
    change = apply if refused == "current_tracer" else begin
    with pytest.raises(OSError, match="refuses"), Changes() as changes:
        change(process, one, changes)
    remote.refused.clear()
    assert files_of(process) == before


def test_an_instance_that_was_made_is_removed_after_a_refusal(process: Process) -> None:
    with pytest.raises(OSError, match="tracer"), Changes() as changes:
        apply(process, InstanceRequest("orders", {"tracer": "nonsense"}), changes)
    assert process.instances() == []


def test_an_unknown_option_is_refused_with_the_flag(process: Process) -> None:
    with pytest.raises(InvalidSettingError, match=r"^-O funcgraph-arg: must be one of .*did you mean"):
        apply(process, expected("-O", "funcgraph-arg")[0], Changes())


def test_options_after_an_instance_are_for_that_instance() -> None:
    first, second, third = expected("-l", "a.*", "-B", "x", "-l", "b.*", "-B", "y", "-e", "py")
    assert (first.name, first.settings) == ("", {"filter": ["a.*"]})
    assert (second.name, second.settings) == ("x", {"filter": ["b.*"]})
    assert (third.name, third.events) == ("y", [EventRequest("py")])


def test_without_options_the_top_instance_is_left_alone() -> None:
    (one,) = expected("-B", "x", "-l", "b.*")
    assert one.name == "x"


def test_the_tracer_is_function_graph_unless_events_are_asked_for() -> None:
    args = argparse.Namespace(
        requests=[InstanceRequest(), InstanceRequest("x", events=[EventRequest("py")]), InstanceRequest("y")]
    )
    found = instance_requests(args, tracer="function_graph")
    assert [(one.name, one.settings) for one in found] == [("x", {}), ("y", {"tracer": "function_graph"})]


# ---- events


def test_an_event_gets_its_filter_and_its_triggers(process: Process, top: funcgraph.Instance) -> None:
    (one,) = expected("-e", "py:raise", "-f", 'type ~ "Key*"', "-R", 'traceoff:3 if type == "No"')
    apply(process, one, Changes())
    event = top.events["py/raise"]
    assert event.enable and event.filter == 'type ~ "Key*"' and "traceoff:count=3" in event.trigger


def test_of_a_group_the_events_are_switched_on_that_the_python_tells(
    process: Process, remote: LocalRemote, top: funcgraph.Instance
) -> None:
    """CPython 3.11 tells no py:reraise."""
    remote.refused["events/py/reraise/enable"] = EOPNOTSUPP
    apply(process, expected("-e", "py:*raise")[0], Changes())
    assert top.events["py/raise"].enable
    with pytest.raises(OSError, match="refuses"):
        apply(process, expected("-e", "py:reraise")[0], Changes())


def test_negated_events_are_switched_off(process: Process, top: funcgraph.Instance) -> None:
    apply(process, expected("-e", "py", "-v", "-e", "py:raise")[0], Changes())
    assert not top.events["py/raise"].enable
    assert any(top.events[name].enable for name in top.events if name.startswith("py/"))


def test_a_definition_is_made_and_taken_back(process: Process, top: funcgraph.Instance) -> None:
    changes = Changes()
    apply(process, expected("-e", "f:orders/paid work.pay amount")[0], changes)
    assert top.events["orders/paid"].enable
    changes.take_back()
    assert "paid" not in process.instance().read("dynamic_events")


def test_a_definition_that_is_there_is_used(process: Process, top: funcgraph.Instance) -> None:
    for _ in range(2):
        apply(process, expected("-e", "f:orders/paid work.pay amount")[0], Changes())
    assert process.instance().read("dynamic_events").count("orders/paid") == 1


def test_an_instance_has_the_events_of_the_process(process: Process, top: funcgraph.Instance) -> None:
    funcgraph.Instance("a")
    apply(process, expected("-e", "f:orders/paid work.pay amount")[0], Changes())
    assert sorted(process.instance("a").event_names()) == sorted(process.instance().event_names())


def test_an_unknown_event_is_refused(process: Process, top: funcgraph.Instance) -> None:
    with pytest.raises(NoEventError, match=r"no such event: 'py:rais'; did you mean 'py:raise'"):
        apply(process, expected("-e", "py:rais")[0], Changes())


def test_every_flag_is_of_one_setting() -> None:
    assert len({one.flag for one in STEERED}) == len(STEERED)
    assert {one.name for one in STEERED if one.kind == FLAG} == {"args", "retval"}


@pytest.mark.parametrize("command", ["record", "start", "set", "trace"])
@pytest.mark.parametrize("option", ["-f", "-R"])
def test_a_filter_or_trigger_without_an_event_is_refused_in_the_same_words(command: str, option: str) -> None:
    """Broken by a command that parses these options by itself. An event of another instance is none."""
    for words in ([option, "x"], ["-e", "py/raise", "-B", "two", option, "x"]):
        with pytest.raises(CommandError, match=f"argument {option}: must come after the -e that it is for"):
            parser_of(load(command)).parse_args([*words, "1"])
