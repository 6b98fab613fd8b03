"""The kernel's files of events: available_events, set_event, set_event_pid, those of a group, `format`."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph

import funcgraph
from funcgraph.instance.control_files.files import Files

pytestmark = pytest.mark.one_python

events = funcgraph.dynamic_events
HERE = __name__
OWN = ("shop/buy", "shop/pay", "other/pay")


class Item:
    def __init__(self, price: float, name: str) -> None:
        self.price = price
        self.name = name


def buy(item: Item, count: int = 1) -> float:
    return pay(item.price * count)


def pay(amount: float) -> float:
    return amount


BASE = "".join(
    f"{line}\n"
    for line in (
        f"f:shop/buy {HERE}.buy count=count:u32",
        f"f:shop/pay {HERE}.pay amount=amount:s64",
        f"f:other/pay {HERE}.pay",
    )
)


@pytest.fixture
def one() -> Iterator[funcgraph.Instance]:
    """An instance, with the events of BASE. They stay for the next test: finding a function takes 15 ms."""
    with funcgraph.Instance("one") as instance:
        if events.read() != BASE:
            events.write("dynamic_events", BASE, append=False)
        yield instance
    events.log.clear()


@pytest.fixture(scope="module", autouse=True)
def no_leftovers() -> Iterator[None]:
    yield
    events.clear()
    assert funcgraph.users() == []


def states(instance: funcgraph.Instance) -> str:
    """Return the enable of each event of this file, in their order."""
    return "".join(f"{instance.events[name].enable:d}" for name in OWN)


def listed(instance: funcgraph.Instance, file: str) -> list[str]:
    """Return those events of this file that a list has."""
    names = [name.replace("/", ":") for name in OWN]
    return [line for line in instance.files[file].split("\n") if line in names]


def refused(files: Files, name: str, text: str, number: int = errno.EINVAL) -> str:
    with pytest.raises(OSError) as caught:
        files.write(name, text, append=True)
    assert caught.value.errno == number, caught.value
    return str(caught.value)


def nr_hits(instance: funcgraph.Instance) -> int:
    return instance.trace().count(f"({HERE}.pay")


# ---- set_event


def test_available_events_are_all_in_their_order(one: funcgraph.Instance) -> None:
    assert listed(one, "available_events") == ["shop:buy", "shop:pay", "other:pay"]
    assert "it is read-only" in refused(one.files, "available_events", "x")
    assert one.files["set_event"] == ""


@pytest.mark.parametrize(
    ("word", "chosen"),
    [
        ("shop:buy", "100"),
        ("shop/buy", "100"),
        ("buy", "100"),
        ("pay", "011"),
        ("shop", "110"),
        ("shop:", "110"),
        ("shop:*", "110"),
        (":pay", "011"),
        ("*:*", "111"),
        (":", "111"),
        ("*", "111"),
        ("*:pay", "011"),
        ("s*:?uy", "100"),
        ("shop:[ab]uy other", "101"),
        ("shop: other:pay", "111"),
        ("shop !shop:buy", "010"),
        ("!shop:buy", "000"),
        (" \n", "000"),
    ],
)
def test_the_forms_of_a_word(one: funcgraph.Instance, word: str, chosen: str) -> None:
    one.files["set_event"] = f"{word}\n"
    assert states(one) == chosen
    expected = [name.replace("/", ":") for name, state in zip(OWN, chosen, strict=True) if state == "1"]
    assert listed(one, "set_event") == expected


def test_a_word_adds_takes_away_or_replaces(one: funcgraph.Instance) -> None:
    one.files["set_event"] = "shop:buy"
    one.files.write("set_event", "other:pay", append=True)
    assert states(one) == "101"
    one.files.write("set_event", "!shop !shop", append=True)
    assert states(one) == "001"
    one.files["set_event"] = "shop:pay"
    assert states(one) == "010"
    one.files["set_event"] = ""
    assert states(one) == "000" and funcgraph.users() == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            "nosuch",
            "shop:nosuch",
            "nosuch:*",
            "shop:buy:x",
            "::",
            "!",
            "!nosuch",
            "SHOP:BUY",
            "shop:buy,shop:pay",
        ),
        *(
            ":mod:shop",
            "*:mod:",
            "shop:*:mod:shop",
            "!:mod:shop",
            "shop:pay nosuch other",
            "x" * 5000,
            "[",
            "sho",
        ),
    ],
)
def test_a_word_that_names_no_event_changes_nothing(one: funcgraph.Instance, text: str) -> None:
    one.files["set_event"] = "shop:buy"
    refused(one.files, "set_event", text)
    with pytest.raises(OSError, match=r"no event"):
        one.files["set_event"] = text
    assert states(one) == "100"


def test_an_event_with_a_trigger_alone_is_listed(one: funcgraph.Instance) -> None:
    one.events["shop/pay"].trigger = "traceoff"
    assert one.files["set_event"] == "shop:pay\n"
    assert one.files["events/shop/pay/enable"] == "0*\n"
    assert one.files["events/shop/enable"] == "X\n"


# ---- enable of several


def test_enable_of_a_group_and_of_all(one: funcgraph.Instance) -> None:
    files = one.files

    def three() -> str:
        names = ("events/enable", "events/shop/enable", "events/shop/buy/enable")
        return " ".join(files[name].strip() for name in names)

    assert three() == "0 0 0"
    files["events/shop/buy/enable"] = "1"
    assert three() == "X X 1"
    files["events/shop/enable"] = "1\n"
    assert three() == "X 1 1" and states(one) == "110"
    files["events/shop/buy/enable"] = "0"
    assert three() == "X X 0"
    files["events/enable"] = "1"
    assert three() == "1 1 1"
    files["events/enable"] = "0"
    assert three() == "0 0 0"
    for text in ("2", "X", "", "1 ", " 1", "1x", "on", "1\n\n"):
        for name in ("events/enable", "events/shop/enable", "events/shop/buy/enable"):
            assert "must be 0 or 1" in refused(files, name, text)
    assert three() == "0 0 0"


def test_there_are_the_kernels_files_and_no_others(one: funcgraph.Instance) -> None:
    files = [name for name in one.files if name.startswith("events/")]
    top = ["events/header_event", "events/header_page", "events/enable"]
    assert [name for name in files if name.count("/") == 1] == top
    groups = ("events/shop/", "events/other/")
    assert [name for name in files if name.startswith(groups) and name.count("/") == 2] == [
        f"{group}{file}" for group in groups for file in ("enable", "filter")
    ]
    assert [name for name in files if name.startswith(groups) and name.count("/") == 3] == [
        f"events/{event}/{file}"
        for event in OWN
        for file in ("enable", "filter", "format", "hist", "id", "trigger")
    ]
    for name in files:
        assert name in one.files and isinstance(one.files[name], str)
    for name in (
        "events",
        "events/",
        "events/filter",
        "events/shop",
        "events/shop/format",
        "events/no/enable",
    ):
        assert name not in one.files
        with pytest.raises(FileNotFoundError):
            one.files[name]


# ---- filter of a group


def test_a_groups_filter_is_that_of_the_events_that_have_its_fields(one: funcgraph.Instance) -> None:
    files = one.files
    assert files["events/shop/filter"].startswith("### global filter ###\n# Use this to set filters")
    files["events/shop/pay/filter"] = "amount > 1"
    files["events/shop/filter"] = "count > 3"
    assert files["events/shop/buy/filter"] == "count > 3\n"
    assert files["events/shop/pay/filter"] == "amount > 1\n"
    files["events/shop/filter"] = "common_pid != 0"
    assert files["events/shop/buy/filter"] == files["events/shop/pay/filter"] == "common_pid != 0\n"
    assert files["events/other/pay/filter"] == "none\n"
    for text in ("nosuch == 1", "count ~ 5", "none", ""):
        refused(files, "events/shop/filter", text)
    refused(files, "events/shop/filter", "(count == 1", errno.ENOENT)
    assert files["events/shop/buy/filter"] == "common_pid != 0\n"
    assert "Field not found" in files["error_log"]
    files["events/shop/filter"] = "0"
    assert files["events/shop/buy/filter"] == files["events/shop/pay/filter"] == "none\n"
    assert files["events/shop/filter"].startswith("### global filter ###")


def test_the_lists_of_filters_and_triggers(one: funcgraph.Instance) -> None:
    files = one.files
    assert files["show_event_filters"] == files["show_event_triggers"] == ""
    files["events/shop/buy/filter"] = "count > 3"
    one.events["shop/pay"].trigger = "hist:keys=amount"
    one.events["shop/pay"].trigger = "traceoff:3 if amount == 1"
    assert files["show_event_filters"] == "shop:buy                        count > 3\n"
    assert files["show_event_triggers"] == (
        "shop:pay                        traceoff:count=3 if amount == 1\n"
        "shop:pay                        "
        "hist:keys=amount:vals=hitcount:sort=hitcount:size=2048 [active]\n"
    )
    assert "it is read-only" in refused(files, "show_event_filters", "x")


# ---- threads


def test_events_of_some_threads_only(one: funcgraph.Instance) -> None:
    one.events["shop/pay"].enable = True
    own = threading.get_native_id()
    one.set_event_pid = [1]
    assert one.set_event_pid == (1,)
    pay(1)
    assert nr_hits(one) == 0
    one.files.write("set_event_pid", f"{own} {own}\n", append=True)
    assert one.files["set_event_pid"] == f"1\n{own}\n"
    pay(1)
    thread = threading.Thread(target=pay, args=(2,))
    thread.start()
    thread.join()
    assert nr_hits(one) == 1
    one.set_event_notrace_pid = [own]
    assert one.files["set_event_notrace_pid"] == f"{own}\n"
    pay(1)
    assert nr_hits(one) == 1
    one.set_event_pid = ()
    assert one.files["set_event_pid"] == ""
    pay(1)
    thread = threading.Thread(target=pay, args=(2,))
    thread.start()
    thread.join()
    assert nr_hits(one) == 2
    one.files["set_event_notrace_pid"] = "\n"
    pay(1)
    assert nr_hits(one) == 3
    for text in ("!1", "1-3", "1,2", "0", "-1", "x", str(2**31)):
        for name in ("set_event_pid", "set_event_notrace_pid"):
            refused(one.files, name, text)


def test_triggers_do_not_act_in_other_threads_and_marks_do_not_care(one: funcgraph.Instance) -> None:
    one.events["shop/pay"].trigger = "traceoff"
    one.set_event_pid = [1]
    pay(1)
    assert one.tracing_on
    one.trace_marker.write("here")
    assert "here" in one.trace()
    one.set_event_pid = ()
    pay(1)
    assert not one.tracing_on


def test_threads_are_chosen_before_there_is_an_event() -> None:
    events.clear()
    with funcgraph.Instance("early") as early:
        early.set_event_pid = [1]
        events.define(f"f:shop/pay {HERE}.pay")
        early.events["shop/pay"].enable = True
        pay(1)
        assert nr_hits(early) == 0
    events.clear()


# ---- format


COMMON = """\
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

