"""The test suites of other people's packages, from their source distributions.

A package's sdist is downloaded once, into a cache; its tests run against the wheel of the same version, which
the environment has (pyproject.toml, group `real`). Each run has the sdist unpacked afresh.
"""

from __future__ import annotations

import os
import re
import tarfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tools.console import run as run_tool
from tools.real import compare
from tools.real.compare import Seen, Verdict

#: How a suite is traced: by `funcgraph record`, or by the plugin for pytest.
Way = Literal["record", "plugin"]


@dataclass(frozen=True)
class Suite:
    """A package with its tests.

    Args:
        package: its name on the index.
        arguments: for pytest.
        reason: why tests are left out.
        whole: what the plugin runs instead: it writes nothing of tests that pass. Empty: the same.
    """

    package: str
    arguments: Sequence[str]
    reason: str = ""
    whole: Sequence[str] = ()

    def arguments_of(self, way: Way) -> Sequence[str]:
        """Return what pytest is given for a way of tracing."""
        return self.whole if self.whole and way == "plugin" else self.arguments


SUITES = (
    Suite("attrs", ["tests"]),
    Suite("cachetools", ["tests"]),
    Suite("click", ["tests"]),
    Suite("httpx", ["tests"]),
    Suite("idna", ["tests", "--ignore=tests/test_idna_uts46.py"], "test_idna_uts46 makes too much data"),
    Suite("itsdangerous", ["tests"]),
    Suite("jinja2", ["tests"]),
    Suite("markupsafe", ["tests"]),
    Suite(
        "more-itertools",
        ["tests/test_recipes.py", "-k", "not PrimeFunction"],
        "test_more and the tests of primes make too much data",
        whole=["tests"],
    ),
    Suite(
        "packaging",
        [f"tests/test_{name}.py" for name in ("markers", "metadata", "tags", "utils")],
        "test_version and test_specifiers make 13 GB of trace",
    ),
    Suite("pluggy", ["testing"]),
    Suite(
        "pytest",
        [f"testing/test_{name}.py" for name in ("capture", "mark", "monkeypatch", "recwarn", "skipping")],
        "the others make too much data",
        whole=["testing"],
    ),
    Suite("tabulate", ["test"]),
    Suite("toolz", ["toolz/tests"]),
)

#: Prints the version of a package that is installed.
_VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"


def sdist(package: str, python: Path, cache: Path) -> Path:
    """Return the sdist of the version of a package that `python` has, downloaded if the cache has none."""
    version = compare.run([python, "-c", _VERSION, package], cache, os.environ)[1].strip()
    folder = cache / f"{package}-{version}"
    found = list(folder.glob("*.tar.gz"))
    if not found:
        pip = ["-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
        options = ["--no-binary", ":all:", "--dest", str(folder), f"{package}=={version}"]
        run_tool([python, *pip, *options], log=cache / "pip.log")
        found = list(folder.glob("*.tar.gz"))
    return found[0]


_PLUGIN = ("--funcgraph", "--funcgraph-slow=3")
#: pytest's exit statuses if all tests passed, or some failed. With others a module was not even imported.
_TESTED = (0, 1)


def judge(suite: Suite, archive: Path, python: Path, folder: Path, way: Way = "record") -> Verdict:
    """Run a suite untraced, twice, and traced."""
    arguments = suite.arguments_of(way)
    plain = [_run(arguments, archive, python, folder / f"untraced-{n}", None) for n in range(2)]
    traced = _run(arguments, archive, python, folder / "traced", way)
    return compare.judge(archive.name.removesuffix(".tar.gz"), plain, traced)


def _run(arguments: Sequence[str], archive: Path, python: Path, folder: Path, way: Way | None) -> Seen:
    folder.mkdir(parents=True)
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (source,) = (path for path in folder.iterdir() if path.is_dir())
    temporary = folder / "tmp"
    temporary.mkdir()
    environment = {
        **os.environ,
        "CI": "true",  # hypothesis then repeats its examples and ignores how long they take
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(temporary),
        "COLUMNS": "80",
    }
    report = folder / "report.xml"
    pytest = ["-m", "pytest", "-p", "no:cacheprovider", "-q", f"--junit-xml={report}"]
    plugin = _PLUGIN if way == "plugin" else ()
    command: list[str | Path] = [python, *pytest, *plugin, *arguments]
    trace = folder / "trace.fg"
    if way == "record":
        command = [python, "-m", "funcgraph", *compare.RECORD, "-o", trace, *command]
    status, out, err, seconds = compare.run(command, source, environment)
    outcomes = read_report(report) if report.exists() and status in _TESTED else {}
    events, notes = compare.recorder_notes(err) if way == "record" else (plugin_calls(out), ())
    trace.unlink(missing_ok=True)  # gigabytes, and the folder is kept until all is compared
    return Seen(outcomes, status, seconds, events, notes)


def plugin_calls(out: str) -> int:
    """Return about how many calls the plugin recorded, by what pytest printed; 0: the plugin was not used."""
    found = re.search(r"^funcgraph: tests recorded: .*\(about ([\d,]+) calls\)", out, re.MULTILINE)
    return int(found[1].replace(",", "")) if found else 0


def read_report(path: Path) -> dict[str, str]:
    """Return the outcome of each test in a JUnit report: passed, failure, error or skipped."""
    outcomes: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        # An id may have an object's address, which differs from run to run.
        name = re.sub(r"0x[0-9a-f]+", "0x", f"{case.get('classname')}::{case.get('name')}")
        seen[name] += 1
        key = name if seen[name] == 1 else f"{name} ({seen[name]})"
        outcomes[key] = ", ".join(sorted(child.tag for child in case if child.tag in _OUTCOMES)) or "passed"
    return outcomes


_OUTCOMES = ("failure", "error", "skipped")
