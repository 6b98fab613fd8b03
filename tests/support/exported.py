"""Readers of exports: what each format says of a trace, in one form, to be compared with summary.

Each reader uses the format's own library where there is one, else what its documents say.
"""

from __future__ import annotations

import base64
import csv
import gzip
import json
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# Python's csv refuses longer fields.
csv.field_size_limit(1 << 24)


class Slice(NamedTuple):
    """A stretch of a call. `thread` is whatever tells threads apart."""

    thread: object
    begin_ns: int
    end_ns: int
    name: str
    values: dict[str, object]


@dataclass
class Figures:
    """What a format says of each function, by name.

    Attributes:
        stretches: how often it began or was resumed.
        self_ns: time without callees.
        names: of all functions.
    """

    stretches: Counter[str] = field(default_factory=Counter)
    self_ns: Counter[str] = field(default_factory=Counter)


def figures_of_summary(summary: dict[str, Any]) -> Figures:
    """Return the figures of `funcgraph summary --json`, or the sum of those of each instance."""
    figures = Figures()
    for table in summary.get("buffers", {"": summary}).values():
        for row in table["functions"]:
            figures.stretches[row["name"]] += row["calls"] + row["resumes"]
            figures.self_ns[row["name"]] += row["self_ns"]
    return figures


def figures_of_slices(slices: Iterable[Slice]) -> Figures:
    """Add up slices; those of a thread must nest."""
    figures = Figures()
    by_thread: defaultdict[object, list[Slice]] = defaultdict(list)
    for one in slices:
        by_thread[one.thread].append(one)
    for nested in by_thread.values():
        stack: list[Slice] = []
        for one in sorted(nested, key=lambda one: (one.begin_ns, -one.end_ns)):
            while stack and stack[-1].end_ns <= one.begin_ns:
                stack.pop()
            if stack:
                assert one.end_ns <= stack[-1].end_ns, f"{one} does not nest in {stack[-1]}"
                figures.self_ns[stack[-1].name] -= one.end_ns - one.begin_ns
            figures.stretches[one.name] += 1
            figures.self_ns[one.name] += one.end_ns - one.begin_ns
            stack.append(one)
    return figures


# ---- Perfetto


@dataclass
class Perfetto:
    """A Perfetto trace, decoded.

    Attributes:
        slices: of all tracks; `thread` is the uuid.
        instants: (uuid, time, name, values).
        tracks: uuid -> TrackDescriptor.
        flows: flow id -> begins of slices, in order of time.
    """

    slices: list[Slice] = field(default_factory=list)
    instants: list[tuple[int, int, str, dict[str, object]]] = field(default_factory=list)
    tracks: dict[int, Any] = field(default_factory=dict)
    flows: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def of_threads(self) -> list[Slice]:
        """Return the slices of threads and instances, without those of event loops' tasks."""
        return [one for one in self.slices if not self.tracks[one.thread].name.startswith("task ")]


def read_perfetto(path: Path) -> Perfetto:
    """Decode a trace as trace_processor does: clocks, interned names, events of a track in order of time."""
    proto = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    trace = proto.Trace()
    trace.ParseFromString(path.read_bytes())
    names: dict[str, dict[int, str]] = {"event": {}, "note": {}, "text": {}}
    found = Perfetto()
    clock, delta_ns, events = 0, 0, []
    for order, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == 1
        if packet.HasField("clock_snapshot"):
            assert order == 0 and packet.sequence_flags == 1
            clocks = {each.clock_id: each for each in packet.clock_snapshot.clocks}
            delta_clock = packet.trace_packet_defaults.timestamp_clock_id
            assert clocks[delta_clock].is_incremental
            clock, delta_ns = packet.clock_snapshot.primary_trace_clock, clocks[delta_clock].timestamp
        for each in packet.interned_data.event_names:
            names["event"][each.iid] = each.name
        for each in packet.interned_data.debug_annotation_names:
            names["note"][each.iid] = each.name
        for each in packet.interned_data.debug_annotation_string_values:
            names["text"][each.iid] = each.str.decode()
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in found.tracks
            found.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if packet.HasField("track_event"):
            if packet.timestamp_clock_id:
                assert packet.timestamp_clock_id == clock
                events.append((packet.timestamp, order, packet.track_event))
            else:
                delta_ns += packet.timestamp
                events.append((delta_ns, order, packet.track_event))
    _nest_perfetto(found, sorted(events, key=lambda event: event[:2]), names)
    return found


