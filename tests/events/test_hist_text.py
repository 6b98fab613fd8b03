"""The text of the file `hist`: each histogram that the kernel printed is taken apart and made again, byte for
byte; and what we print where the kernel's captures have nothing like it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from funcgraph.events import hist
from funcgraph.events.hist_rows import Extreme, Held, Key, Row, Taken
from funcgraph.events.hist_spec import Expression, FieldRef, HistSpec, Number, VariableRef
from funcgraph.events.hist_text import Names, hist_file, hist_text
from tests.events.hist_replay import DATA, EVENTS, SESSIONS, Field

pytestmark = pytest.mark.one_python

#: The kernel prints all numbers as unsigned ones.
_FIELDS = {
    field.name: Field(field.name, field.type.replace("s", "u") if field.type != "string" else "string")
    for fields in EVENTS.values()
    for field in fields
}
_FIELDS["lat"] = Field("lat", "u64")
_BUGS = {"common_cpucommon_cpu": "common_cpu", "common_cpucpu": "cpu"}


class Anything:
    """Whatever a trigger names is there."""

    def __init__(self, info: str) -> None:
        self._info = info

    def event_fields(self, system: str, event: str) -> Sequence[Field]:
        del system, event
        return list(_FIELDS.values())

    def synthetic_fields(self, event: str) -> Sequence[Field]:
        params = re.search(rf"(?<=[.(]){event}[(,]([^)]*)\)", self._info)
        assert params
        return [Field(f"f{i}", "value") for i, _ in enumerate(params[1].split(","))]

    def variables(self) -> Mapping[tuple[str, str], Mapping[str, Expression]]:
        return {("a", "b"): {name: Number(0) for name in re.findall(r"\$(\w+)", self._info)}}


def spec_of(info: str) -> HistSpec:
    for bug, right in _BUGS.items():
        info = info.replace(bug, right)
    text, _, state = info.rpartition(" ")
    assert state in ("[active]", "[paused]")
    spec = hist.parse(text, "sys", "event", list(_FIELDS.values()), Anything(info))
    assert spec.info(state == "[paused]") == info
    return spec


# ---- taking rows apart

_NUMBER = {
    "": r" *(\d+)",
    "usecs": r" *(\d+)",
    "hex": r"([0-9a-f]+)",
    "log2": r"~ 2\^(\d+) *",
    "buckets": r"~ (\d+)-\d+",
    "execname": r"(?P<comm>.{16})\[ *(\d+)\]",
    "syscall": r"(?P<syscall>\S+) +\[ *(\d+)\]",
    "sym": r"\[([0-9a-f]+)\] (?P<sym>\S+) *",
    "sym-offset": r"\[([0-9a-f]+)\] (?P<sym>\S+) *",
}


class Apart(Names):
    """Takes rows apart, and knows what names were in them."""

    def __init__(self, spec: HistSpec) -> None:
        self.spec = spec
        self.names: dict[int, str] = {}

    def symbol(self, address: int) -> str:
        return self.names.get(address, "")

    def syscall(self, number: int) -> str:
        return self.names.get(number, "")

    def function(self, function: int) -> str:
        return self.names[function]

    def row(self, number: int, text: str) -> Row:
        keys: list[Key] = []
        comm = ""
        rest = text.removeprefix("{ ")
        for expression in self.spec.keys:
            assert rest.startswith(f"{expression.name}:"), (expression, rest)
            rest = rest.removeprefix(f"{expression.name}:").removeprefix(" ")
            key, rest, its_comm = self._key(expression, rest)
            keys.append(key)
            comm = comm or its_comm
            rest = rest.removeprefix(", ")
        rest = rest.lstrip(" ").removeprefix("}")
        line, *more = rest.split("\n")
        return self._values(number, tuple(keys), comm, line)._replace(extremes=self._extremes(more))

    def _key(self, expression: Expression, rest: str) -> tuple[Key, str, str]:
        modifier = expression.modifier if isinstance(expression, FieldRef) else ""
        if isinstance(expression, FieldRef) and expression.kind == "stack":
            lines = re.match(r"\n((?: {9}\S+\n)+)", rest)
            assert lines
            functions = lines[1].split()
            self.names.update(enumerate(functions))
            return tuple(range(len(functions))), rest[lines.end() :], ""
        if isinstance(expression, FieldRef) and expression.type == "string":
            found = re.match(r".{50}[^ ,}]*", rest)
            assert found
            return found[0].rstrip(), rest[found.end() :], ""
        found = re.match(_NUMBER[modifier], rest)
        assert found, rest
        groups = found.groupdict()
        digits = next(group for group in found.groups() if group not in groups.values())
        key = int(digits, 16 if modifier in ("hex", "sym", "sym-offset") else 10)
        name = groups.get("sym") or groups.get("syscall") or ""
        if name and name != hex(key) and name != "unknown_syscall":
            self.names[key] = name
        return key, rest[found.end() :].lstrip(" "), (groups.get("comm") or "").rstrip()

    def _values(self, number: int, keys: tuple[Key, ...], comm: str, line: str) -> Row:
        """The captures' percentages are of the key `count`, and of fd, which is always 3."""
        shown = dict(re.findall(r"(\S+): +([0-9a-f]+)(?=  |$)", line))
        hitcount = int(shown["hitcount"]) if "hitcount" in shown else -1
        sums: dict[str, int] = {}
        for value in self.spec.values:
            assert isinstance(value, FieldRef | VariableRef)
            modifier = value.modifier if isinstance(value, FieldRef) else ""
            if value.name == "hitcount":
                continue
            if modifier in ("percent", "graph"):
                if hitcount < 0:
                    hitcount = {4096: 4, 64: 3, 1000: 2}[keys[0]]  # type: ignore[index]
                times = 3 if value.name == "fd" else keys[0]
                assert isinstance(times, int)
                sums[value.name] = times * hitcount
            else:
                sums[value.name] = int(shown[value.name], 16 if modifier == "hex" else 10)
        if hitcount < 0:
            hitcount = sums["fd"] // 3
        return Row(number, keys, hitcount, tuple(sums.values()), comm)

    def _extremes(self, lines: list[str]) -> tuple[Extreme, ...]:
        extremes = []
        for line in filter(None, lines):
            found = re.match(r"\t(max|changed): +(\d+)(.*)", line)
            assert found, line
            saved: list[tuple[str, int | str]] = []
            for action in self.spec.actions:
                for param in action.params if action.action == "save" else ():
                    value = re.search(rf"  {param.text}: +(\d+)|  {param.text}: (\S+)", found[3])
                    assert value
                    saved.append((param.text, int(value[1]) if value[1] else value[2]))
            extremes.append(Extreme(found[1], int(found[2]), tuple(saved)))
        return tuple(extremes)