"""


def number(field: str, bit: int, prefix: str = "") -> str:
    """Return what print fmt has for a number: its prefix, or "(fault)" and no digit."""
    fault = f"(REC->__faults[0] & {bit})"
    return f'{fault} ? "(fault)" : "{prefix}", {fault} ? 0 : 1, REC->{field}'


def test_the_format_of_an_entry_with_all_kinds_of_fields(one: funcgraph.Instance) -> None:
    """As shared captures of the kernel have it for the same types: offsets, sizes, signs, print fmt."""
    arguments = (
        "c8=count:u8 d16=count:s16 h64=count:x64 s=item.name:string a=count:x8[2] w=$symbol f=count:f64"
    )
    events.define(f"f:shop/all {HERE}.buy {arguments} item")
    event = one.events["shop/all"]
    assert event.format == (
        f"name: all\nID: {event.id}\n{COMMON}"
        "	field:unsigned long __probe_ip;	offset:8;	size:8;	signed:0;\n"
        "	field:u8 c8;	offset:16;	size:1;	signed:0;\n"
        "	field:s16 d16;	offset:17;	size:2;	signed:1;\n"
        "	field:u64 h64;	offset:19;	size:8;	signed:0;\n"
        "	field:__data_loc char[] s;	offset:27;	size:4;	signed:1;\n"
        "	field:u8 a[2];	offset:31;	size:2;	signed:0;\n"
        "	field:unsigned long w;	offset:33;	size:8;	signed:0;\n"
        "	field:__data_loc char[] f;	offset:54;	size:4;	signed:1;\n"
        "	field:__data_loc char[] item;	offset:58;	size:4;	signed:1;\n"
        "	field:u8 __faults[1];	offset:53;	size:1;	signed:0;\n"
        '\nprint fmt: "(%ps) c8=%s%.*u d16=%s%.*hd h64=%s%.*Lx s=\\"%s\\" a={%s%.*x,%s%.*x} w=%ps f=%s '
        'item=%s", '
        f"(void *)REC->__probe_ip, {number('c8', 1)}, {number('d16', 2)}, {number('h64', 4, '0x')}, "
        f"__get_str(s), {number('a[0]', 8, '0x')}, {number('a[1]', 16, '0x')}, "
        "(void *)(unsigned long)REC->w, __get_str(f), __get_str(item)\n"
    )
    assert one.files["events/shop/all/format"] == event.format
    assert one.files["events/shop/all/id"] == f"{event.id}\n"
    assert "it is read-only" in refused(one.files, "events/shop/all/format", "x")


def test_the_headers_are_those_of_a_trace_dat(one: funcgraph.Instance) -> None:
    assert one.files["events/header_page"] == (
        "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
        "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
        "\tfield: char overwrite;\toffset:8;\tsize:1;\tsigned:0;\n"
        "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"
    )
    assert one.files["events/header_event"].startswith(
        "# compressed entry header\n\ttype_len    :    5 bits\n"
    )
    for file in ("header_page", "header_event"):
        assert "it is read-only" in refused(one.files, f"events/{file}", "x")


def test_the_format_of_a_return(one: funcgraph.Instance) -> None:
    events.define(f"f:shop/paid {HERE}.pay%return $retval:s64")
    text = one.events["shop/paid"].format.partition("signed:1;\n\n")[2]
    assert text == (
        "	field:unsigned long __probe_func;	offset:8;	size:8;	signed:0;\n"
        "	field:unsigned long __probe_ret_ip;	offset:16;	size:8;	signed:0;\n"
        "	field:s64 arg1;	offset:24;	size:8;	signed:1;\n"
        "	field:u8 __faults[1];	offset:32;	size:1;	signed:0;\n"
        '\nprint fmt: "(%ps <- %ps) arg1=%s%.*Ld", '
        f"(void *)REC->__probe_ret_ip, (void *)REC->__probe_func, {number('arg1', 1)}\n"
    )


def test_the_format_is_that_of_a_trace_dat(one: funcgraph.Instance, fg: Funcgraph, tmp_path: Path) -> None:
    """But for the number of the event, which is the trace's."""
    events.define(f"f:shop/named {HERE}.buy item.name:string count:u32 price=item.price:f64 item:object")
    event = one.events["shop/named"]
    event.enable = True
    buy(Item(2.5, "tea"))
    one.save(tmp_path / "t.fg")
    six = tmp_path / "six.dat"  # of version 6: it has the formats as they are
    result = fg.run("convert", "--file-version", "6", tmp_path / "t.fg", six)
    assert result.returncode == 0, result.stderr
    assert event.format.partition("format:\n")[2].encode() in six.read_bytes()


