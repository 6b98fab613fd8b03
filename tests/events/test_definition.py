"""Definitions of Python functions: what one line of dynamic_events becomes. What the kernel says about the
syntax that it has, too, is in test_kernel_definitions.py."""

from __future__ import annotations

import errno
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from funcgraph.definitions import fetch_argument, field, messages
from funcgraph.definitions.definition import Definition
from funcgraph.definitions.error_log import ErrorLog
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.fetch_source import VARIABLES
from funcgraph.definitions.field import Field
from funcgraph.definitions.parse import parse_definition
from funcgraph.definitions.synthetic_definition import TYPES as SYNTHETIC_TYPES
from funcgraph.definitions.synthetic_definition import SyntheticDefinition, parse_synthetic

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parent.parent.parent

FUNCTIONS = {
    "shop.Cart.add": ["self", "item", "count"],
    "shop.main": [],
    "shop.naïve": ["größe"],
}
EVENTS = {
    ("", "raise"): ["type", "value"],
    ("py", "raise"): ["type", "value"],
    ("sched", "wake"): ["comm"],
}


def parse(line: str) -> Definition:
    definition = parse_definition(line, FUNCTIONS.get, lambda group, event: EVENTS.get((group, event)))
    assert isinstance(definition, Definition)
    return definition


def fields(line: str) -> tuple[Field, ...]:
    return parse(line).fields


def one(argument: str) -> Field:
    (found,) = fields(f"f shop.unknown {argument}")
    return found


def refused(line: str) -> tuple[str, str]:
    """Return what is said about a line, and the text from the caret on."""
    with pytest.raises(ProbeError) as caught:
        parse(line)
    return caught.value.message, caught.value.command[caught.value.caret :]


@pytest.mark.parametrize(
    ("argument", "source"),
    [
        ("a", ("name", "a")),
        ("größe", ("name", "größe")),
        ("_", ("name", "_")),
        ("$arg3", ("arg", 3)),
        ("$retval", ("retval",)),
        ("$exc", ("exc",)),
        ("$comm", ("comm",)),
        ("$COMM", ("comm",)),
        ("$stack0", ("stack", 0)),
        ("$stack12", ("stack", 12)),
        ("$symbol", ("symbol",)),
        ("\\5", ("imm", 5)),
        ("\\-5", ("imm", -5)),
        ("\\+5", ("imm", 5)),
        ("\\0x1F", ("imm", 31)),
        ("\\017", ("imm", 15)),
        ("\\0", ("imm", 0)),
        ("\\18446744073709551615", ("imm", 2**64 - 1)),
        ("\\-9223372036854775808", ("imm", -(2**63))),
        ('\\"text"', ("imm", "text")),
        ('\\""', ("imm", "")),
        ('\\"a:u8=b[3]"', ("imm", "a:u8=b[3]")),
    ],
)
def test_sources(argument: str, source: tuple[str | int, ...]) -> None:
    found = one(argument)
    assert (found.source, found.steps) == (source, ())
    assert one(f"x={argument}") == found._replace(name="x")


@pytest.mark.parametrize(
    ("argument", "steps"),
    [
        ("a.b", [("attr", "b")]),
        ("a->b", [("attr", "b")]),
        ("a.b->c.d", [("attr", "b"), ("attr", "c"), ("attr", "d")]),
        ("a[3]", [("index", 3)]),
        ("a[-1]", [("index", -1)]),
        ("a[0x10]", [("index", 16)]),
        ('a["key"]', [("key", "key")]),
        ('a["two words"]', [("key", "two words")]),
        ('a["#:=]["]', [("key", "#:=][")]),
        (r'a["say \"hi\" \\"]', [("key", 'say "hi" \\')]),
        ('a[0]["k"].b[-2]', [("index", 0), ("key", "k"), ("attr", "b"), ("index", -2)]),
        ("a:len", [("len",)]),
        ("a.b:len", [("attr", "b"), ("len",)]),
        ("$retval.a[1]", [("attr", "a"), ("index", 1)]),
        ("$arg1->a", [("attr", "a")]),
        ("$exc.args[0]", [("attr", "args"), ("index", 0)]),
        ("$stack0.a", [("attr", "a")]),
    ],
)
def test_steps(argument: str, steps: list[tuple[str | int, ...]]) -> None:
    assert list(one(argument).steps) == steps
    assert one(f"{argument}:s64") == one(argument)._replace(type="s64")


