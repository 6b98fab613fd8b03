"""Traces of several machines as one. A time namespace is a machine whose clock differs by a known time."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import funcgraph
from funcgraph.merge import Exchange, Match, MergeError, exchange, merge
from funcgraph.merge.hosts import Instant
from funcgraph.merge.join import _find_lines, _Machine
from funcgraph.merge.messages import Ends
from funcgraph.tracedata import TraceFile
from tests.support import fgreader

pytestmark = pytest.mark.one_python

AHEAD_S = 100_000
AHEAD_NS = AHEAD_S * 1_000_000_000
OTHER = [
    "unshare",
    "--uts",
    "--time",
    "--monotonic",
    str(AHEAD_S),
    "sh",
    "-c",
    'hostname web2; exec "$@"',
    "sh",
]
HERE = ["unshare", "--uts", "sh", "-c", 'hostname web1; exec "$@"', "sh"]
FUNCGRAPH = [sys.executable, "-m", "funcgraph"]

PROGRAM = """
import sys

def send(id): pass
def receive(id): pass
def work(n): return [send(i) for i in range(n)]

work(int(sys.argv[1]))
for line in sys.stdin:
    name, number = line.split()
    globals()[name](int(number))
    print("done", flush=True)
"""


def has_time_namespaces() -> bool:
    return (
        shutil.which("unshare") is not None and subprocess.run([*OTHER, "true"], check=False).returncode == 0
    )


needs_other = pytest.mark.skipif(
    not has_time_namespaces(), reason="a time namespace needs root and Linux 5.6"
)


def record(folder: Path, name: str, prefix: list[str], calls: int, *options: str) -> Path:
    program, trace = folder / "program.py", folder / name
    program.write_text(PROGRAM)
    words = [*prefix, *FUNCGRAPH, "record", *options, "-o", str(trace), str(program), str(calls)]
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True)
    return trace


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("parts")
    one = record(folder, "one.fg", HERE, 3)
    before = time.monotonic_ns()
    two = record(folder, "two.fg", OTHER, 5)
    after = time.monotonic_ns()
    return {"one": one, "two": two, "third": record(folder, "third.fg", HERE, 7), "span": (before, after)}


def counts(trace: Path, buffer: int) -> Counter[str]:
    rows = TraceFile(trace).summary(buffers=[buffer])
    return Counter({row.function.name: row.calls for row in rows if row.function})


@pytest.fixture(scope="module")
def merged(parts: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("merged") / "all.fg"
    merge([parts["one"], parts["two"], parts["third"]], target)
    return target


@needs_other
class TestTwoHosts:
    def test_calls_are_those_of_the_parts(self, parts: dict[str, Any], merged: Path) -> None:
        trace = TraceFile(merged)
        assert [buffer.name for buffer in trace.buffers] == ["", "web1", "web2"]
        assert counts(merged, 1) == counts(parts["one"], 0) + counts(parts["third"], 0)
        assert counts(merged, 2) == counts(parts["two"], 0)
        assert counts(merged, 2)["__main__.send"] == 5
        assert trace.lost == 0

    def test_each_task_names_its_host(self, merged: Path) -> None:
        with funcgraph.open(merged) as trace:
            assert sorted(task.host for task in trace.tasks) == ["web1", "web1", "web2"]
            assert set(trace.hosts) == {"web1", "web2"}
            assert trace.hosts["web1"] == 0

    def test_times_of_the_other_host_are_when_it_ran(self, parts: dict[str, Any], merged: Path) -> None:
        before, after = parts["span"]
        with funcgraph.open(merged) as trace:
            times = [event.time_ns for event in trace.events(buffers=["web2"])]
            assert before < min(times) <= max(times) < after
            assert times == sorted(times)
            here = [event.time_ns for event in trace.events(buffers=["web1"])]
            assert min(here) < before
            assert max(here) > after

    def test_a_reader_written_from_the_page_reads_the_same(self, merged: Path) -> None:
        plain = fgreader.FgTrace(merged.read_bytes())
        assert plain.buffers == ["", "web1", "web2"]
        with funcgraph.open(merged) as trace:
            assert [event.time for event in plain.events()] == [event.time_ns for event in trace.events()]

    def test_a_trace_dat_of_it_has_the_hosts_as_buffers(self, merged: Path, tmp_path: Path) -> None:
        target = tmp_path / "all.dat"
        subprocess.run([*FUNCGRAPH, "convert", str(merged), str(target)], check=True)
        assert [buffer.name for buffer in TraceFile(target).buffers] == ["", "web1", "web2"]
        assert counts(target, 2) == counts(merged, 2)

    def test_the_report_names_the_host_in_each_line_and_how_far_off_it_is(self, merged: Path) -> None:
        lines = b"".join(TraceFile(merged).report()).decode().splitlines()
        sends = [line for line in lines if "send()" in line]
        assert Counter(line.split(":")[0].strip() for line in sends) == {"web1": 10, "web2": 5}
        assert any(line.startswith("# host web2: ") for line in lines)

    def test_one_host_alone_is_shown(self, merged: Path) -> None:
        words = [*FUNCGRAPH, "summary", "--json", "-B", "web2", str(merged)]
        text = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        (row,) = [row for row in json.loads(text)["functions"] if row["name"] == "__main__.send"]
        assert row["calls"] == 5

    def test_a_merged_trace_is_refused(self, parts: dict[str, Any], merged: Path, tmp_path: Path) -> None:
        with pytest.raises(MergeError, match="merged trace already"):
            merge([parts["one"], merged], tmp_path / "no.fg")
        assert not (tmp_path / "no.fg").exists()

    def test_stamps_of_an_unknown_host_are_refused(self, parts: dict[str, Any], tmp_path: Path) -> None:
        with pytest.raises(MergeError, match="stamps of 'web3', which is no host"):
            merge([parts["one"], parts["two"]], tmp_path / "no.fg", stamps={"web3": []})


def clock_of(prefix: list[str]) -> subprocess.Popen[str]:
    code = "import sys, time\nfor _ in sys.stdin: print(time.monotonic_ns(), flush=True)"
    words = [*prefix, sys.executable, "-c", code]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def command(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin and process.stdout
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline()


@needs_other
def test_exchanged_stamps_tell_the_offset_within_their_bound(parts: dict[str, Any], tmp_path: Path) -> None:
    """A namespace's clock is ahead by a known number of seconds: that is the truth."""
    with clock_of(OTHER) as other:
        stamps = exchange(lambda function: int(command(other, "now")), rounds=8)
        assert other.stdin
        other.stdin.close()
    merged = merge([parts["one"], parts["two"]], tmp_path / "all.fg", stamps={"web2": stamps})
    host = merged.hosts[1]
    assert host.source == "stamps"
    assert host.error_ns is not None
    line = next(
        ring for ring in fgreader.FgTrace((tmp_path / "all.fg").read_bytes()).rings if ring.host == "web2"
    )
    for host_ns, line_ns in line.host_times:
        assert abs(host_ns - AHEAD_NS - line_ns) <= host.error_ns
    assert line.host_error_ns == host.error_ns


