"""The tables of docs/reference/trace-file.md are those of the code, the format texts and a trace's JSON."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from ringfile import enter, leave
from tracereader import Desk, Trace

from funcgraph import _tracedata
from funcgraph.tracedata import index_cache, run_table

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "trace-file.md").read_text()
SOURCE = ROOT / "src"
BYTES = {"char": 1, "uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "uint64_t": 8}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    desk = Desk(tmp_path_factory.mktemp("trace"))
    ring = desk.ring()
    ring.function(0, "m.f")
    ring.task(0, 70)
    ring.put(0, enter(1000, 0) + leave(2000, 0, 0, 1000))
    ring.process(1, "python")
    return desk.record()


def test_the_marks_of_an_index_are_those_of_the_code() -> None:
    assert [row[0] for row in table("| mark | where |")] == list(_tracedata.MARK_KINDS)


def table(header: str) -> list[list[str]]:
    """Return the rows of the page's table with this header; a blank first cell repeats the one above."""
    lines = PAGE[PAGE.index(header) :].split("\n\n", 1)[0].splitlines()[2:]
    rows = [[cell.strip().replace("`", "") for cell in line.strip()[1:-1].split("|")] for line in lines]
    for above, row in pairwise(rows):
        row[0] = row[0] or above[0]
    return rows


def macro(path: str, name: str) -> list[tuple[str, ...]]:
    """Return the first cells of each row of a table X(...) in a header, up to its first text."""
    text = (SOURCE / path).read_text()
    text = text[text.index(f"#define {name}(X)") :].split("\n\n", 1)[0]
    rows = re.findall(r"\bX\(([^\"]*?),?\s*\\?\s*\"", text)
    return [tuple(cell.strip() for cell in row.split(",")) for row in rows]


# ---- .fg

STRUCTS = {
    "fg_clock_pair": "engine/base/clock.h",
    "fg_trace_clock_pair": "tracedata/base/trace_clock.h",
    "fg_symbol": "engine/ring/ring_layout.h",
    "fg_rows_header": "tracedata/spool/rows.h",
    **dict.fromkeys(
        [
            f"fg_spool_{name}"
            for name in ("header", "chunk", "ring", "clock", "host", "state", "place", "footer")
        ],
        "tracedata/spool/chunk.h",
    ),
}
INDEX_STRUCTS = {
    "fg_index_header": "tracedata/index/index_image.h",
    **dict.fromkeys(
        [
            *("fg_index_lane", "fg_index_task", "fg_span", "fg_span_cell", "fg_index_block"),
            *("fg_index_short", "fg_index_mark", "fg_index_function"),
        ],
        "tracedata/index/call_index.h",
    ),
}
ARRAYS = {
    "FG_INSTANCE_NAME_BYTES": 64,
    "FG_ROWS_STREAMS": 5,
    "FG_INDEX_KEY_BYTES": 32,
    "FG_INDEX_MAX_LEVELS": 17,
    "FG_INDEX_NR_DURATIONS": 65,
}


