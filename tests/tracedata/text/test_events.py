"""Events that programs and their users define: from a ring's records to what people and tools see."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dat_events import MOST
from event_image import FAULT, Kind, kind_of
from ringfile import RingFile, add_ring, enter, event, leave
from tracefile import value
from tracereader import Desk, Trace, trace_cmd_compressions

import funcgraph
from funcgraph import _tracedata
from funcgraph.tracedata import Event, PartialValue, TraceError, TraceFile

pytestmark = pytest.mark.one_python

S = 1_000_000_000
CHECKOUT, MAIN = 1, 2

PAID = kind_of("fprobes", "co", 16, [("s64", "amount", 0), ("string", "user", 0)])
RETURNED = kind_of("fprobes", "cor", 24, [("s64", "ret", 0)])
TOTAL = kind_of("synthetic", "total", 8, [("u32", "n", 0)])
EVERY = kind_of(
    "own",
    "every",
    16,
    [
        *((name, name, 0) for name in ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")),
        *((name, name, 0) for name in ("x8", "x16", "x32", "x64", "f64", "bool", "char", "string")),
        *((name, name, 0) for name in ("symbol", "object", "value")),
        *(("s16", "shorts", 2), ("x32", "words", 2), ("symbol", "both", 2), ("char", "letters", 3)),
        *(("string", "texts", 2), ("value", "values", 3), ("f64", "floats", 2)),
    ],
)
EVERY_VALUE = (
    *(255, 65535, 2**32 - 1, 2**64 - 1, -5, -5, -5, -5),
    *(251, 0, 2**32 - 5, 2**64 - 5, 0.1, 1, ord("c"), "späte"),
    *(MAIN, ValueError, "it's"),
    *([-5, 7], [1, 2**31], [CHECKOUT, 0], b"a'b"),
    *(["one", ""], [None, [1, 2], FAULT], [1.0, -0.5]),
)
EVERY_TEXT = (
    "every: (shop.checkout) u8=255 u16=65535 u32=4294967295 u64=18446744073709551615 s8=-5 s16=-5 s32=-5 "
    "s64=-5 x8=0xfb x16=0x0 x32=0xfffffffb x64=0xfffffffffffffffb f64=0.1 bool=1 char='c' string=\"späte\" "
    'symbol=app.main object=<ValueError at 0x7f00deadbeef> value="it\'s" shorts={-5,7} '
    "words={0x1,0x80000000} both={shop.checkout,0x0} letters={'a','\\'','b'} "
    'texts={"one",""} values={None,list(2),(fault)} '
    "floats={1.0,-0.5}"
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def ring_with(desk: Desk, *kinds: Kind, pid: int = 4711) -> RingFile:
    """Return a ring with the functions, and with these kinds of events, numbered from 1."""
    ring = desk.ring(pid)
    ring.function(CHECKOUT, "shop.checkout")
    ring.function(MAIN, "app.main")
    ring.task(0, 70, "main")
    for number, kind in enumerate(kinds, 1):
        ring.event_type(number, kind.system, kind.name, kind.fields_at, kind.text)
    return ring


def report(path: Path, *options: str) -> list[str]:
    text = b"".join(TraceFile(path).report(dict.fromkeys(options, True))).decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


def events_of(path: Path) -> list[Event]:
    with funcgraph.open(path) as trace:
        return [event for event in trace.events() if event.kind == "event"]


# ---- the report


def test_events_stand_in_the_graph_at_the_indent_of_the_open_function(desk: Desk) -> None:
    ring = ring_with(desk, PAID, RETURNED, TOTAL)
    ring.put(
        0,
        event(S, 3, TOTAL.pack(1))
        + enter(S + 1000, MAIN)
        + enter(S + 2000, CHECKOUT, 1)
        + event(S + 3000, 1, PAID.pack(3, "x"), CHECKOUT, 2, caller=MAIN, line=12)
        + leave(S + 4000, CHECKOUT, 1, S + 2000)
        + event(S + 5000, 2, RETURNED.pack(-1), CHECKOUT, 1, caller=MAIN, line=12)
        + leave(S + 6000, MAIN, 0, S + 1000),
    )
    desk.record()
    shown = [
        "              |  /* total: n=1 */",
        "              |  app.main() {",
        "              |    shop.checkout() {",
        '              |      /* co: (shop.checkout) amount=3 user="x" */',
        "  2.000 us    |    }",
        "              |    /* cor: (app.main <- shop.checkout) ret=-1 */",
        "  5.000 us    |  }",
    ]
    assert report(desk.part) == shown
    assert report(desk.output) == shown


def test_events_are_lines_of_the_flat_layout(desk: Desk) -> None:
    ring = ring_with(desk, PAID, TOTAL)
    ring.put(0, event(S, 1, PAID.pack(-3, 'say "hi"\n'), CHECKOUT) + event(2 * S, 2, TOTAL.pack(7)))
    desk.record(meta={"tracer": "nop"})
    assert report(desk.output) == [
        '            main-70      [000]      1.000000: co: (shop.checkout) amount=-3 user="say \\"hi\\"\\n"',
        "            main-70      [000]      2.000000: total: n=7",
    ]


@pytest.mark.parametrize("tracer", ["function_graph", "nop"])
def test_a_field_of_each_type_is_shown(desk: Desk, tracer: str) -> None:
    ring_with(desk, EVERY).put(0, event(S, 1, EVERY.pack(*EVERY_VALUE), CHECKOUT))
    desk.record(meta={"tracer": tracer})
    for path in (desk.part, desk.output):
        (line,) = report(path)
        assert EVERY_TEXT in line


def test_events_of_unknown_functions_are_shown(desk: Desk) -> None:
    ring_with(desk, PAID, RETURNED).put(
        0, event(S, 1, PAID.pack(1, ""), 99) + event(S, 2, RETURNED.pack(1), CHECKOUT)
    )
    desk.record()
    assert report(desk.output) == [
        '              |  /* co: (<unknown>) amount=1 user="" */',
        "              |  /* cor: (<unknown> <- shop.checkout) ret=1 */",
    ]


# ---- funcgraph.open()


def test_an_event_has_its_name_and_its_fields_as_python_values(desk: Desk) -> None:
    ring = ring_with(desk, EVERY, RETURNED)
    ring.put(
        0,
        event(S, 1, EVERY.pack(*EVERY_VALUE), CHECKOUT)
        + event(2 * S, 2, RETURNED.pack(9), CHECKOUT, caller=MAIN),
    )
    desk.record()
    for path in (desk.part, desk.output, *map(desk.version_7, _tracedata.codec_names())):
        every, returned = events_of(path)
        assert every.type is not None
        assert (every.type.system, every.type.name, every.time_ns) == ("own", "every", S)
        assert list(every.fields) == [field.name for field in EVERY.fields]
        assert every.fields["u64"] == 2**64 - 1
        assert (every.fields["s8"], every.fields["x8"], every.fields["f64"]) == (-5, 251, 0.1)
        assert (every.fields["bool"], every.fields["char"], every.fields["string"]) == (True, "c", "späte")
        assert every.fields["symbol"] == "app.main"
        assert every.fields["object"] == PartialValue("object", "ValueError", address=0x7F00DEADBEEF)
        assert every.fields["value"] == "it's"
        assert every.fields["shorts"] == (-5, 7)
        assert every.fields["both"] == ("shop.checkout", None)
        assert every.fields["letters"] == ("a", "'", "b")
        assert every.fields["texts"] == ("one", "")
        values = every.fields["values"]
        assert values == (None, PartialValue("container", "list", 2), PartialValue("unbound"))
        assert (every.values, every.arguments, every.text, every.result) == ((), {}, None, None)
        assert returned.function is not None
        assert returned.caller is not None
        assert (returned.fields, returned.number) == ({"ret": 9}, 1)
        assert (returned.function.name, returned.caller.name) == ("shop.checkout", "app.main")


def test_other_events_have_no_fields(desk: Desk) -> None:
    ring_with(desk, PAID).put(0, enter(S, MAIN) + event(S, 1, PAID.pack(1, "x"), MAIN))
    desk.record()
    with funcgraph.open(desk.part) as trace:
        call, paid = trace.events()
    assert (call.type, dict(call.fields)) == (None, {})
    assert (paid.type, dict(paid.fields)) == (trace.event_types[0], {"amount": 1, "user": "x"})


def test_columns_say_which_event_it_is_and_where(desk: Desk) -> None:
    ring = ring_with(desk, TOTAL, RETURNED)
    ring.put(0, event(S, 2, RETURNED.pack(9), CHECKOUT, caller=MAIN) + event(S, 1, TOTAL.pack(9)))
    desk.record()
    for path in (desk.part, desk.output):
        with funcgraph.open(path) as trace:
            (batch,) = trace.columns()
            names = [trace.event_types[number].name for number in batch.number.tolist()]
        assert [batch.KINDS[kind] for kind in batch.kind.tolist()] == ["event", "event"]
        assert names == ["cor", "total"]
        assert batch.function.tolist() == [0, 2**32 - 1]
        assert batch.caller.tolist() == [1, 2**32 - 1]
        image, _ = batch.payloads()
        assert struct.unpack_from("<q", image, RETURNED.fields[0].offset) == (9,)


def test_follow_learns_new_kinds_of_events(desk: Desk) -> None:
    ring = ring_with(desk, PAID)
    recorder = desk.recorder()
    number = add_ring(recorder, ring.path)
    ring.put(0, event(S, 1, PAID.pack(1, "x"), CHECKOUT))
    recorder.drain(number)
    with funcgraph.open(desk.part) as trace:
        ring.put(0, event(2 * S, 1, PAID.pack(2, "y"), CHECKOUT))
        recorder.drain(number)
        assert [event.fields for event in trace.follow(timeout=0)] == [{"amount": 2, "user": "y"}]
        ring.event_type(7, TOTAL.system, TOTAL.name, TOTAL.fields_at, TOTAL.text)
        ring.put(0, event(3 * S, 7, TOTAL.pack(5)) + event(4 * S, 1, PAID.pack(3, "z"), CHECKOUT))
        recorder.drain(number)
        later = list(trace.follow(timeout=0))
    recorder.close()
    assert [(event.type and event.type.name, event.fields) for event in later] == [
        ("total", {"n": 5}),
        ("co", {"amount": 3, "user": "z"}),
    ]


# ---- the kinds of events of a trace


def test_equal_kinds_of_several_processes_are_one(desk: Desk) -> None:
    other = kind_of("fprobes", "co", 16, [("u8", "amount", 0)])
    for pid, kinds in ((1, (TOTAL, PAID)), (2, (PAID, other, TOTAL))):
        ring = ring_with(desk, *kinds, pid=pid)
        ring.put(0, event(S + pid, kinds.index(PAID) + 1, PAID.pack(pid, "x"), CHECKOUT))
    desk.record()
    with funcgraph.open(desk.part) as trace:
        assert [(kind.name, len(kind.fields)) for kind in trace.event_types] == [
            ("total", 1),
            ("co", 2),
            ("co", 1),
        ]
        assert [event.fields["amount"] for event in trace.events()] == [1, 2]
        assert {event.number for event in trace.events()} == {1}


@pytest.mark.parametrize(
    ("system", "name", "fields_at", "fields"),
    [
        ("", "co", 16, ""),
        ("own", "", 16, ""),
        ("own", "co", 12, ""),
        ("own", "co", 16, "u128 a 0 16"),
        ("own", "co", 16, "u8 a 0"),
        ("own", "co", 16, "u8 a 0 16 more"),
        ("own", "co", 16, "u8  0 16"),
        ("own", "co", 16, "u8 a -1 16"),
        ("own", "co", 16, "u8 a 256 16"),
        ("own", "co", 16, "u8 a 0 15"),
        ("own", "co", 16, "u16 a 0 16;u8 b 0 17"),
        ("own", "co", 16, "u8 a 0 17;u8 b 0 16"),
        ("own", "co", 16, "u64 a 0 1001"),
        ("own", "co", 16, "u64 a 200 16"),
        ("own", "co", 16, "u8 a 0 16;;u8 b 0 17"),
        ("own", "co", 16, ";".join(["u8 a 0 16"] * 129)),
        ("own", "co", 16, "u8 a 0 99999999999999999999"),
    ],
)
def test_an_event_of_no_known_kind_is_shown_as_unknown(
    desk: Desk, system: str, name: str, fields_at: int, fields: str
) -> None:
    ring = ring_with(desk)
    ring.event_type(1, system, name, fields_at, fields)
    ring.put(0, enter(S, MAIN) + event(S, 1, b"12345678", MAIN) + leave(S + 1000, MAIN, 0, S))
    desk.record()
    for path in (desk.part, desk.output):
        assert report(path)[1] == "              |    /* an event of a kind that the trace does not name */"
        with funcgraph.open(path) as trace:
            assert trace.event_types == []
            assert [event.kind for event in trace.events()] == ["entry", "other", "return"]


def test_an_event_of_no_known_kind_is_a_line_of_the_flat_layout(desk: Desk) -> None:
    ring_with(desk).put(0, event(S, 1, b"12345678", MAIN))
    desk.record(meta={"tracer": "nop"})
    assert report(desk.output) == [
        "            main-70      [000]      1.000000: /* an event of a kind that the trace does not name */"
    ]


def test_the_largest_kind_of_event_is_known(desk: Desk) -> None:
    largest = kind_of("own", "largest", 24, [("u32", f"f{i}", 0) for i in range(128)])
    ring = ring_with(desk, largest)
    ring.put(0, event(S, 1, largest.pack(*range(128)), CHECKOUT))
    desk.record()
    for path in (desk.part, desk.output):
        assert list(events_of(path)[0].fields.values()) == list(range(128))


def test_a_record_that_is_too_short_has_the_fields_that_lie_in_it(desk: Desk) -> None:
    ring = ring_with(desk, PAID)
    ring.put(
        0,
        event(S, 1, PAID.pack(3, "x")[:8], CHECKOUT)
        + event(S, 1, b"", CHECKOUT)
        + event(S, 1, PAID.pack(3, b"")[:8] + struct.pack("<HH", 28, 2000), CHECKOUT),
    )
    desk.record()
    assert report(desk.part) == [
        "              |  /* co: (shop.checkout) amount=3 user=(fault) */",
        "              |  /* co: (shop.checkout) amount=(fault) user=(fault) */",
        "              |  /* co: (shop.checkout) amount=3 user=(fault) */",
    ]
    assert [dict(event.fields) for event in events_of(desk.part)][1] == {
        "amount": PartialValue("unbound"),
        "user": PartialValue("unbound"),
    }


# ---- trace.dat


def format_of(trace: Trace, name: str) -> str:
    return next(text for text in trace.formats if text.startswith(f"name: {name}\n"))


def test_an_event_has_a_format_text_like_a_kernels_probe(desk: Desk) -> None:
    fields = [("x64", "file", 0), ("u8", "arr", 2), ("string", "name", 0), ("value", "v", 0)]
    kind = kind_of("fprobes", "myev", 24, fields)
    ring = ring_with(desk, kind, PAID, TOTAL)
    ring.put(0, event(S, 1, kind.pack(1, [1, 2], "x", None), CHECKOUT))
    trace = desk.record()
    assert trace.systems == ["funcgraph", "fprobes", "synthetic"]
    assert format_of(trace, "myev") == (
        "name: myev\n"
        "ID: 3000\n"
        "format:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
        "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
        "\n"
        "\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;\n"
        "\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;\n"
        "\tfield:u64 file;\toffset:24;\tsize:8;\tsigned:0;\n"
        "\tfield:u8 arr[2];\toffset:32;\tsize:2;\tsigned:0;\n"
        "\tfield:__data_loc char[] name;\toffset:34;\tsize:4;\tsigned:1;\n"
        "\tfield:__data_loc char[] v;\toffset:42;\tsize:4;\tsigned:1;\n"
        "\n"
        'print fmt: "(%ps <- %ps) file=0x%Lx arr={%u,%u} name=\\"%s\\" v=%s", '
        "(void *)REC->__probe_ret_ip, (void *)REC->__probe_func, REC->file, REC->arr[0], REC->arr[1], "
        "__get_str(name), __get_str(v)\n"
    )


def test_names_that_trace_cmd_would_not_read_are_changed(desk: Desk) -> None:
    kind = kind_of("größe-1", "ab-c", 8, [("u8", "1x", 0), ("value", "späte", 0)])
    ring_with(desk, kind).put(0, event(S, 1, kind.pack(1, 2)))
    trace = desk.record()
    assert trace.systems == ["funcgraph", "gr____e_1"]
    assert 'print fmt: "_1x=%u sp__te=%Ld"' in format_of(trace, "ab_c")
    assert "ab-c: 1x=1 späte=2" in report(desk.output)[0]


def test_values_are_numbers_in_the_format_if_all_are_in_the_trace(desk: Desk) -> None:
    kind = kind_of("own", "co", 8, [("value", name, 0) for name in ("all", "some", "none", "large")])
    never = kind_of("own", "never", 8, [("value", "v", 0)])
    ring = ring_with(desk, kind, never)
    ring.put(0, event(S, 1, kind.pack(1, 1, "x", 2**62)) + event(S, 1, kind.pack(-300, None, True, 2**64)))
    trace = desk.record()
    text = format_of(trace, "co")
    assert re.findall(r"field:(.*) (?:all|some|none|large);", text) == ["s64", *["__data_loc char[]"] * 3]
    assert 'print fmt: "all=%Ld some=%s none=%s large=%s"' in text
    assert "field:__data_loc char[] v;" in format_of(trace, "never")


def test_a_record_with_long_texts_is_cut_to_fit_into_a_page(desk: Desk) -> None:
    """Texts may be longer than the values that they show."""
    kind = kind_of("own", "long", 24, [("value", f"v{i}", 0) for i in range(16)])
    ring = ring_with(desk, kind)
    ring.put(0, event(S, 1, kind.pack(*[value(b"\xff" * 48)] * 15, value(b"\xff" * 40)), CHECKOUT))
    trace = desk.record()
    assert [8 + len(event.data) for event in trace.events] == [MOST]
    assert report(desk.output) == report(desk.part)
    assert events_of(desk.output)[0].fields["v15"] == b"\xff" * 40


@pytest.mark.parametrize(
    "types", [[["own", "co", 16]], [["own", "co", 16, "u8 a"]], [["own", "co", 9, ""]], [[1]], 5]
)
def test_a_trace_dat_with_damaged_kinds_of_events_is_refused(desk: Desk, types: object) -> None:
    ring_with(desk, PAID).put(0, event(S, 1, PAID.pack(1, "x"), CHECKOUT))
    desk.record()
    data = desk.output.read_bytes()
    offset, size = struct.unpack("<QQ", data[-16:])
    meta: dict[str, Any] = json.loads(data[offset : offset + size])
    text = json.dumps(meta | {"event_types": types}).encode()
    desk.output.write_bytes(data[:offset] + text + b"FGEXTRA1" + struct.pack("<QQ", offset, len(text)))
    with pytest.raises(TraceError, match="damaged"):
        b"".join(TraceFile(desk.output).report())
    with pytest.raises(TraceError, match="damaged"):
        funcgraph.open(desk.output)


# ---- trace-cmd

needs_trace_cmd = pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="trace-cmd is not installed")


@needs_trace_cmd
def test_trace_cmd_prints_every_field_as_our_report_does(desk: Desk) -> None:
    ring = ring_with(desk, EVERY, RETURNED, TOTAL)
    ring.put(
        0,
        event(S, 1, EVERY.pack(*EVERY_VALUE), CHECKOUT)
        + event(S, 2, RETURNED.pack(-1), CHECKOUT, caller=MAIN)
        + event(S, 3, TOTAL.pack(4)),
    )
    desk.record(meta={"tracer": "nop"})
    lines = [line.split(": ", 1)[1] for line in desk.trace_cmd().splitlines() if "main-70" in line]
    shown = [line.split(": ", 1)[1] for line in report(desk.output)]
    assert [re.sub(r":\s+", ": ", line, count=1) for line in lines] == shown


@needs_trace_cmd
@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("own/co: v > 3", [4, 5]),
        ('co: v == 5 || user == "b"', [2, 5]),
        ('co: user =~ "^[ac]$"', [1, 3]),
        ('co: mixed == "None"', [1]),
        ("co: small < 3", [1, 2]),
    ],
)
def test_trace_cmd_filters_on_fields(desk: Desk, text: str, amounts: list[int]) -> None:
    fields = [("value", "v", 0), ("string", "user", 0), ("value", "mixed", 0), ("u8", "small", 0)]
    kind = kind_of("own", "co", 16, fields)
    ring = ring_with(desk, kind)
    mixed = [None, 1, "x", 2.5, ValueError]
    ring.put_all(
        0, [event(S + i, 1, kind.pack(i, "abcde"[i - 1], mixed[i - 1], i), CHECKOUT) for i in range(1, 6)]
    )
    desk.record()
    for path in (desk.output, *map(desk.version_7, trace_cmd_compressions())):
        ran = subprocess.run(
            ["trace-cmd", "report", "-F", text, "-i", str(path)], capture_output=True, text=True, timeout=60
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert [int(number) for number in re.findall(r" v=(\d+) ", ran.stdout)] == amounts


@needs_trace_cmd
def test_trace_cmd_knows_events_of_no_known_kind(desk: Desk) -> None:
    ring_with(desk).put(0, event(S, 1, b"12345678", MAIN))
    desk.record()
    assert "unknown_event:        an event of a kind that the trace does not name" in desk.trace_cmd()