@pytest.fixture
def talkers(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Two programs, each on its host, whose sends and receives are recorded as events."""
    (tmp_path / "program.py").write_text(PROGRAM)
    events = ["-e", "f:app/send __main__.send id=id:s64", "-e", "f:app/receive __main__.receive id=id:s64"]
    talkers = [
        subprocess.Popen(
            [
                *prefix,
                *FUNCGRAPH,
                "record",
                *events,
                "-o",
                str(tmp_path / name),
                str(tmp_path / "program.py"),
                "0",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for prefix, name in ((HERE, "one.fg"), (OTHER, "two.fg"))
    ]
    yield talkers
    for talker in talkers:
        talker.kill()
        talker.communicate()


@needs_other
def test_messages_tell_the_offset_within_their_bound(
    talkers: list[subprocess.Popen[str]], tmp_path: Path
) -> None:
    here, other = talkers
    for number in range(20):
        command(here, f"send {2 * number}")
        command(other, f"receive {2 * number}")
        command(other, f"send {2 * number + 1}")
        command(here, f"receive {2 * number + 1}")
    for talker in talkers:
        talker.communicate()
    match = Match.parse("app/send.id=app/receive.id")
    merged = merge([tmp_path / "one.fg", tmp_path / "two.fg"], tmp_path / "all.fg", matches=[match])
    host = merged.hosts[1]
    assert host.source == "messages"
    assert host.error_ns is not None
    ring = next(
        ring for ring in fgreader.FgTrace((tmp_path / "all.fg").read_bytes()).rings if ring.host == "web2"
    )
    for host_ns, line_ns in ring.host_times:
        assert abs(host_ns - AHEAD_NS - line_ns) <= host.error_ns
    with funcgraph.open(tmp_path / "all.fg") as trace:
        order = [int(str(event.fields["id"])) for event in trace.events() if event.kind == "event"]
    assert sorted(order) == sorted([*range(40), *range(40)])
    assert order[0] == 0
    assert order[-1] == 39


def machine(name: str, ahead_ns: int) -> _Machine:
    """Return a host that was recorded for a second, whose clock is ahead of the reference's."""
    at = 50_000_000_000 + ahead_ns
    return _Machine(name, name, [Instant(at, 10**18, None), Instant(at + 10**9, 10**18 + 10**9, None)])


def talk(
    sender: _Machine, receiver: _Machine, ahead: dict[str, int], ends: dict[str, Ends], key: str
) -> None:
    """Add ten messages that take 20 us each."""
    for number in range(10):
        sent_ns = 50_000_000_000 + number * 10**8
        ends[sender.name].sent[key, number] = sent_ns + ahead[sender.name]
        ends[receiver.name].received[key, number] = sent_ns + 20_000 + ahead[receiver.name]


def test_messages_between_two_hosts_of_which_neither_is_the_first_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """web2 talks only to web3, which talks only to web4, which talks to the first."""
    ahead = {"web1": 0, "web2": 7 * 10**9, "web3": -3 * 10**9, "web4": 10**8}
    hosts = {name: machine(name, ahead_ns) for name, ahead_ns in ahead.items()}
    ends = {name: Ends({}, {}) for name in hosts}
    for one, other in (("web2", "web3"), ("web3", "web4"), ("web4", "web1")):
        talk(hosts[one], hosts[other], ahead, ends, one)
        talk(hosts[other], hosts[one], ahead, ends, other + one)
    monkeypatch.setattr(_Machine, "ends", lambda self, matches: ends[self.name])
    _find_lines(hosts["web1"], list(hosts.values()), {}, [Match.parse("a/b.c=a/d.c")])
    errors = []
    for name, host in hosts.items():
        if name == "web1":
            continue
        assert host.source == "messages", name
        assert host.line.error_ns is not None
        errors.append(host.line.error_ns)
        for at in (50_000_000_000, 51_000_000_000):
            assert abs(host.line.at(at + ahead[name]) - at) <= host.line.error_ns
    assert errors == sorted(errors, reverse=True)  # each step adds its own error
    assert max(errors) < 1_000_000


@pytest.fixture(scope="module")
def plain_parts(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("plain")
    return record(folder, "2.fg", [], 2), record(folder, "3.fg", [], 3)


@pytest.fixture
def copies(plain_parts: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    one, two = (Path(shutil.copy(part, tmp_path)) for part in plain_parts)
    return one, two


def test_traces_of_one_host_need_no_names(copies: tuple[Path, Path], tmp_path: Path) -> None:
    one, two = copies
    merged = merge([one, two], tmp_path / "all.fg")
    assert len(merged.hosts) == 1
    assert [buffer.name for buffer in TraceFile(merged.path).buffers] == [""]
    assert counts(Path(merged.path), 0) == counts(one, 0) + counts(two, 0)


def test_a_host_of_which_only_other_instances_recorded_can_be_shown(tmp_path: Path) -> None:
    parts = [record(tmp_path, f"{name}.fg", [], 3, "-B", "api") for name in ("web1", "web2")]
    target = tmp_path / "all.fg"
    merge(parts, target, names={str(part): part.stem for part in parts})
    assert "web2" not in [buffer.name for buffer in TraceFile(target).buffers if buffer.events]

    def summary(name: str) -> subprocess.CompletedProcess[str]:
        words = [*FUNCGRAPH, "summary", "--json", "-B", name, str(target)]
        return subprocess.run(words, check=False, capture_output=True, text=True)

    shown = json.loads(summary("web2").stdout)
    assert shown == json.loads(summary("web2/api").stdout)
    assert "__main__.send" in [row["name"] for row in shown["functions"]]
    assert "no instance or host 'web3'; it has: 'web1/api', 'web2/api'" in summary("web3").stderr


def test_a_trace_that_was_cut_off_is_merged_as_far_as_it_is_whole(
    copies: tuple[Path, Path], tmp_path: Path
) -> None:
    one, two = copies
    data = two.read_bytes()
    two.write_bytes(data[: len(data) - 16])
    merged = merge([one, two], tmp_path / "all.fg")
    assert merged.damaged == 0
    assert counts(Path(merged.path), 0)["__main__.send"] == 5


def test_damage_is_told_and_the_rest_is_there(copies: tuple[Path, Path], tmp_path: Path) -> None:
    one, two = copies
    reader = fgreader.FgTrace(two.read_bytes())
    data = bytearray(two.read_bytes())
    at = next(chunk.offset for chunk in reader.file.chunks if chunk.type == fgreader.STATE)
    data[at + 1] ^= 1
    two.write_bytes(data[: len(data) - 16])  # without the directory the damaged header counts
    words = [*FUNCGRAPH, "merge", str(one), str(two), "-o", str(tmp_path / "all.fg")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "1 place of the traces damaged" in done.stderr
    assert counts(tmp_path / "all.fg", 0)["__main__.send"] == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["one.fg", "no.fg"], "no.fg: No such file or directory"),
        (["one.fg", "program.py"], "program.py: "),
        (["one.fg", "--match", "x"], "a match is SEND_GROUP/EVENT.FIELD=RECEIVE_GROUP/EVENT.FIELD, not 'x'"),
        (["one.fg", "--host", "x"], "--host x: must be NAME=TRACE.fg, with one of the traces"),
        (["one.fg", "--stamps", "program.py"], "program.py: "),
        (["one.fg", "-o", "x.dat"], "x.dat: a merged trace is a .fg"),
        (["one.fg", "two.fg", "./one.fg"], "./one.fg: is given twice"),
    ],
)
def test_bad_input_gets_one_line_and_nothing_is_written(
    words: list[str], message: str, copies: tuple[Path, Path], tmp_path: Path
) -> None:
    copies[0].rename(tmp_path / "one.fg")
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [*FUNCGRAPH, "merge", "-o", "all.fg", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "all.fg").exists()
    assert not (tmp_path / "x.dat").exists()


def test_a_trace_that_is_merged_is_not_written_over(copies: tuple[Path, Path]) -> None:
    one, two = copies
    before = one.read_bytes()
    link = one.with_name("link.fg")
    link.symlink_to(one)
    for output in (one, link):
        words = [*FUNCGRAPH, "merge", "-o", str(output), str(two), str(one)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"funcgraph: {one}: is the output too\n"
        assert one.read_bytes() == before


def test_stamps_in_a_file_are_read(tmp_path: Path) -> None:
    from funcgraph.merge.stamps import read_stamps

    (tmp_path / "stamps.json").write_text('{"web2": [[1, 5, 6, 4]]}')
    assert read_stamps(str(tmp_path / "stamps.json")) == {"web2": [Exchange(1, 5, 6, 4)]}
    for wrong in ('{"web2": [[4, 5, 6, 1]]}', '{"web2": [[1, 5, 6]]}', "[]", '{"web2": [["1", 2, 3, 4]]}'):
        (tmp_path / "stamps.json").write_text(wrong)
        with pytest.raises(ValueError, match="not an object"):
            read_stamps(str(tmp_path / "stamps.json"))
