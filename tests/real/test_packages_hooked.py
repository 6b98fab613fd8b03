"""Test suites of packages with native code pass while all native functions of them are hooked, as untraced.

The wheels are installed into a folder of their own. numpy and greenlet have their tests in the wheel; the
others are used by packages in Python whose source distributions have tests. A program stands for what has
none that can be had without a compiler.
"""

from __future__ import annotations

import ctypes.util
import re
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Funcgraph
from planned import needs_decoder
from sizes import NIGHTLY

from funcgraph.native.object_name import object_name
from tools.real.suites import read_report

pytestmark = [
    needs_decoder,
    pytest.mark.one_python,
    pytest.mark.skipif(not NIGHTLY, reason="test suites of large packages: nightly"),
    pytest.mark.timeout(3600),
]

PROGRAMS = Path(__file__).with_name("package_programs.py")
#: Only the newest records are kept: some suites make a billion.
RECORD = ("--overwrite", "-b", "16384")
HOOKED = re.compile(r"^funcgraph: [\d,]+ events of ([\d,]+) functions?\b", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """Tests that use native code.

    Args:
        folders: of the site: all objects in them are hooked.
        arguments: for pytest.
        sdist: the package whose source distribution has the tests; "": the wheel has them.
        least: so many tests there are at least.
        functions: so many native functions run at least.
    """

    folders: Sequence[str]
    arguments: Sequence[str]
    sdist: str = ""
    least: int = 50
    functions: int = 100


SUITES = {
    "numpy.linalg": Suite(["numpy*"], ["--pyargs", "numpy.linalg.tests.test_linalg"], least=400),
    "numpy.core": Suite(
        ["numpy*"],
        [
            "--pyargs",
            *(
                f"numpy._core.tests.test_{name}"
                for name in ("dtype", "simd", "ufunc", "multithreading", "half")
            ),
        ],
        least=1000,
    ),
    "lxml": Suite(["lxml"], ["tests/test_selector.py", "tests/test_xpathfuncs.py"], "parsel"),
    "cryptography": Suite(["cryptography", "_cffi_backend*"], ["tests"], "pyjwt", least=200),
    "pydantic-core": Suite(
        ["pydantic_core"],
        [
            *(
                f"tests/test_{name}.py"
                for name in ("main", "validators", "json", "serialize", "types_typeddict")
            )
        ],
        "pydantic",
        least=300,
    ),
    "greenlet": Suite(
        ["greenlet"],
        [
            "--pyargs",
            *(
                f"greenlet.tests.test_{name}"
                for name in ("greenlet", "cpp", "generator", "throw", "gc", "contextvars")
            ),
        ],
        functions=8,  # those of its tests in C++: greenlet itself, which switches stacks, is not hooked
    ),
}
WHEELS = ("numpy", "lxml", "orjson", "cryptography", "pydantic", "greenlet", "pyjwt", "parsel")
WHEELS += ("psutil", "objgraph", "pytest-mock", "dirty-equals")  # the tests need them


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packages."""
    folder = tmp_path_factory.mktemp("site")
    fg = Funcgraph(folder, folder)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    done = fg.plain(*pip, "install", "--no-compile", "--target", folder, *WHEELS, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def objects(site: Path, folders: Sequence[str]) -> list[str]:
    """Return options that hook all functions of all objects in some folders."""
    found = {
        object_name(str(path))
        for pattern in folders
        for start in site.glob(pattern)
        for path in ([start] if start.is_file() else start.rglob("*.so*"))
        if ".so" in path.name
    }
    assert found
    return [word for name in sorted(found) for word in ("-l", f"*:mod:{name}")]


def source(fg: Funcgraph, site: Path, package: str) -> Path:
    """Return the unpacked source distribution of an installed package."""
    (info,) = [path for path in site.glob("*.dist-info") if path.name.lower().startswith(f"{package}-")]
    version = info.name.removesuffix(".dist-info").rpartition("-")[2]
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps"]
    words = ["--no-binary", ":all:", "--dest", fg.folder, f"{package}=={version}"]
    done = fg.plain(*pip, *words, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    (archive,) = fg.folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(fg.folder, filter="data")
    return archive.with_name(archive.name.removesuffix(".tar.gz"))


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_passes_while_its_native_functions_are_hooked(fg: Funcgraph, site: Path, name: str) -> None:
    suite = SUITES[name]
    folder = source(fg, site, suite.sdist) if suite.sdist else fg.folder
    fg.env |= {"PYTHONPATH": str(site), "GREENLET_SKIP_LEAKCHECKS": "1"}  # these repeat each test
    outcomes = []
    for number in range(2):
        report = fg.folder / f"report-{number}.xml"
        pytest_words = [
            "-p",
            "no:cacheprovider",
            "-q",
            "-c",
            "/dev/null",
            "--rootdir",
            ".",
            f"--junit-xml={report}",
        ]
        words = [sys.executable, "-X", "faulthandler", "-m", "pytest", *pytest_words, *suite.arguments]
        if number == 0:
            done = fg.plain(*words, cwd=folder, timeout=1200)
        else:
            options = [*RECORD, *objects(site, suite.folders)]
            done = fg.record(*options, "-o", fg.trace, *words, cwd=folder, timeout=3000)
            check_hooked(done.stderr, suite.functions)
        assert report.exists(), done.stdout[-3000:] + done.stderr[-3000:]
        outcomes.append((done.returncode, read_report(report)))
    assert outcomes[0] == outcomes[1]
    passed = [test for test, how in outcomes[0][1].items() if how == "passed"]
    assert len(passed) >= suite.least


def check_hooked(messages: str, least: int = 20) -> None:
    """Assert that native functions were recorded, and no fault ended it."""
    found = HOOKED.search(messages)
    assert found and int(found[1].replace(",", "")) >= least, messages
    assert "kill switch" not in messages and "stopped" not in messages, messages


@pytest.mark.parametrize(
    ("name", "hooked", "variables"),
    [
        ("orjson", ["orjson"], {}),
        ("openblas", ["numpy*"], {"OPENBLAS_NUM_THREADS": "4"}),
    ],
)
def test_a_program_computes_the_same(
    fg: Funcgraph, site: Path, name: str, hooked: list[str], variables: dict[str, str]
) -> None:
    fg.env |= {"PYTHONPATH": str(site), **variables}
    words = [sys.executable, PROGRAMS, name]
    plain = fg.plain(*words, timeout=600)
    assert plain.returncode == 0, plain.stderr
    done = fg.record(*RECORD, *objects(site, hooked), *words, timeout=1800)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    check_hooked(done.stderr)


def test_an_allocator_that_is_preloaded(fg: Funcgraph) -> None:
    """All of jemalloc and of libc hooked: each of its functions may be called by any of ours."""
    jemalloc = ctypes.util.find_library("jemalloc")
    if jemalloc is None:
        pytest.skip("there is no jemalloc (Debian: libjemalloc2)")
    fg.env["LD_PRELOAD"] = jemalloc
    words = [sys.executable, PROGRAMS, "allocator"]
    plain = fg.plain(*words, timeout=600)
    assert plain.returncode == 0, plain.stderr
    options = ["-l", "*:mod:libjemalloc", "-l", "*:mod:libc"]
    done = fg.record(*RECORD, *options, *words, timeout=1800)
    assert (done.returncode, done.stdout) == (0, plain.stdout), done.stderr
    check_hooked(done.stderr)
    assert any(name.endswith("[libjemalloc]") for name in fg.calls())