def rows_of(spec: HistSpec, lines: Sequence[str]) -> tuple[list[Row], Apart]:
    texts: list[str] = []
    for line in lines:
        if line.startswith("{ ") or not texts:
            texts.append(line)
        else:
            texts[-1] += f"\n{line}"
    apart = Apart(spec)
    return [apart.row(number, text) for number, text in enumerate(texts)], apart


# ---- whole texts

_FILES = [part for parts in SESSIONS.values() for part in parts]
_BLOCK = re.compile(
    r"^# event histogram\n#\n# trigger info: (.*)\n#\n\n((?:.+\n)*)\n((?:Snapshot taken.*\n.*\n\n)?)"
    r"Totals:\n    Hits: (\d+)\n    Entries: \d+\n    Dropped: (\d+)\n",
    re.MULTILINE,
)


def blocks() -> list[tuple[str, re.Match[str]]]:
    found = []
    for name in _FILES:
        for number, block in enumerate(_BLOCK.finditer((DATA / f"{name}.txt").read_text())):
            # No event of ours has a field that is a stack. What was cut short is no text of the file.
            if "s.stacktrace" not in block[1] and "\n...\n" not in block[0]:
                found.append((f"{name}-{number}", block))
    return found


@pytest.mark.parametrize("block", [block for _, block in blocks()], ids=[name for name, _ in blocks()])
def test_the_texts_that_the_kernel_printed_are_made_again(block: re.Match[str]) -> None:
    spec = spec_of(block[1])
    rows, apart = rows_of(spec, block[2].splitlines())
    taken = None
    if block[3]:
        found = re.search(r"\{ (on.*) \}: +(\d+)\t.*key: (\{ .*)", block[3])
        assert found
        key = apart.row(0, f"{found[3]} hitcount:          0")
        taken = Taken(found[1], int(found[2]), key)
    dropped, is_paused = int(block[5]), block[1].endswith("[paused]")
    assert hist_text(spec, rows, dropped, is_paused=is_paused, names=apart, taken=taken) == block[0]