@pytest.mark.parametrize("name", field.FIELD_TYPES)
def test_types(name: str) -> None:
    assert (one(f"a:{name}").type, one(f"a:{name}").count) == (name, 0)
    assert (one(f"a:{name}[64]").type, one(f"a:{name}[64]").count) == (name, 64)


def test_the_types_are_those_of_the_engine() -> None:
    header = (ROOT / "src/engine/ring/field.h").read_text()
    assert tuple(re.findall(r'X\(\w+, "(\w+)", \d+\)', header)) == field.FIELD_TYPES


@pytest.mark.parametrize(
    ("argument", "kind"),
    [
        ("a", "value"),
        ("a:len", "value"),
        ("\\5", "value"),
        ("$comm", "string"),
        ("$comm:string", "string"),
        ('\\"x"', "string"),
        ("$symbol", "symbol"),
        ("$symbol:string", "string"),
        ("a:ustring", "string"),
        ("a:symstr", "symbol"),
        ("a:len:u32", "u32"),
    ],
)
def test_types_that_are_not_given_or_have_another_name(argument: str, kind: str) -> None:
    assert one(argument).type == kind


def test_names_of_arguments() -> None:
    line = "f shop.unknown a a.b c:u8 d:len x=e $retval größe"
    assert [found.name for found in fields(line)] == ["a", "arg2", "c", "arg4", "x", "arg6", "arg7"]
    assert parse(line).arguments == (
        *("a=a", "arg2=a.b", "c=c:u8", "arg4=d:len", "x=e", "arg6=$retval", "arg7=größe"),
    )


def test_parameters_take_the_place_of_their_numbers() -> None:
    assert parse("f shop.Cart.add $arg* $arg1.name").arguments == (
        *("self=self", "item=item", "count=count", "arg4=$arg1.name"),
    )
    assert parse("f shop.Cart.add $arg2:string $arg3:len").arguments == ("item=item:string", "arg2=$arg3:len")
    assert parse("f shop.Cart.add x=$arg2").fields[0].source == ("arg", 2)
    assert parse("f shop.main $arg*").fields == ()
    assert parse("f shop.naïve $arg*").arguments == ("arg1=größe",)
    assert parse("p shop.Cart.add:42 $arg*").arguments == ("self=self", "item=item", "count=count")
    assert parse("t raise $arg* v=$arg2").fields == (
        Field("type", "value", 0, ("field", "type"), ()),
        Field("value", "value", 0, ("field", "value"), ()),
        Field("v", "value", 0, ("field", "value"), ()),
    )


def test_comm_on_an_event_may_be_a_field() -> None:
    found = fields("e sched/wake $comm $COMM:string")
    assert [one.source for one in found] == [("field", "comm"), ("comm",)]
    assert fields("e sched/wake $comm:u32")[0].type == "u32"
    assert [found.source for found in fields("e py/raise $comm")] == [("comm",)]
    assert refused("e py/raise $comm:u32") == (messages.NEED_STRING_TYPE.text, "u32")