def test_a_refused_definition_keeps_its_error_through_the_file(one: funcgraph.Instance) -> None:
    assert "Invalid argument number" in refused(one.files, "dynamic_events", f"f {HERE}.pay $arg0")
    one.events["shop/pay"].enable = True
    refused(one.files, "dynamic_events", "-:shop/pay", errno.EBUSY)
    refused(one.files, "dynamic_events", "-:shop/none", errno.ENOENT)


# ---- deleting and defining again


def test_what_holds_an_event(one: funcgraph.Instance) -> None:
    """Its own trigger and its enable do, a filter does not."""
    files = one.files
    one.events["shop/buy"].trigger = "traceoff"
    refused(files, "dynamic_events", "-:shop/buy", errno.EBUSY)
    refused(files, "dynamic_events", "-:shop/", errno.EBUSY)
    with pytest.raises(OSError, match="in use"):
        files["dynamic_events"] = ""
    assert len(events) == 3
    one.events["shop/buy"].trigger = "!traceoff"
    one.events["shop/buy"].filter = "count > 1"
    files.write("dynamic_events", "-:shop/buy", append=True)
    assert listed(one, "available_events") == ["shop:pay", "other:pay"]
    files.write("dynamic_events", f"f:shop/buy {HERE}.buy count:u32", append=True)
    assert files["events/shop/buy/filter"] == "none\n"  # it is another event
    with funcgraph.Instance("two") as two:
        two.events["other/pay"].enable = True
        refused(files, "dynamic_events", "-:pay", errno.EBUSY)
    files.write("dynamic_events", "-:pay", append=True)
    assert listed(one, "available_events") == ["shop:buy"]


def test_a_name_that_is_taken(one: funcgraph.Instance) -> None:
    """The kernel's number is EEXIST for kprobes, and EINVAL for fprobes."""
    files = one.files
    before = files["dynamic_events"]
    refused(files, "dynamic_events", f"f:shop/buy {HERE}.buy count:u32")  # the same
    refused(files, "dynamic_events", f"f:shop/buy {HERE}.pay count=amount:u64")  # another type
    refused(files, "dynamic_events", f"f:shop/buy {HERE}.buy%return count:u32")  # another kind
    refused(files, "dynamic_events", f"p:shop/buy {HERE}.buy count:u32", errno.EEXIST)
    assert files["dynamic_events"] == before
    files.write("dynamic_events", f"f:shop/buy {HERE}.pay count=amount:u32", append=True)  # one more probe
    one.events["shop/buy"].enable = True
    files.write("dynamic_events", f"-:shop/buy {HERE}.pay", append=True)  # one of several, while it is on
    assert files["dynamic_events"] == before