def test_all_blocks_are_there() -> None:
    assert len(blocks()) == 15


#: The kernel sorts -2 before 3, and prints it as unsigned: test_signed_numbers_print_signed.
_SORTED_AS_SIGNED = "hist_misc:70"


def compact() -> list[tuple[str, str, list[str]]]:
    """Return place, trigger line and rows of what is in compact form."""
    found = []
    for name in _FILES:
        lines = (DATA / f"{name}.txt").read_text().split("\n")
        for number, line in enumerate(lines):
            if not line.startswith("  = hist"):
                continue
            rows = []
            for row in lines[number + 1 :]:
                if not row.startswith("  ") or row.startswith("   ("):
                    break
                rows.append(row[2:])
            if rows and f"{name}:{number + 1}" != _SORTED_AS_SIGNED:
                found.append((f"{name}:{number + 1}", line[4:], rows))
    return found


def is_unprinted(spec: HistSpec) -> bool:
    """Return whether the kernel prints no column for a value: an expression."""
    return any(not isinstance(value, FieldRef | VariableRef) for value in spec.values)


@pytest.mark.parametrize(
    ("info", "lines"), [row[1:] for row in compact()], ids=[place for place, *_ in compact()]
)
def test_the_rows_that_the_kernel_printed_are_made_again(info: str, lines: list[str]) -> None:
    spec = spec_of(info)
    if is_unprinted(spec):
        assert len(lines) == 3  # `vals=count*2`, which we print
        return
    rows, apart = rows_of(spec, lines)
    made = hist_text(spec, rows, names=apart).split("\n")
    assert made[5 : 5 + len(lines)] == lines


def test_all_rows_are_there() -> None:
    assert len(compact()) == 64
    assert sum(is_unprinted(spec_of(info)) for _, info, _ in compact()) == 2


def test_several_histograms_of_an_event_follow_one_another() -> None:
    first, second = [block[0] for name, block in blocks() if name.startswith("hist-")][-2:]
    assert hist_file([first, second]) in (DATA / "hist.txt").read_text()
    assert hist_file([]) == ""


# ---- what the kernel does not have

OURS = [Field("size", "s64"), Field("price", "f64"), Field("user", "string"), Field("what", "value")]
OURS += [Field("who", "symbol"), Field("n", "u32")]


def parse(command: str) -> HistSpec:
    return hist.parse(command, "shop", "order", OURS)


def row_lines(spec: HistSpec, rows: Sequence[Row], names: Names | None = None) -> list[str]:
    return hist_text(spec, rows, names=names).split("\n")[5:-6]


def test_signed_numbers_print_signed() -> None:
    rows = [Row(0, (3,), 1, (3,)), Row(1, (-2,), 2, (-4,))]
    assert row_lines(parse("hist:keys=size:vals=size:sort=size"), rows) == [
        "{ size:         -2 } hitcount:          2  size:         -4",
        "{ size:          3 } hitcount:          1  size:          3",
    ]
    assert row_lines(parse("hist:keys=size.hex"), rows[1:]) == [
        "{ size: fffffffffffffffe } hitcount:          2"
    ]
    buckets = parse("hist:keys=size.buckets=10:vals=size")
    assert row_lines(buckets, [Row(0, (-10,), 1, (-2,))]) == [
        "{ size: ~ -10--1 } hitcount:          1  size:         -2"
    ]


def test_expressions_print_as_values() -> None:
    assert row_lines(parse("hist:keys=n:vals=n*2,size-n"), [Row(0, (5,), 2, (20, -7))]) == [
        "{ n:          5 } hitcount:          2  n*2:         20  size-n:         -7"
    ]


def test_floats_print_as_python_prints_them() -> None:
    assert row_lines(parse("hist:keys=price:vals=price"), [Row(0, (0.1,), 3, (0.30000000000000004,))]) == [
        "{ price:        0.1 } hitcount:          3  price: 0.30000000000000004"
    ]