def _nest_perfetto(found: Perfetto, events: list[Any], names: dict[str, dict[int, str]]) -> None:
    stacks: defaultdict[int, list[Slice]] = defaultdict(list)
    for time, _, event in events:
        values = dict(_annotation(note, names) for note in event.debug_annotations)
        name = names["event"][event.name_iid] if event.name_iid else event.name
        assert event.track_uuid in found.tracks
        for flow in event.flow_ids:
            found.flows[flow].append(time)
        if event.type == event.TYPE_SLICE_BEGIN:
            stacks[event.track_uuid].append(Slice(event.track_uuid, time, -1, name, values))
        elif event.type == event.TYPE_SLICE_END:
            begun = stacks[event.track_uuid].pop()
            found.slices.append(begun._replace(end_ns=time, values={**begun.values, **values}))
        else:
            found.instants.append((event.track_uuid, time, name, values))
    assert not any(stacks.values()), "slices without an end"


def _annotation(note: Any, names: dict[str, dict[int, str]]) -> tuple[str, object]:
    name = names["note"][note.name_iid] if note.name_iid else note.name
    kind = note.WhichOneof("value")
    value = getattr(note, kind)
    return name, names["text"][value] if kind == "string_value_iid" else value


# ---- JSON


def read_chrome(path: Path) -> list[dict[str, Any]]:
    """Return the events of a trace in the Trace Event Format, times in nanoseconds."""
    document = json.loads(path.read_text("ascii"), parse_float=Decimal)
    for event in document["traceEvents"]:
        assert event["ph"] in "XMistf"
        for key in {"ts", "dur"} & event.keys():
            nanoseconds = Decimal(event[key]) * 1000
            assert nanoseconds == int(nanoseconds)
            event[key] = int(nanoseconds)
    return list(document["traceEvents"])


def chrome_slices(path: Path) -> list[Slice]:
    return [
        Slice(
            (event["pid"], event["tid"]),
            event["ts"],
            event["ts"] + event["dur"],
            event["name"],
            event.get("args", {}),
        )
        for event in read_chrome(path)
        if event["ph"] == "X" and "cat" not in event
    ]


def speedscope_slices(path: Path) -> list[Slice]:
    """Read a file as speedscope's importer does: it refuses ends of other frames, and times that go back."""
    document = json.loads(path.read_text("ascii"))
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = document["shared"]["frames"]
    slices = []
    for number, profile in enumerate(document["profiles"]):
        assert (profile["type"], profile["unit"]) == ("evented", "nanoseconds")
        stack: list[tuple[int, int]] = []
        last = profile["startValue"]
        for event in profile["events"]:
            assert last <= event["at"] <= profile["endValue"]
            last = event["at"]
            if event["type"] == "O":
                stack.append((event["frame"], event["at"]))
                continue
            assert event["type"] == "C"
            frame, begin = stack.pop()
            assert frame == event["frame"]
            slices.append(Slice(number, begin, event["at"], frames[frame]["name"], frames[frame]))
        assert not stack
    return slices


def firefox_profile(path: Path) -> dict[str, Any]:
    profile: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    assert profile["meta"]["preprocessedProfileVersion"] == 48
    for thread in profile["threads"]:
        for table in (
            "samples",
            "markers",
            "stackTable",
            "frameTable",
            "funcTable",
            "resourceTable",
            "nativeSymbols",
        ):
            columns = {name: items for name, items in thread[table].items() if isinstance(items, list)}
            assert {len(items) for items in columns.values()} == {thread[table]["length"]}, table
    return profile


