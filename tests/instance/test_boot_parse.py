"""Parsing the variable FUNCGRAPH: settings, or an error with the mistake, its place and what is right."""

from __future__ import annotations

from typing import get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcgraph import _engine
from funcgraph.boot.parameters import PARAMETERS, Allowed, BootError, BootInstance, InstanceKeywords, parse

pytestmark = pytest.mark.one_python

ALLOWED = Allowed(
    ("nop", "function_graph", "function"),
    ("funcgraph-args", "funcgraph-tail", "norm"),
    ("mono", "boot"),
    _engine.check_pattern,
)


def read(text: str) -> list[BootInstance]:
    return parse(text, ALLOWED)


def test_every_parameter_becomes_its_keyword() -> None:
    text = (
        "ftrace=function_graph ftrace_filter=a.*,b.* ftrace_notrace=a.x ftrace_graph_filter=c.run"
        " ftrace_graph_notrace=d.* ftrace_graph_max_depth=3 tracing_thresh=250"
        " trace_options=funcgraph-args,nofuncgraph-tail trace_buf_size=2M trace_clock=boot"
        " ftrace_dump_on_exit=/tmp/t.dat kprobe_event=f:g/e,m.f,n;f:e2,m.f%return,$retval"
        " trace_event=g:e,e2 trace_trigger=g:e.traceoff:1,e2.hist:keys=arg1:vals=hitcount"
        " alloc_snapshot value_depth=2 value_string_size=100 value_redact=password|token"
    )
    assert {word.partition("=")[0] for word in text.split()} == PARAMETERS.keys()
    keywords = {
        "tracer": "function_graph",
        "filter": ["a.*", "b.*"],
        "notrace": ["a.x"],
        "graph": ["c.run"],
        "graph_notrace": ["d.*"],
        "max_graph_depth": 3,
        "tracing_thresh": 250,
        "value_depth": 2,
        "value_string_size": 100,
        "value_redact": "password|token",
        "options": {"funcgraph-args": True, "funcgraph-tail": False},
        "buffer_size_kb": 2048,
    }
    types = get_type_hints(InstanceKeywords)
    assert {name: get_origin(kind) or kind for name, kind in types.items()} == {
        name: type(value) for name, value in keywords.items()
    }
    events = ["f:g/e m.f n", "f:e2 m.f%return $retval"]
    triggers = [("g:e", "traceoff:1"), ("e2", "hist:keys=arg1:vals=hitcount")]
    assert read(text) == [
        BootInstance("top", keywords, "boot", "/tmp/t.dat", events, ["g:e", "e2"], triggers, True)
    ]


def test_parameters_after_a_name_configure_that_instance() -> None:
    found = read("ftrace=function trace_instance=a,b tracing_thresh=5 trace_instance=c ftrace=function_graph")
    assert [(instance.name, instance.keywords) for instance in found] == [
        ("top", {"tracer": "function"}),
        ("a", {"tracing_thresh": 5}),
        ("b", {"tracing_thresh": 5}),
        ("c", {"tracer": "function_graph"}),
    ]


def test_without_parameters_of_its_own_there_is_no_top_instance() -> None:
    assert [instance.name for instance in read("  trace_instance=a ftrace=function\n")] == ["a"]
    assert read(" ") == []


def test_the_last_value_wins_and_options_add_up() -> None:
    (top,) = read("ftrace=nop ftrace=function trace_options=funcgraph-args trace_options=nofuncgraph-tail")
    assert top.keywords == {
        "tracer": "function",
        "options": {"funcgraph-args": True, "funcgraph-tail": False},
    }


def test_an_option_may_begin_with_no() -> None:
    (top,) = read("trace_options=norm,nonorm")
    assert top.keywords["options"] == {"norm": False}


def test_blanks_in_quotes_belong_to_the_value() -> None:
    """As the kernel's next_arg(): quotes around the value, or around the whole parameter."""
    triggers = [("a", "traceoff if n == 2"), ("b:c", "traceon if s ~ 'x,y'")]
    text = "trace_trigger={0}a.traceoff if n == 2,b:c.traceon if s ~ 'x,y'{0} ftrace=function"
    (top,) = read(text.format('"'))
    assert top.event_triggers == triggers and top.keywords == {"tracer": "function"}
    (top,) = read('"trace_trigger=a.traceoff if n == 2"')
    assert top.event_triggers == triggers[:1]
    (top,) = read('kprobe_event="f:e m.f a["x,y"];f:f m.f"'.replace("\\", ""))
    assert top.events == ['f:e m.f a["x,y"]', "f:f m.f"]