def test_a_field_without_a_type_prints_by_what_it_holds() -> None:
    keys: list[Key] = [Held("<Job at 0x7f12>"), b"raw", "text", 7, 2.5, -1, Held("None")]
    rows = [Row(number, (key,), 1, ()) for number, key in enumerate(keys)]
    lines = "\n".join(row_lines(parse("hist:keys=what:sort=what"), rows))
    texts = [text.strip() for text in re.findall(r"^\{ what: (.*) \} hitcount: +1$", lines, re.MULTILINE)]
    assert texts == ["-1", "2.5", "7", "text", "b'raw'", "<Job at 0x7f12>", "None"]


def test_a_text_never_breaks_its_row() -> None:
    (line,) = row_lines(parse("hist:keys=user"), [Row(0, ("a\nb\x00\udc80",), 1, ())])
    assert line.startswith(r"{ user: a\nb\x00\udc80 ")


def test_functions_print_by_name() -> None:
    class Ours(Names):
        def function(self, function: int) -> str:
            return ["shop.co", "shop.pay"][function]

        def address(self, function: int) -> int:
            return 0x7F0000000000 + function * 16

    rows = [Row(0, (1,), 2, ()), Row(1, (0,), 1, ())]
    assert row_lines(parse("hist:keys=who.sym"), rows, Ours()) == [
        f"{{ who: [7f0000000000] {'shop.co':45} }} hitcount:          1",
        f"{{ who: [7f0000000010] {'shop.pay':45} }} hitcount:          2",
    ]
    assert row_lines(parse("hist:keys=who"), rows[1:], Ours()) == [
        "{ who: 139637976727552 } hitcount:          1"
    ]
    stack = [Row(0, ((0, 1), 5), 3, ())]
    assert "\n".join(row_lines(parse("hist:keys=common_stacktrace,n"), stack, Ours())) == (
        "{ common_stacktrace:\n         shop.co\n         shop.pay\n, n:          5} hitcount:          3"
    )
    last = [Row(0, (5, (0,)), 3, ())]
    assert "\n".join(row_lines(parse("hist:keys=n,stacktrace"), last, Ours())) == (
        "{ n:          5, common_stacktrace:\n         shop.co\n} hitcount:          3"
    )


def test_shares_of_nothing_are_nothing() -> None:
    lines = row_lines(parse("hist:keys=n:vals=size.percent,size.graph"), [Row(0, (1,), 1, (0,))])
    assert lines == [f"{{ n:          1 }} hitcount:          1  size (%):   0.00  size: {' ' * 20}"]


def test_two_sort_keys_and_ties() -> None:
    rows = [Row(number, keys, 1, ()) for number, keys in enumerate([(2, 5), (1, 5), (2, 9), (1, 5)])]
    spec = parse("hist:keys=n,size:sort=n.descending,size")
    keys = [re.findall(r"\d+", line)[:2] for line in row_lines(spec, rows)]
    assert keys == [["2", "5"], ["2", "9"], ["1", "5"], ["1", "5"]]


def test_not_a_number_is_sorted_last() -> None:
    rows = [Row(number, (key,), 1, ()) for number, key in enumerate([float("nan"), 1.0, -1.0])]
    lines = row_lines(parse("hist:keys=price:sort=price"), rows)
    assert [re.findall(r"(\S+) \}", line)[0] for line in lines] == ["-1.0", "1.0", "nan"]


def test_the_example_of_the_document_is_what_is_printed() -> None:
    page = (DATA.parent.parent.parent / "docs" / "reference" / "events-hist.md").read_text()
    trigger = re.search(r"^    (hist:.* if .*)$", page, re.MULTILINE)
    assert trigger
    fields = [Field("user", "string"), Field("size", "s64"), Field("total", "s64")]
    spec = hist.parse(trigger[1], "shop", "order", fields)
    rows = [Row(0, ("bob", 7), 12, (1310,)), Row(1, ("ann", 10), 3, (74000,))]
    lines = [f"    {line}".rstrip() for line in hist_text(spec, rows).split("\n")]
    assert "\n".join(lines).rstrip() in page