def test_a_kprobe_reads_any_local_variable() -> None:
    assert parse("p shop.Cart.add total").fields[0].source == ("name", "total")
    assert refused("f shop.Cart.add total") == (messages.NO_BTFARG.text, "total")
    assert refused("r shop.Cart.add x=total.a") == (messages.NO_BTFARG.text, "total.a")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("f shop.*", "f:fprobes/shop____entry shop.*"),
        ("f:a.b shop.main", "f:a/b shop.main"),
        ("f:g/ shop.main%return", "f:g/shop_main__exit shop.main%return"),
        ("f shop.main $exc", "f:fprobes/shop_main__exit shop.main%return arg1=$exc"),
        ("f a.<lambda>", "f:fprobes/a__lambda___entry a.<lambda>"),
        ("f a.f.<locals>.g", "f:fprobes/a_f__locals__g__entry a.f.<locals>.g"),
        ("f shop.naïve", "f:fprobes/shop_na_ve__entry shop.naïve"),
        ("f [ab].c?", "f:fprobes/_ab__c___entry [ab].c?"),
        ("p shop.main", "p:kprobes/p_shop_main_0 shop.main"),
        ("p shop.main:42", "p:kprobes/p_shop_main_L42 shop.main:42"),
        ("p shop.main+16", "p:kprobes/p_shop_main_16 shop.main+16"),
        ("p shop.main+0", "p:kprobes/p_shop_main_0 shop.main"),
        ("r shop.main", "r10:kprobes/r_shop_main_0 shop.main"),
        ("r5:x shop.main", "r5:kprobes/x shop.main"),
        ("p:x shop.main%return", "r10:kprobes/x shop.main"),
        ("t raise", "t:tracepoints/raise raise"),
        ("t py/raise type", "t:tracepoints/raise py/raise type=type"),
        ("e py/raise $value", "e:eprobes/raise py.raise arg1=$value"),
        ("e:x py.raise v=$value:string if type == 3", "e:eprobes/x py.raise v=$value:string"),
    ],
)
def test_how_definitions_read_back(line: str, text: str) -> None:
    assert parse(line).text == text
    assert parse(text)._replace(filter="") == parse(line)._replace(filter="")


def test_parts_of_definitions() -> None:
    probe = parse("p:g/e shop.Cart.add:42 item")
    assert probe[:6] == ("p", "g", "e", "shop.Cart.add", ("line", 42), False)
    assert (probe.target, probe.maxactive) == ("shop.Cart.add:42", 0)
    assert parse("f shop.main%return").is_return
    assert parse("f shop.main%return").symbol == "shop.main"
    assert parse("r7 shop.main").maxactive == 7
    attached = parse("e py/raise if type == 3 && value > 4")
    assert (attached.base, attached.filter) == (("py", "raise"), "type == 3 && value > 4")
    assert parse("t raise").base == ("", "raise")
    assert parse("t py/raise").base == ("py", "raise")


def test_a_long_made_up_name_keeps_its_end() -> None:
    names = [parse(f"f {'package.' * 9}module.Class.{name}").event for name in ("load", "save")]
    assert names == [
        "package_package_package_package_package_module_Class_load__entry"[-63:].partition("_")[2],
        "package_package_package_package_package_module_Class_save__entry"[-63:].partition("_")[2],
    ]
    assert parse(f"f shop.{'x' * 80}").event == f"{'x' * 56}__entry"
    assert parse(f"p shop.{'x' * 80}:42").event == f"p_{'x' * 57}_L42"
    assert parse(f"f {'x' * 10}{'7' * 80}").event == f"_{'7' * 55}__entry"