def fields_of(struct: str) -> list[tuple[str, int, int]]:
    """Return name, offset and size of each field, as a C compiler lays them out on a 64-bit machine."""
    text = (SOURCE / {**STRUCTS, **INDEX_STRUCTS}[struct]).read_text()
    body = re.sub(
        r"/\*.*?\*/", "", text.split(f"\nstruct {struct} {{", 1)[1].split("\n}", 1)[0], flags=re.DOTALL
    )
    fields, at = [], 0
    for declared, names in re.findall(r"((?:struct )?\w+) ([^;]+);", body):
        for name in names.split(", "):
            field, _, count = name.rstrip("]").partition("[")
            if declared.startswith("struct"):
                parts = fields_of(declared.removeprefix("struct "))
                at = -(-at // 8) * 8
                size = parts[-1][1] + parts[-1][2]
                nested = [(f"{field}.{part}", at + offset, bytes_) for part, offset, bytes_ in parts]
                fields += [(field, at, size)] if len(parts) > 2 else nested
            else:
                one = BYTES[declared]
                at = -(-at // one) * one
                size = one * (int(ARRAYS.get(count, 0) or count) if count else 1)
                fields.append((field, at, size))
            at += size
    return fields


def test_the_page_has_all_structures_of_the_spool_with_their_places() -> None:
    structures = [struct for struct in STRUCTS if not struct.endswith("clock_pair")]
    expected = [(s.removeprefix("fg_"), *field) for s in structures for field in fields_of(s)]
    page = [(row[0], row[1], int(row[2]), int(row[3])) for row in table("| structure | field |")]
    assert sorted(page) == sorted(expected)
    header = (SOURCE / "engine/ring/ring_layout.h").read_text()
    assert "#define FG_INSTANCE_NAME_BYTES 64u" in header


def test_the_page_has_all_structures_of_an_index_with_their_places() -> None:
    expected = [(s.removeprefix("fg_"), *field) for s in INDEX_STRUCTS for field in fields_of(s)]
    rows = table("| in the cache | field |")
    assert [(row[0], row[1], int(row[2]), int(row[3])) for row in rows] == expected
    header = (SOURCE / INDEX_STRUCTS["fg_index_header"]).read_text()
    magic = re.search(r'#define FG_INDEX_MAGIC "(\w+)\\(\d)"', header)
    assert magic
    assert rows[0][4] == f"the text {magic[1]} and a byte with the version: {magic[2]}"
    assert "#define FG_INDEX_KEY_BYTES 32\n" in header
    ends = rows[[row[1] for row in rows].index("ended")][4]
    assert [word.split()[0] for word in ends.split(", ")] == [
        str(n) for n in range(len(_tracedata.SPAN_ENDS))
    ]
    for number, name in enumerate(_tracedata.SPAN_ENDS[:4]):
        assert f"{number} {name}" in ends


def test_the_page_has_the_columns_of_runs() -> None:
    expected = [
        (what, name, BYTES[c_type])
        for what, table_name in (("roots", "FG_ROOT_COLUMNS"), ("runs", "FG_RUN_COLUMNS"))
        for name, c_type in macro("tracedata/index/run_table.h", table_name)
    ]
    rows = table("| column of | name |")
    assert [(row[0], row[1], int(row[2])) for row in rows] == expected
    assert f"at most 2^{run_table._MOST_RUNS.bit_length() - 1} runs" in PAGE
    assert f"and 2^{run_table._MOST_ROOTS.bit_length() - 1} roots" in PAGE
    root, run = (sum(row[2] for row in expected if row[0] == what) for what in ("roots", "runs"))
    assert run_table._MOST_RUNS * run + run_table._MOST_ROOTS * root <= 32 << 20


def test_the_cache_is_what_the_page_says() -> None:
    text = PAGE[PAGE.index("## The cache of indexes") :]
    assert index_cache.LEAST_EVENTS == 1_000_000
    assert "of at least a million events" in text
    assert index_cache.MOST_BYTES == 1 << 30
    assert "at most 1 GiB" in text
    assert (index_cache._BEGIN_BYTES, index_cache._END_BYTES) == (4 << 10, 1 << 20)
    assert "the trace's first 4 KiB and last 1 MiB" in text


def test_the_magic_numbers_and_limits_are_those_of_the_page() -> None:
    header = (SOURCE / "tracedata/spool/chunk.h").read_text()
    found = re.findall(r'#define FG_SPOOL_(?:FOOTER_)?MAGIC "(\w+)(?:\\(\d))?"', header)
    what = {(row[0], row[1]): row[4] for row in table("| structure | field |")}
    assert (
        f"the text {found[0][0]} and a byte with the version: {found[0][1]}" == what["spool_header", "magic"]
    )
    assert f"the text {found[1][0]}" == what["spool_footer", "magic"]
    number = re.search(r"#define FG_SPOOL_CHUNK_MAGIC 0x(\w+)u", header)
    assert number
    assert f"the text {bytes.fromhex(number[1])[::-1].decode()}" == what["spool_chunk", "magic"]
    assert "#define FG_SPOOL_MAX_BYTES (64u << 20)" in header
    assert "at most 64 MiB" in what["spool_chunk", "bytes"]


@pytest.mark.parametrize(
    ("header", "path", "name"),
    [
        ("| type | name | payload |", "tracedata/spool/chunk.h", "FG_SPOOL_CHUNKS"),
        ("| type | name | strings |", "engine/ring/ring_layout.h", "FG_SYMBOL_TYPES"),
        ("| bit | name | the row has |", "tracedata/spool/rows.h", "FG_ROW_SURPRISES"),
        ("| codec | name |", "tracedata/base/codec.h", "FG_CODECS"),
        ("| kind | name | payload words |", "engine/ring/record.h", "FG_RECORD_KINDS"),
    ],
)
def test_the_page_has_all_rows_of_the_spools_tables(header: str, path: str, name: str) -> None:
    rows = macro(path, name)
    page = [(row[1].upper(), row[0], *row[2 : len(rows[0])]) for row in table(header)]
    assert page == rows
    assert len(page) >= 3


def test_the_page_has_all_types_of_fields() -> None:
    """A row has types that are alike, with the bytes of each."""
    text = (SOURCE / "engine/ring/field.h").read_text().split("#define FG_FIELD_TYPES(X)", 1)[1]
    types = re.findall(r'X\(\w+, "(\w+)", (\d)\)', text)
    page = [(row[0].split(", "), row[1].split(", ")) for row in table("| type | bytes | what |")]
    assert [pair for names, sizes in page for pair in zip(names, sizes, strict=True)] == types
    assert len(types) == 19
    record = (SOURCE / "engine/ring/record.h").read_text()
    assert "#define FG_EVENT_MAX_FIELD_BYTES ((FG_RECORD_MAX_WORDS - 4) * 8)" in record
    assert "field lies between `line` and 1008." in PAGE  # 24 and 123 words


def test_the_page_has_all_flags_of_functions() -> None:
    text = (SOURCE / "engine/core/func_flags.h").read_text()
    flags = {name: value for name, value in re.findall(r"FG_FUNC_(\w+) = (\d+)", text) if name != "SUSPENDS"}
    assert [row[0] for row in table("| flag | the function |")] == list(flags.values())


def test_the_page_has_all_clocks_with_their_numbers() -> None:
    page = [(row[0], row[1]) for row in table("| clock | name |")]
    assert page == [(str(number), name) for number, name in enumerate(_tracedata.CLOCKS)]


# ---- trace.dat


def test_the_page_has_all_events_with_their_ids(trace: Trace) -> None:
    ids = {}
    for text in trace.formats:
        match = re.match(r"name: (\w+)\nID: (\d+)\n", text)
        assert match
        ids[match[1]] = match[2]
    assert {row[0].split(":")[-1]: row[1] for row in table("| event | id |")} == ids


def test_the_page_has_all_fields_with_their_places(trace: Trace) -> None:
    fields = []
    for text in trace.formats:
        name = text.split("\n", 1)[0].removeprefix("name: ")
        for field, offset, size in re.findall(r"field:[\w ]* ([\w\[\]]+);\toffset:(\d+);\tsize:(\d+)", text):
            if not field.startswith("common_"):
                fields.append((name, field.removesuffix("[]"), offset, "rest" if size == "0" else size))
    page = [(row[0], row[1], row[2], row[3]) for row in table("| event | field |")]
    assert sorted(page) == sorted(fields)
    assert len(page) > 20


def test_the_page_has_all_members_of_the_json(trace: Trace) -> None:
    rows = table("| member | what |")
    assert sorted(name for row in rows for name in row[0].split(", ")) == sorted(trace.meta)
    what = {row[0]: row[1] for row in rows}
    for member in ("tasks", "processes"):
        names = what[member].split(": ", 1)[1].split(", ")
        assert names == list(trace.meta[member][0])


def test_the_page_has_all_tags_of_values() -> None:
    tags = [row[1] for row in macro("engine/ring/record.h", "FG_VALUE_TAGS")]
    page = [tag for row in table("| tag | value |") for tag in row[0].split(", ")]
    assert page == tags[1:]  # without 0, which ends the values
