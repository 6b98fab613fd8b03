"""A cached plan is used if it is right and made again if it is not; nobody else can poison the cache."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from planned import build, needs_decoder
from targets import STRANGER, as_root

from funcgraph.native import symbols
from funcgraph.native.cache import plans_path
from funcgraph.native.objects import ObjectPlan, Planner

pytestmark = [pytest.mark.one_python, needs_decoder]

SOURCE = "int f(int x) { return x * 3 + 1; }"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "funcgraph" / "native"


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return build(tmp_path, SOURCE, "-Wl,--build-id", language="c")


def plan(path: Path) -> ObjectPlan:
    planner = Planner()
    try:
        found = planner.of_file(str(path))
        assert planner.cache.flaw == ""
        return found
    finally:
        planner.close()


def test_the_second_plan_is_from_the_cache(library: Path, folder: Path) -> None:
    first, second = plan(library), plan(library)
    assert (first.is_new, second.is_new) == (True, False)
    assert list(first.plan.entries()) == list(second.plan.entries())
    (file,) = folder.iterdir()
    assert file.name.endswith("-1.plan")
    assert len(file.name) == 40 + len("-1.plan")  # of a build id


def test_the_folder_is_of_its_user_alone(library: Path, folder: Path) -> None:
    plan(library)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_relative_cache_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert plans_path() == "/home/somebody/.cache/funcgraph/native"


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_plan_is_made_again(library: Path, folder: Path, data: st.DataObject) -> None:
    plan(library)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = data.draw(
        st.sampled_from(
            [whole[:at], whole[:at] + bytes((whole[at] ^ 0x41,)) + whole[at + 1 :], whole + b"\0"]
        )
    )
    file.write_bytes(damaged)
    assert plan(library).is_new
    assert file.read_bytes() == whole
    assert not plan(library).is_new


def test_an_object_without_a_build_id_is_known_by_its_content(tmp_path: Path, folder: Path) -> None:
    library = build(tmp_path, SOURCE, "-Wl,--build-id=none", language="c")
    assert plan(library).is_new
    assert not plan(library).is_new
    other = build(tmp_path, SOURCE.replace("3", "5"), "-Wl,--build-id=none", language="c", name="liby.so")
    assert plan(other).is_new
    assert len(list(folder.iterdir())) == 2


def test_an_object_that_others_may_change_is_known_by_its_content(library: Path, folder: Path) -> None:
    library.chmod(0o777)
    plan(library)
    (file,) = folder.iterdir()
    assert len(file.name) == 64 + len("-1.plan")


@as_root
def test_another_user_cannot_give_the_plan_of_a_build_id(tmp_path: Path, library: Path) -> None:
    """The object of a stranger has our library's build id, and other code."""
    build_id = subprocess.run(["readelf", "-n", library], capture_output=True, text=True, check=True).stdout
    number = build_id.split("Build ID: ")[1].split()[0]
    other = SOURCE.replace("3", "700")
    fake = build(tmp_path, other, f"-Wl,--build-id=0x{number}", language="c", name="liby.so")
    os.chown(fake, STRANGER, STRANGER)
    assert plan(fake).is_new
    genuine = plan(library)
    assert genuine.is_new
    assert list(genuine.plan.entries()) != list(plan(fake).plan.entries())


@as_root
def test_a_plan_of_another_user_is_made_again(library: Path, folder: Path) -> None:
    plan(library)
    (file,) = folder.iterdir()
    os.chown(file, STRANGER, STRANGER)
    assert plan(library).is_new
    assert file.stat().st_uid == os.geteuid()


def test_a_folder_that_others_may_use_is_not_used(library: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    planner = Planner()
    try:
        assert planner.of_file(str(library)).is_new
        assert planner.cache.flaw == f"{folder}: other users may use it"
    finally:
        planner.close()
    assert list(folder.iterdir()) == []


@pytest.fixture
def debug_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(symbols, "DEBUG_FOLDER", str(tmp_path / "debug"))
    return tmp_path / "debug"


def test_a_debug_file_that_came_later_brings_its_symbols(
    tmp_path: Path, debug_folder: Path, folder: Path
) -> None:
    source = "static __attribute__((noinline)) int hidden(int x) { return x * 3 + 1; }\n"
    source += "int shown(int x) { return hidden(x) + hidden(x + 1); }"
    library = build(tmp_path, source, "-Wl,--build-id=0x" + "ab" * 20, language="c")
    whole = library.with_suffix(".whole")
    library.rename(whole)
    subprocess.run(["strip", "-o", library, whole], check=True)
    assert _names(plan(library)) == {"shown"}
    (file,) = folder.iterdir()
    os.utime(file, (1, 1))
    debug = debug_folder / "ab" / f"{'ab' * 19}.debug"
    debug.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
    found = plan(library)
    assert found.is_new
    assert _names(found) == {"shown", "hidden"}


def test_compressed_symbols_are_read(tmp_path: Path) -> None:
    lzma = pytest.importorskip("lzma")
    source = "static __attribute__((noinline)) int hidden(int x) { return x * 3 + 1; }\n"
    source += "int shown(int x) { return hidden(x) + hidden(x + 1); }"
    library = build(tmp_path, source, language="c")
    symbols_only, data = tmp_path / "symbols", tmp_path / "symbols.xz"
    subprocess.run(["objcopy", "--only-keep-debug", library, symbols_only], check=True)
    data.write_bytes(lzma.compress(symbols_only.read_bytes()))
    subprocess.run(["strip", library], check=True)
    subprocess.run(["objcopy", "--add-section", f".gnu_debugdata={data}", library], check=True)
    assert _names(plan(library)) == {"shown", "hidden"}


def _names(found: ObjectPlan) -> set[str]:
    return {name for entry in found.plan.entries() for name in entry.names}