@pytest.mark.parametrize(
    ("line", "message", "at"),
    [
        ("f", messages.NO_MATCHING_TYPE, "f"),
        ("", messages.NO_MATCHING_TYPE, ""),
        ("s", messages.NO_MATCHING_TYPE, "s"),
        ("f shop.x a[", messages.BAD_INDEX, ""),
        ("f shop.x a[]", messages.BAD_INDEX, "]"),
        ("f shop.x a[x]", messages.BAD_INDEX, "x]"),
        ("f shop.x a[1.5]", messages.BAD_INDEX, "1.5]"),
        ("f shop.x a[--1]", messages.BAD_INDEX, "--1]"),
        ("f shop.x a[9223372036854775808]", messages.BAD_INDEX, "9223372036854775808]"),
        ('f shop.x a["k"x]', messages.BAD_INDEX, '"k"x]'),
        ('f shop.x a["k', messages.BAD_INDEX, '"k'),
        ('f shop.x a["two words', messages.BAD_INDEX, '"two words'),
        ("f shop.x a.", messages.NO_BTF_FIELD, ""),
        ("f shop.x a..b", messages.NO_BTF_FIELD, ".b"),
        ("f shop.x a->1", messages.NO_BTF_FIELD, "1"),
        ("f shop.x a.b-c", messages.BAD_HYPHEN, "-c"),
        ("f shop.x a)", messages.BAD_FETCH_ARG, ")"),
        ("f shop.x (a)", messages.BAD_FETCH_ARG, "(a)"),
        ("f shop.x a[0]b", messages.BAD_FETCH_ARG, "b"),
        ("f shop.x x=:u8", messages.NO_ARG_BODY, ":u8"),
        ("f shop.x a:len:", messages.BAD_TYPE, ""),
        ("f shop.x a:len:len", messages.BAD_TYPE, "len"),
        ("f shop.x a:b0@0/32", messages.BAD_BITFIELD, "b0@0/32"),
        ("f shop.x a:b4@5/8", messages.BAD_BITFIELD, "b4@5/8"),
        ("f shop.x a:b4@/8", messages.BAD_BITFIELD, "b4@/8"),
        ("f shop.x a:b99999999999@0/64", messages.BAD_BITFIELD, "b99999999999@0/64"),
        ("f shop.x a:b4@0/32[2]", messages.BAD_TYPE, "b4@0/32[2]"),
        ("f shop.x a:b4@0/33", messages.BAD_TYPE, "b4@0/33"),
        ("f shop.x $comm.a", messages.COMM_CANT_DEREF, "$comm.a"),
        ("f shop.x $comm:len", messages.COMM_CANT_DEREF, "$comm:len"),
        ("f shop.x $comm:string[2]", messages.NEED_STRING_TYPE, "string[2]"),
        ("f shop.x $symbol[0]", messages.BAD_FETCH_ARG, "[0]"),
        ("f shop.x x=\\5:len", messages.BAD_FETCH_ARG, ":len"),
        ("f shop.x \\", messages.BAD_IMM, ""),
        ("f shop.x \\1.5", messages.BAD_IMM, "1.5"),
        ("f shop.x \\18446744073709551616", messages.BAD_IMM, "18446744073709551616"),
        ("f shop.x \\-9223372036854775809", messages.BAD_IMM, "-9223372036854775809"),
        ("f shop.x \\1_0", messages.BAD_IMM, "1_0"),
        ("f shop.x \\٣", messages.BAD_IMM, "٣"),
        (f"f shop.x a{'.b' * 17}", messages.TOO_MANY_OPS, ".b"),
        (f"f shop.x a{'.b' * 16}:len", messages.TOO_MANY_OPS, ".b:len"),
        ('f shop.x d=\\"hi there"', messages.IMMSTR_NO_CLOSE, ' there"'),
        ('f shop.x d=\\"a\0b"', messages.BAD_IMM, '"a\0b"'),
        ('f shop.x a["\ud800"]', messages.BAD_INDEX, '"\ud800"]'),
        ("f shop.x $retval_x", messages.RETVAL_ON_PROBE, "$retval_x"),
        (f"f:{'g' * 64}/e shop.x", messages.GROUP_TOO_LONG, f"{'g' * 64}/e shop.x"),
        (f"f:g/{'e' * 64} shop.x", messages.EVENT_TOO_LONG, f"{'e' * 64} shop.x"),
        (f"f shop.x x={'a' * 256}", messages.ARG_TOO_LONG, "a" * 256),
        ("f shop.x a:u64[", messages.ARRAY_NO_CLOSE, ""),
        ("f shop.x a:u64[10", messages.ARRAY_NO_CLOSE, ""),
        ("f shop.x a:u64[10 b", messages.ARRAY_NO_CLOSE, " b"),
        ("f shop.x $exception", messages.BAD_VAR, "$exception"),
        ("p shop.x $exc", messages.EXC_ON_PROBE, "$exc"),
        ("t raise v=$exc", messages.EXC_ON_PROBE, "$exc"),
        ("t raise v=$retval", messages.RETVAL_ON_PROBE, "$retval"),
        ("t raise nosuch", messages.NO_BTFARG, "nosuch"),
        ("f shop.Cart.add x=$arg4", messages.NO_BTFARG, "$arg4"),
        ("f shop.Cart.add $arg*x", messages.BAD_VAR, "$arg*x"),
        ("f shop.x $arg256", messages.BAD_ARG_NUM, "$arg256"),
        ("f shop.x $stack256", messages.BAD_STACK_NUM, "$stack256"),
        ("f shop.x $stack", messages.BAD_VAR, "$stack"),
        ("f shop.x %di", messages.NO_REGISTER, "%di"),
        ("f shop.x +0(a)", messages.NO_MEMORY, "+0(a)"),
        ("f shop.* $arg*", messages.NOSUP_ALL_ARGS, "$arg*"),
        ("f shop-x+1", messages.BAD_PROBE_ADDR, "shop-x+1"),
        ("p shop-x", messages.BAD_PROBE_ADDR, "shop-x"),
        ("f shop/x", messages.BAD_PROBE_ADDR, "shop/x"),
        ("f 1shop", messages.BAD_PROBE_ADDR, "1shop"),
        ("p shop.x:0", messages.BAD_PROBE_ADDR, "shop.x:0"),
        ("p shop.x:y-z", messages.BAD_PROBE_ADDR, "shop.x:y-z"),
        ("p shop.x+4294967296", messages.BAD_PROBE_ADDR, "shop.x+4294967296"),
        ("p :42", messages.BAD_PROBE_ADDR, ":42"),
        ("r shop.x:42", messages.BAD_RETPROBE, "shop.x:42"),
        ("r0 shop.x", messages.BAD_MAXACT, "0 shop.x"),
        ("r4097 shop.x", messages.MAXACT_TOO_BIG, "4097 shop.x"),
        (f"r{'9' * 5000} shop.x", messages.BAD_MAXACT, f"{'9' * 5000} shop.x"),
        ("f:-a/b shop.x", messages.BAD_GROUP_NAME, "-a/b shop.x"),
        ("f:é shop.x", messages.BAD_EVENT_NAME, "é shop.x"),
        ("t py/", messages.BAD_TP_NAME, ""),
        ("t /raise", messages.BAD_TP_NAME, ""),
        ("e py/nosuch", messages.BAD_ATTACH_EVENT, "py/nosuch"),
    ],
)
def test_what_is_wrong_and_where(line: str, message: messages.Message, at: str) -> None:
    assert refused(line) == (message.text, at)