def firefox_figures(path: Path) -> Figures:
    """Count how often each function came onto a stack, and the weights of samples by innermost function."""
    figures = Figures()
    for thread in firefox_profile(path)["threads"]:
        samples, stacks, strings = thread["samples"], thread["stackTable"], thread["stringArray"]
        assert samples["weightType"] == "tracing-ms"
        assert samples["time"] == sorted(samples["time"])

        def name(stack: int, thread: dict[str, Any] = thread, strings: list[str] = strings) -> str:
            function = thread["frameTable"]["func"][thread["stackTable"]["frame"][stack]]
            return strings[thread["funcTable"]["name"][function]]

        before: int | None = None
        for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
            if stack is not None:
                if stacks["prefix"][stack] == before:
                    figures.stretches[name(stack)] += 1
                figures.self_ns[name(stack)] += round(weight * 1e6)
            before = stack
    return figures


# ---- tables


def figures_of_rows(rows: Iterable[dict[str, Any]]) -> Figures:
    figures = Figures()
    for row in rows:
        figures.stretches[row["function"]] += 1 + int(row.get("resumes") or 0)
        figures.self_ns[row["function"]] += int(row["self_ns"])
    return figures


def csv_rows(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, strict=True))


def json_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("ascii").splitlines()]


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    return list(parquet.read_table(path).to_pylist())


def arrow_rows(path: Path) -> list[dict[str, Any]]:
    pyarrow = pytest.importorskip("pyarrow")
    with pyarrow.ipc.open_file(path) as file:
        return list(file.read_all().to_pylist())


# ---- OTLP


def otlp_spans(path: Path) -> list[Any]:
    """Decode both forms with the messages of opentelemetry-proto."""
    proto = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    data = proto.TracesData()
    if path.suffix == ".pb":
        data.ParseFromString(path.read_bytes())
    else:
        json_format = pytest.importorskip("google.protobuf.json_format")
        for line in path.read_text("ascii").splitlines():
            one = proto.TracesData()
            # In JSON of OTLP, ids are in base 16, not in base 64 as in that of Protocol Buffers.
            json_format.ParseDict(_with_base64_ids(json.loads(line)), one)
            data.MergeFrom(one)
    return [
        span for resource in data.resource_spans for scope in resource.scope_spans for span in scope.spans
    ]


def _with_base64_ids(value: Any) -> Any:
    import base64

    if isinstance(value, list):
        return [_with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode()
        if key in ("traceId", "spanId", "parentSpanId")
        else _with_base64_ids(item)
        for key, item in value.items()
    }


def attributes(span: Any) -> dict[str, object]:
    found = {}
    for attribute in span.attributes:
        kind = attribute.value.WhichOneof("value")
        found[attribute.key] = getattr(attribute.value, kind) if kind else None
    return found


def figures_of_spans(path: Path) -> Figures:
    figures = Figures()
    for span in otlp_spans(path):
        values = attributes(span)
        figures.stretches[span.name] += 1 + int(str(values.get("funcgraph.resumes", 0)))
        figures.self_ns[span.name] += int(str(values["funcgraph.self_ns"]))
    return figures


#: Format -> suffix of its files, and what reads its figures.
READERS: dict[str, tuple[str, Callable[[Path], Figures]]] = {
    "perfetto": (".pftrace", lambda path: figures_of_slices(read_perfetto(path).of_threads())),
    "chrome": (".json", lambda path: figures_of_slices(chrome_slices(path))),
    "speedscope": (".speedscope.json", lambda path: figures_of_slices(speedscope_slices(path))),
    "firefox": (".json.gz", firefox_figures),
    "csv": (".csv", lambda path: figures_of_rows(csv_rows(path))),
    "jsonl": (".jsonl", lambda path: figures_of_rows(json_rows(path))),
    "parquet": (".parquet", lambda path: figures_of_rows(parquet_rows(path))),
    "arrow": (".arrow", lambda path: figures_of_rows(arrow_rows(path))),
    "otlp": (".otlp.jsonl", figures_of_spans),
    "otlp-proto": (".otlp.pb", figures_of_spans),
}


def head_of(page: str) -> dict[str, Any]:
    """Return what a page for a browser has besides its columns."""
    data = zlib.decompress(base64.b64decode(page.partition('id="embedded-trace">')[2].partition("<")[0]))
    head: dict[str, Any] = json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])
    return head
