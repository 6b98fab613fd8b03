"""Wheels for other machines: `make wheels` says what they can serve, and finds one that keeps no promise."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sizes

from tools import changelog, pythons, wheels
from tools.layout import ROOT, pyproject

pytestmark = pytest.mark.one_python

_SHOWN = """
funcgraph-0.1.0-cp313-cp313-linux_x86_64.whl is consistent with the
following platform tag: "{tag}".

The wheel references external versioned symbols in these
system-provided shared libraries: libc.so.6 with versions {{'GLIBC_2.34'}}
"""


@pytest.mark.parametrize("tag", ["manylinux_2_34_x86_64", "musllinux_1_2_aarch64", "manylinux_2_17_x86_64"])
def test_the_tag_is_what_the_audit_allows(tag: str) -> None:
    assert wheels.platform_tag(_SHOWN.format(tag=tag)) == tag


@pytest.mark.parametrize("text", [_SHOWN.format(tag="linux_x86_64"), "", "no platform tag"])
def test_a_wheel_for_this_machine_alone_is_refused(text: str) -> None:
    with pytest.raises(wheels.PromiseError, match="no tag for other machines"):
        wheels.platform_tag(text)


def test_what_an_environment_keeps_is_named(tmp_path: Path) -> None:
    """Compiled files of Python are nobody's: pip leaves those that it did not write."""
    before = wheels.files_of(tmp_path)
    (tmp_path / "share").mkdir()
    (tmp_path / "share" / "left.txt").touch()
    (tmp_path / "share" / "left.cpython-313.pyc").touch()
    assert wheels.files_of(tmp_path) - before == {"share/left.txt"}


def test_a_wheel_has_nothing_of_another_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Objects of a cache were compiled in another folder: its name is in the GNU build id."""
    seen: dict[str, str] = {}

    class Builder:
        path = "/bin"

        def command(self, *words: str | Path) -> list[str | Path]:
            return [*words]

    def run(words: list[str | Path], *, log: Path, env: dict[str, str]) -> None:
        seen.update(env)
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "made.whl").touch()

    monkeypatch.setattr(wheels, "_builder", lambda python: Builder())
    monkeypatch.setattr(wheels, "run", run)
    wheels.build(pythons.choose(""), tmp_path / "source", tmp_path / "folder", tmp_path / "log")
    assert seen["CCACHE_DISABLE"] == "1"
    for folder in ("source", "folder"):
        assert f"-ffile-prefix-map={tmp_path / folder}" in seen["CFLAGS"]
    assert seen["SOURCE_DATE_EPOCH"].isdecimal()


def _release() -> str:
    return (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_a_wheel_of_a_release_has_no_name_of_its_folders() -> None:
    """Broken by a build in a folder with a name at random, or by flags that tools/wheels.py alone has."""
    settings = pyproject()["tool"]["cibuildwheel"]
    folder, _, _ = settings["config-settings"]["build-dir"].partition("/{")
    flags = settings["environment"]["CFLAGS"].split()
    assert flags == [f"-ffile-prefix-map={name}=." for name in ("/project", folder)]
    assert re.search("CIBW_ENVIRONMENT_PASS_LINUX: .*SOURCE_DATE_EPOCH", _release())


def test_a_wheel_of_a_release_has_its_commit() -> None:
    """The build is in a container, where git does not answer; the wheel is asked when it is tried."""
    assert "SKBUILD_CMAKE_DEFINE=FG_COMMIT=$(git rev-parse" in _release()
    assert re.search("CIBW_ENVIRONMENT_PASS_LINUX: .*SKBUILD_CMAKE_DEFINE", _release())
    assert any("'(commit '" in line for line in pyproject()["tool"]["cibuildwheel"]["test-command"])


def _built(folder: Path, *options: str) -> str:
    """Return what the build of a folder writes into commit.txt: the part of CMakeLists.txt that does it."""
    build = (ROOT / "CMakeLists.txt").read_text()
    part = re.search(r"^if\(NOT FG_COMMIT\)\n.*?^file\(WRITE [^\n]*\n", build, re.MULTILINE | re.DOTALL)
    assert part
    assert re.match(r"install\(FILES \S+/commit.txt DESTINATION \S+/funcgraph\)", build[part.end() :])
    (folder / "commit.cmake").write_text(part[0])
    subprocess.run(["cmake", *options, "-P", "commit.cmake"], cwd=folder, check=True)
    return (folder / "commit.txt").read_text().strip()


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_a_build_of_a_checkout_knows_its_commit(tmp_path: Path) -> None:
    assert _built(tmp_path) == ""
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "x"), ("rm", "-q", "commit.txt")):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    commit = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.strip()
    assert _built(tmp_path) in (commit, f"{commit}-dirty")
    assert _built(tmp_path, "-DFG_COMMIT=abc") == "abc"


def test_a_wheel_that_lost_its_commit_is_found() -> None:
    wheels.check_version("funcgraph 0.1.0 (commit 0123456789ab)\nCPython 3.13.0\n", "0123456789ab")
    for text in ("funcgraph 0.1.0\nCPython 3.13.0\n", "funcgraph 0.1.0 (commit fedcba987654)\n", ""):
        with pytest.raises(wheels.PromiseError, match="no commit 0123456789ab"):
            wheels.check_version(text, "0123456789ab")


def test_a_release_says_what_the_changelog_has_of_its_version() -> None:
    text = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2027-01-01\n\n- two\n\n## [0.1.0]\n\n- one\n"
    assert changelog.section(text, "0.2.0") == "- two\n"
    assert changelog.section(text, "0.1.0") == "- one\n"
    for version in ("0.1", "0x1.0", "0.3.0", "Unreleased"):
        with pytest.raises(LookupError, match="nothing of"):
            changelog.section(text, version)
    assert re.search(r'tools\.changelog "\$\{TAG#v\}" > (\S+)(?s:.*)--notes-file \1 ', _release())


def test_each_version_has_a_wheel_in_a_release() -> None:
    """cibuildwheel builds what `requires-python` allows, free-threaded CPythons too."""
    project = pyproject()
    settings = project["tool"]["cibuildwheel"]
    assert "cpython-freethreading" in settings["enable"]
    assert "funcgraph selftest" in settings["test-command"]
    workflow = _release()
    assert "kind: [manylinux, musllinux]" in workflow
    assert "arch: [x86_64, aarch64]" in workflow


@pytest.mark.skipif(not sizes.NIGHTLY, reason="builds everything twice: nightly")
@pytest.mark.timeout(1800)
def test_wheels_keep_their_promises() -> None:
    tag = f"{sys.version_info.major}.{sys.version_info.minor}"
    done = subprocess.run(
        [sys.executable, "-m", "tools.wheels", "--python", tag], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