def test_an_error_is_both_an_oserror_and_a_valueerror() -> None:
    with pytest.raises(ProbeError) as caught:
        parse("f shop.Cart.add x=nosuch")
    error = caught.value
    assert isinstance(error, OSError)
    assert isinstance(error, ValueError)
    assert (error.errno, error.component, error.caret) == (errno.ENOENT, "trace_fprobe", 18)
    assert str(error).splitlines() == [
        "trace_fprobe: This variable is not found at this probe point",
        "  Command: f shop.Cart.add x=nosuch",
        "                             ^",
        "Parameters: self item count",
    ]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.errno) == (str(error), error.errno)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("f shop.x a:stirng", "did you mean 'string'?"),
        ("f shop.x a:b4@29/32", "the bits lie in the container"),
        ("f shop.x $arguments", "Variables: $argN"),
        ("e py/raise $nosuch", "Fields: type value"),
        ("e py/raise value", "A field of the event is $value."),
        ("f shop.x $arg0", "Arguments are counted from 1."),
        ("f shop.x @a", "Give an attribute"),
        ("q shop.x", "Kinds: f p r t e s"),
        ("s:ev short x", "Types: "),
    ],
)
def test_an_error_says_what_would_be_right(line: str, hint: str) -> None:
    with pytest.raises(ProbeError) as caught:
        parse(line)
    assert hint in str(caught.value).splitlines()[-1]


def test_the_longest_names() -> None:
    longest = parse(f"f:{'g' * 63}/{'e' * 63} shop.x {'a' * 32}=b x=c{'.d' * 16} y=c{'.d' * 15}:len")
    assert (longest.group, longest.event) == ("g" * 63, "e" * 63)
    assert [len(found.steps) for found in longest.fields] == [0, 16, 16]


def test_too_many_arguments() -> None:
    names = [f"a{number}" for number in range(129)]
    assert len(fields(f"f shop.x {' '.join(names[:128])}")) == 128
    assert refused(f"f shop.x {' '.join(names)}")[0] == messages.TOO_MANY_ARGS.text
    assert refused(f"e py/raise {' '.join(f'{n}=$type' for n in names)}")[0] == messages.TOO_MANY_ARGS.text


def synthetic(line: str) -> SyntheticDefinition:
    definition = parse_synthetic(line)
    through_dynamic_events = parse_definition(f"s:{line}")
    assert definition == through_dynamic_events
    assert parse_definition(definition.text) == definition
    assert parse_synthetic(definition.synthetic_text) == definition
    return definition


