"""Random definitions read back as what they are, and damaged ones are refused with the one exception."""

from __future__ import annotations

import random
from errno import EBUSY

import pytest
from fake_installer import STATIC, FakeInstaller, event_fields, parameters
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sizes import DEFINITION_EXAMPLES, MUTATED_DEFINITIONS
from transcripts import answers, shell, written

from funcgraph.definitions.definition import Definition
from funcgraph.definitions.error_log import ErrorLog
from funcgraph.definitions.errors import ProbeError
from funcgraph.definitions.field import FIELD_TYPES, TYPE_ALIASES
from funcgraph.definitions.parse import parse_definition
from funcgraph.definitions.synthetic_definition import SyntheticDefinition, parse_synthetic
from funcgraph.events.files import FILES
from funcgraph.events.registry import Registry

pytestmark = pytest.mark.one_python

names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,11}", fullmatch=True)
python_names = st.one_of(names, st.sampled_from(("größe", "名前", "_", "__x__")))
keys = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=8).map(
    lambda text: text.replace("\\", "\\\\").replace('"', '\\"')
)
steps = st.lists(
    st.one_of(
        python_names.map(lambda name: f".{name}"),
        python_names.map(lambda name: f"->{name}"),
        st.integers(-(2**63) + 1, 2**63 - 1).map(lambda index: f"[{index}]"),
        keys.map(lambda key: f'["{key}"]'),
    ),
    max_size=4,
).map("".join)
objects = st.one_of(
    python_names,
    st.integers(1, 255).map(lambda number: f"$arg{number}"),
    st.integers(0, 255).map(lambda number: f"$stack{number}"),
)
constants = st.one_of(
    st.integers(-(2**63), 2**64 - 1).map(lambda value: f"\\{value}"),
    st.sampled_from(("$symbol", "\\0x1f")),
)
types = st.one_of(
    st.just(""),
    st.builds(
        lambda name, count: f":{name}[{count}]" if count else f":{name}",
        st.sampled_from((*FIELD_TYPES, *TYPE_ALIASES)),
        st.integers(0, 64),
    ),
)
texts = st.sampled_from(("$comm", "$COMM", '\\"text"', '\\"a=b:u8"', "$comm:string", '\\""'))
fetches = st.one_of(
    st.builds(lambda source, path, kind: source + path + kind, objects, steps, types),
    st.builds(lambda source, path, kind: f"{source}{path}:len{kind}", objects, steps, types),
    st.builds(lambda source, kind: source + kind, constants, types),
    texts,
)
results = st.builds(
    lambda source, path, kind: source + path + kind, st.sampled_from(("$retval", "$exc")), steps, types
)
symbols = st.lists(
    st.one_of(names, st.sampled_from(("<locals>", "<lambda>", "größe"))), min_size=1, max_size=4
)
heads = st.one_of(
    st.just(""),
    names.map(lambda event: f":{event}"),
    st.builds(lambda group, event: f":{group}/{event}", names, st.one_of(names, st.just(""))),
)


@st.composite
def definitions(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(("f", "f%", "p", "p%", "r", "r7", "t", "e")))
    head, symbol = draw(heads), ".".join(draw(symbols))
    if symbol[0] == "<":
        symbol = f"m.{symbol}"
    values = fetches
    if kind == "t":
        symbol = draw(st.one_of(names, names.map(lambda name: f"py/{name}")))
    elif kind == "e":
        group, event = draw(st.sampled_from([key for key in STATIC if key[0]]))
        symbol, values = f"{group}/{event}", st.sampled_from(STATIC[group, event]).map("$".__add__)
    elif kind == "p":
        symbol += draw(st.one_of(st.just(""), st.integers(1, 2**32 - 1).map("+{}".format)))
        symbol = symbol if "+" in symbol else symbol + draw(st.sampled_from(("", ":1", ":4294967295")))
    elif kind != "f":
        values = st.one_of(fetches, results)
    arguments = draw(st.lists(st.tuples(st.booleans(), values), max_size=5))
    words = [f"x{number}={text}" if named else text for number, (named, text) in enumerate(arguments)]
    suffix = "%return" if kind.endswith("%") else ""
    return " ".join((kind.rstrip("%") + head, symbol + suffix, *words))


def parse(text: str) -> Definition | SyntheticDefinition:
    return parse_definition(text, parameters, event_fields)


@settings(max_examples=DEFINITION_EXAMPLES, deadline=None)
@given(definitions())
@example("f:a/b m.f $retval")
@example("p m.f%return x0=a")
@example('f m.f a["x y"].b:len:u32[3]')
def test_a_definition_reads_back_as_what_it_is(text: str) -> None:
    """Broken by any part that is printed in another way than it is read, or lost on the way."""
    try:
        definition = parse(text)
    except ProbeError as error:
        # Two arguments may have the same name, and an expression be too long: nothing else is wrong.
        assert error.message in ("This argument name is already used", "Argument expression is too long"), (
            text
        )
        return
    again = parse(definition.text)
    assert again == definition
    assert again.text == definition.text
    assert len(definition.fields) == len(text.split(" ")) - 2 or '["' in text