def test_events_add_up_and_belong_to_their_instance() -> None:
    found = read("trace_event=a trace_event=b:*,c trace_instance=x,y kprobe_event=f:e,m.f trace_event=e")
    assert [(one.name, one.events, one.enabled_events) for one in found] == [
        ("top", [], ["a", "b:*", "c"]),
        ("x", ["f:e m.f"], ["e"]),
        ("y", ["f:e m.f"], ["e"]),
    ]


@pytest.mark.parametrize(
    ("text", "size_kb"),
    [("32768", 32), ("32769", 33), ("64K", 64), ("64k", 64), ("3M", 3072), ("1G", 1 << 20)],
)
def test_sizes(text: str, size_kb: int) -> None:
    (top,) = read(f"trace_buf_size={text}")
    assert top.keywords == {"buffer_size_kb": size_kb}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ftrase=function", "column 1: ftrase=function: unknown parameter 'ftrase': must be one of ftrace,"),
        ("ftrace=function ftrace_filter", "column 17: ftrace_filter: no value: must be ftrace_filter=VALUE"),
        ("ftrase=function", "; did you mean 'ftrace'?"),
        ("ftrace=functoin", "; did you mean 'function'?"),
        ("ftrace=", "column 1: ftrace=: no value: must be ftrace=VALUE"),
        ("ftrace=graph", "ftrace=graph: must be one of nop, function_graph, function"),
        ("  ftrace_filter=a.*,b.[", "column 3: ftrace_filter=a.*,b.[: 'b.[': "),
        ("ftrace_filter=a,,b", "no text between two commas"),
        ("trace_options=funcgraph-colour", "'funcgraph-colour': must be one of funcgraph-args"),
        ("trace_options=nofuncgraph-colour", "'nofuncgraph-colour': must be one of"),
        ("ftrace_graph_max_depth=-1", "=-1: must be a whole number from 0 to 262143"),
        ("ftrace_graph_max_depth=262144", "a whole number from 0 to 262143"),
        ("tracing_thresh=0x10", "=0x10: must be a whole number from 0 to"),
        ("trace_buf_size=31K", "=31K: must be a size from 32K to 1024G"),
        ("trace_buf_size=K", "=K: must be a size"),
        ("trace_buf_size=12T", "=12T: must be a size"),
        ("trace_clock=x86-tsc", "=x86-tsc: must be one of mono, boot"),
        ("kprobe_event=f:e,m.f;", "no definition between two semicolons"),
        ("kprobe_event=f:e,m.f,$arg0", "'f:e m.f $arg0', column 9: Invalid argument number"),
        ("kprobe_event=f:e,m.f,n,if,m>3", "Field not found"),
        ("trace_event=a,,b", "no text between two commas"),
        ("trace_trigger=traceoff", "must be EVENT.TRIGGER, where the trigger begins with one of traceon,"),
        ("trace_trigger=a.nothing", "must be EVENT.TRIGGER"),
        ("trace_instance=a trace_instance=b,a", "column 18: trace_instance=b,a: 'a': another instance"),
        ("trace_instance=b,b", "'b': another instance has that name"),
        ("trace_instance=top", "'top': another instance has that name"),
        ("trace_instance=a/b", "'a/b': must be non-empty, contain no '/'"),
        ("trace_instance=..", "'..': must be non-empty"),
        (f"trace_instance={'x' * 64}", "at most 63 bytes"),
    ],
)
def test_an_error_names_the_mistake_its_place_and_what_is_right(text: str, message: str) -> None:
    with pytest.raises(BootError) as caught:
        read(text)
    assert str(caught.value).startswith("FUNCGRAPH, column ")
    assert message in str(caught.value)


@given(st.text(st.sampled_from(" =,abftrace_filter0123KM[]*\tinstance"), max_size=60))
def test_any_text_gives_settings_or_an_error(text: str) -> None:
    try:
        names = [instance.name for instance in read(text)]
    except BootError:
        return
    assert len(set(names)) == len(names)