@pytest.mark.parametrize(
    ("text", "kind", "size", "is_stack"),
    [
        ("u64 a", "u64", 0, False),
        ("int a", "s32", 0, False),
        ("unsigned int a", "u32", 0, False),
        ("long a", "s64", 0, False),
        ("unsigned long a", "u64", 0, False),
        ("char a", "s8", 0, False),
        ("unsigned char a", "u8", 0, False),
        ("pid_t a", "s32", 0, False),
        ("gfp_t a", "x32", 0, False),
        ("bool a", "bool", 0, False),
        ("f64 a", "f64", 0, False),
        ("string a", "string", 0, False),
        ("symbol a", "symbol", 0, False),
        ("char a[16]", "string", 16, False),
        ("char a[256]", "string", 256, False),
        ("char a[]", "string", 0, False),
        ("unsigned long a[]", "value", 0, True),
        ("long a[16]", "value", 0, True),
    ],
)
def test_types_of_synthetic_events(text: str, kind: str, size: int, is_stack: bool) -> None:
    first, second = synthetic(f"ev u8 first; {text}").fields
    assert first.field == Field("first", "u8", 0, ("arg", 1), ())
    assert (second.size, second.is_stack) == (size, is_stack)
    assert second.field == Field("a", kind, 0, ("arg", 2), ())


def test_a_synthetic_event_has_up_to_64_fields() -> None:
    names = [f"int f{number}" for number in range(65)]
    assert len(synthetic(f"ev {'; '.join(names[:64])}").fields) == 64
    with pytest.raises(ProbeError, match="Too many fields"):
        parse_synthetic(f"ev {'; '.join(names)}")
    assert synthetic(f"{'n' * 100} int x").event == "n" * 100


def test_loading_the_parser_loads_no_slow_module() -> None:
    """A traced process loads it. Broken by an import of re, dataclasses, difflib, threading or pathlib."""
    code = (
        "import sys; import typing, collections; before = set(sys.modules);"
        "from funcgraph.events import registry;"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('funcgraph')))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(printed.split()) <= {"__future__", "atexit", "errno", "_thread", "time"}


DOCUMENT = (ROOT / "docs" / "reference" / "events.md").read_text()


def section(heading: str) -> str:
    return DOCUMENT.partition(f"# {heading}\n")[2].partition("\n##")[0]


def test_the_document_has_all_types_reserved_names_and_variables() -> None:
    words = set(re.findall(r"`([\w$]+)`", section("Types")))
    assert words >= {*field.FIELD_TYPES, *field.TYPE_ALIASES}
    assert set(re.findall(r"`(\w+)`", section("Fetch arguments"))) >= set(fetch_argument.RESERVED)
    assert set(re.findall(r"\$\w+\*?", section("Fetch arguments"))) >= set(VARIABLES.split()[1:])
    assert set(re.findall(r"`([\w ]+)`", section("Synthetic events"))) >= (
        SYNTHETIC_TYPES.keys() - field.FIELD_TYPES - {"char"}
    )


def test_the_documents_made_up_names() -> None:
    rows = re.findall(r"^\| (`[fprte] .*`) \| (`.*`) \|$", section("Definitions"), re.MULTILINE)
    assert len(rows) == 5
    for lines, names in rows:
        events = [parse(line).event for line in re.findall(r"`([^`]+)`", lines)]
        assert set(events) == set(re.findall(r"`([^`]+)`", names))


def test_the_documents_error() -> None:
    shown = re.search(r"^    (\[.*\n.*\n.*\^)$", section("Errors"), re.MULTILINE)
    assert shown
    log = ErrorLog(lambda: 814_022184_000)
    with pytest.raises(ProbeError) as caught:
        parse("f app.load size=path:len:u23")
    log.add_error(caught.value)
    assert log.text() == shown[1].replace("\n    ", "\n") + "\n"


def test_each_definition_in_the_document_is_one() -> None:
    lines = re.findall(r"^    ([fs]:\w.*)$", DOCUMENT, re.MULTILINE)
    assert len(lines) == 6
    for line in lines:
        assert parse_definition(line).text