synthetic_types = st.sampled_from(
    ("u64", "int", "unsigned int", "pid_t", "bool", "char", "f64", "string", "long", "unsigned long")
)
synthetic_fields = st.one_of(
    st.builds("{} {}".format, synthetic_types, names.filter("unsigned".__ne__)),
    st.builds("char {}[{}]".format, names, st.integers(0, 256)),
    st.builds("unsigned long {}[]".format, names),
)


@settings(max_examples=DEFINITION_EXAMPLES // 2, deadline=None)
@given(names, st.lists(synthetic_fields, min_size=1, max_size=6), st.sampled_from(("; ", ";", " ; ", " ")))
def test_a_synthetic_definition_reads_back_as_what_it_is(event: str, fields: list[str], between: str) -> None:
    definition = parse_synthetic(f"{event} {between.join(fields)}")
    assert len(definition.fields) == len(fields)
    assert parse_synthetic(definition.synthetic_text) == definition
    assert parse(definition.text) == definition


SEEDS = [
    'f:shop/a vfs_read x=file.name["k 1"][-3]->b:string[3] $arg* n=count:len:u32',
    "p:x vfs_read:42 total $stack3 $comm $symbol",
    'r9:g/y vfs_read%return $retval.a:object $exc.args[0] \\-5 \\"text"',
    "t:z raise type value v=$arg1",
    "e:w sched/sched_switch p=$prev_pid:u8 if prev_pid > 3",
    "s:ev u64 lat; char comm[16]; unsigned long st[]; pid_t p",
    "-:shop/a vfs_read x=file.name",
    "!f:shop/",
]
PIECES = (
    *(
        '["',
        '"]',
        '"',
        "\\",
        "$",
        "$arg",
        "$arg*",
        "$retval",
        "%return",
        ":",
        ":len",
        "[",
        "]",
        "->",
        ".",
        "-",
    ),
    *("=", "/", "#", "\n", " ", "\t", ";", "+", "@", "0x", "9" * 30, "é", "\0", "\ud800", "٣", "²", "\x85"),
    *("f:", "p:", "s:", "e:", "-:", "!", "unsigned ", "char x[", "if"),
)


def damaged(texts: list[str], chance: random.Random) -> str:
    """Return a text with a few places changed, as a slip of a finger or of a program would."""
    text = chance.choice(texts)
    for _ in range(chance.randint(0, 3)):
        at = chance.randint(0, len(text))
        end = min(len(text), at + chance.randint(0, 3))
        what = chance.randrange(5)
        if what == 0:
            text = text[:at] + text[end:]
        elif what == 1:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif what == 2:
            text = text[:at] + chance.choice(PIECES) + text[end:]
        elif what == 3:
            text = text[:at] + text[at:end] * chance.randint(2, 5) + text[end:]
        else:
            text += f" {chance.choice(chance.choice(texts).split())}"
    return text


def corpus() -> list[str]:
    steps = [*written("fprobe_definitions.txt"), *written("probe_forms.txt"), *shell("dynamic_events2.txt")]
    for name in ("synthetic_errors.txt", "eprobes_part2.txt"):
        steps += answers(name)
    good = [step.text for step in steps if step.text and not step.errno and len(step.text) < 200]
    return good + SEEDS * (len(good) // len(SEEDS))


def test_damaged_texts_raise_the_one_exception_and_leave_nothing_behind() -> None:
    """Broken by any other exception, a caret outside of the command, or a refused line that has an effect."""
    texts = corpus()
    chance = random.Random(14)
    installer = FakeInstaller()
    registry = Registry(installer, ErrorLog(lambda: 0), parameters, event_fields)
    accepted = refused = 0
    for _ in range(MUTATED_DEFINITIONS):
        text = damaged(texts, chance)
        file = chance.choice((*FILES, "dynamic_events", "dynamic_events"))
        append = chance.random() > 0.01
        before = list(registry)
        try:
            registry.write(file, text, append)
            accepted += 1
        except ProbeError as error:
            refused += 1
            assert error.errno and error.message, text
            assert 0 <= error.caret <= len(error.command) + 1, text
            assert error.component or error.caret == 0, text
            assert str(error)
            if "\n" not in text and append:
                assert list(registry) == before, text
            assert append or error.errno != EBUSY or list(registry) == before, text
        assert list(installer.installed.values()) == list(registry), text
        if len(registry) > 20:
            registry.clear()
    assert registry.log.text().count("\n") == 3 * len(registry.log)
    # The damage is neither so small nor so large that one of the two is never met.
    assert min(accepted, refused) > MUTATED_DEFINITIONS // 20
