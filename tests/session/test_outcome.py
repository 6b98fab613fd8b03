"""The closing lines suggest names similar to an unmatched pattern, and report every loss."""

from __future__ import annotations

import errno

import pytest

from funcgraph.names import nearest_names
from funcgraph.recorder import outcome
from funcgraph.recorder.progress import bytes_text, plural

pytestmark = pytest.mark.one_python

FUNCTIONS = [
    ("json.loads", "json"),
    ("json.decoder.JSONDecoder.decode", "json.decoder"),
    ("json.decoder.scanstring", "json.decoder"),
    ("__main__.main", "__main__"),
    ("re.compile", "re"),
]
NAMES = [name for name, _ in FUNCTIONS]


@pytest.mark.parametrize(
    ("pattern", "nearest"),
    [
        ("json.load", "json.loads"),
        ("jsn.loads", "json.loads"),
        ("loads", "json.loads"),
        ("JSONDecoder.decode", "json.decoder.JSONDecoder.decode"),
        ("*.scan_string", "json.decoder.scanstring"),
        ("__main__.mian", "__main__.main"),
        ("Main", "__main__.main"),
    ],
)
def test_nearest_name(pattern: str, nearest: str) -> None:
    assert nearest_names(pattern, NAMES)[0] == nearest


@pytest.mark.parametrize("pattern", ["*", "[]", "zzzzzzzz", ""])
def test_no_name_is_near(pattern: str) -> None:
    assert nearest_names(pattern, NAMES) == []


def test_only_the_patterns_that_nothing_matched_are_named() -> None:
    line = outcome.nothing_matched(["json.*", "mian"], FUNCTIONS)
    assert line == "nothing matched mian; the nearest names that ran: __main__.main"


@pytest.mark.parametrize(
    "pattern", ["json.*", ":mod:json", "*.decode:mod:json", ":mod:!asyncio", r"json\.loads"]
)
def test_functions_that_match_but_were_not_called(pattern: str) -> None:
    assert outcome.nothing_matched([pattern], FUNCTIONS) == f"no function that matches {pattern} was called"


def test_an_instance_in_which_nothing_matched_is_named() -> None:
    def instance(name: str, *patterns: str, **others: object) -> dict[str, object]:
        settings = {"tracer": "function_graph", "filter": patterns, "graph": [], "thresh_us": 0, "events": []}
        return {"name": name, **settings, **others}

    instances = [
        instance("", "mian"),
        instance("has", "nothing.like.it"),
        instance("typo", "json.lods"),
        instance("quick", "json.*", thresh_us=5),
        instance("slow", "jsno.*", thresh_us=5),
        instance("graph", graph=["re.compile"]),
        instance("module", "scan*:mod:json"),
        instance("modules", "*scan*:mod:json"),
        instance("all"),
        instance("nothing", "no.such", tracer="nop"),
        instance("block", "no.such", tracer="loopblock", thresh_us=5),
        instance("wait", tracer="wakeup"),
        instance("why-gil", tracer="gilwait"),  # of --why: nobody has named this tracer
        instance("lock", tracer="gilwait"),
        instance("event", tracer="nop", events=["f:a/b json.lods s"]),
        instance("hit", tracer="nop", events=["f:a/b json.lods s", "f:a/c json.loads s"]),
    ]
    assert outcome.silent({"instances": instances}, {"has": 3, "typo": 0, "lock": 1}, FUNCTIONS) == [
        "the top instance: nothing matched mian; the nearest names that ran: __main__.main",
        "instance 'typo': nothing matched json.lods; the nearest names that ran: json.loads",
        "instance 'slow': nothing matched jsno.*",
        "instance 'graph': no function that matches re.compile was called",
        (
            "instance 'module': nothing matched scan*:mod:json; the nearest names that ran: "
            "json.decoder.scanstring"
        ),
        "instance 'modules': no function that matches *scan*:mod:json was called",
        "instance 'block': loopblock found no section of 5 us or more",
        "instance 'wait': wakeup found no section; it cannot hear uvloop",
        "instance 'event': nothing matched json.lods; the nearest names that ran: json.loads",
    ]


def test_losses_are_all_told_and_a_wait_is_none() -> None:
    totals = {"lost": 1, "damaged": 4, "overrun": 2000, "waits": 3, "wait_ns": 1_500_000_000, "cut": 2}
    lost, damaged, overrun, cut = outcome.losses(totals)
    assert lost.startswith("1 event lost")
    assert damaged.startswith("4 places damaged")
    assert overrun.startswith("2,000 calls not traced")
    assert cut == "symbols of 2 processes cut at 64 MiB: names are missing there"
    (waited,) = outcome.waits(totals)
    assert "3 times" in waited
    assert "1.500 s" in waited
    assert outcome.losses(dict.fromkeys(totals, 0)) == outcome.waits(dict.fromkeys(totals, 0)) == []


def test_missing_processes_are_told_in_one_line_with_their_reasons() -> None:
    assert outcome.missing([], 0) == []
    (line,) = outcome.missing([(12, errno.EACCES)], 0)
    assert line == "1 forked process could not be traced: no permission for the session's folder (12)"
    few = [(pid, errno.ENOENT) for pid in range(1, 8)]
    (line,) = outcome.missing([*few, (9, errno.EMFILE), (10, errno.EXDEV), (11, 0)], 1000)
    assert line == (
        "1,010 forked processes could not be traced: the session's folder is not under their root directory "
        "(1, 2, 3, 4, 5, ...); no file descriptor was left (9); Invalid cross-device link (10); "
        "killed meanwhile (11); 1,000 more"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (5 << 20, "5.0 MiB"), (3 << 40, "3.0 TiB")],
)
def test_sizes(count: int, text: str) -> None:
    assert bytes_text(count) == text


def test_plural() -> None:
    assert [plural(1, "process"), plural(2, "process"), plural(1234, "event")] == [
        "1 process",
        "2 processes",
        "1,234 events",
    ]
