"""Objects of other users' processes are opened with their rights, and planning ends whatever is in them."""

from __future__ import annotations

import errno
import os
import random
import shutil
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from planned import build, needs_decoder
from sizes import DAMAGED_OBJECTS
from targets import AS_STRANGER, STRANGER, as_root, jail, running

from funcgraph.command_support.plan_handover import PlanHandover
from funcgraph.native.elf import Elf
from funcgraph.native.errors import PlanError
from funcgraph.native.objects import ObjectPlan, Planner
from funcgraph.native.plan_file import Plan
from funcgraph.native.planner import make_plan
from funcgraph.recorder.directory import Session
from funcgraph.recorder.reach import Reach
from funcgraph.rights.helper import Helper
from funcgraph.rights.identity import ProcessIdentity

SHT_RELA = 4

pytestmark = [pytest.mark.one_python, needs_decoder]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "funcgraph" / "native"


@pytest.fixture
def stranger() -> Iterator[Helper]:
    """A helper with the rights of a stranger's process."""
    with running(*AS_STRANGER) as target:
        identity = ProcessIdentity.of(target.pid)
        with Helper.start(identity) as helper:
            yield helper
        identity.close()


def open_way(folder: Path) -> Path:
    """Let all users through to a folder; return it."""
    for parent in (folder, *folder.parents):
        if str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    return folder


@as_root
def test_a_program_that_its_user_may_run_and_not_read_is_not_read(tmp_path: Path) -> None:
    program = open_way(tmp_path) / "secret-sleep"
    shutil.copy("/bin/sleep", program)
    program.chmod(0o711)
    with running(*AS_STRANGER) as target, closing(Planner()) as planner:
        target.execute(f"{program} 60")
        found = list(planner.of_process(target.pid, lambda name: [""] if name == "secret-sleep" else []))
    assert [(path, type(error)) for path, error in found] == [(str(program), PermissionError)]


@as_root
def test_what_the_process_may_not_read_is_not_read(stranger: Helper, tmp_path: Path) -> None:
    secret = open_way(tmp_path) / "secret.so"
    secret.write_bytes(b"\x7fELF")
    secret.chmod(0o600)
    link = tmp_path / "link.so"
    link.symlink_to(secret)
    for path in (secret, link):
        with pytest.raises(PermissionError):
            stranger.open_file(str(path))
    secret.chmod(0o644)
    os.close(stranger.open_file(str(link)))


@as_root
def test_what_is_no_file_is_refused_at_once(stranger: Helper, tmp_path: Path) -> None:
    fifo = Path("/dev/shm") / f"fgtest-{os.getpid()}.fifo"
    os.mkfifo(fifo, 0o666)
    os.chown(fifo, STRANGER, STRANGER)
    try:
        for path in (fifo, "/dev/zero", "/"):
            with pytest.raises(OSError, match="regular") as error:
                stranger.open_file(str(path))
            assert error.value.errno in (errno.EINVAL, errno.EISDIR)
    finally:
        fifo.unlink()


@as_root
def test_objects_in_another_root_are_that_roots_and_known_by_their_content(
    tmp_path: Path, cache: Path
) -> None:
    with running(*jail(tmp_path / "jail")) as target, closing(Planner()) as planner:
        plans = [plan for plan in planner.of_process(target.pid) if isinstance(plan, ObjectPlan)]
        assert {plan.name for plan in plans} >= {"libc"}
        assert not any(plan.path.startswith(str(tmp_path)) for plan in plans)
    assert {len(file.name) for file in cache.iterdir()} == {64 + len("-1.plan")}


@as_root
def test_a_process_of_another_user_is_planned_as_ours_are(cache: Path) -> None:
    with running(*AS_STRANGER) as target, closing(Planner()) as planner:
        plans = {plan.name: plan for plan in planner.of_process(target.pid) if isinstance(plan, ObjectPlan)}
    assert len(plans["libc"].plan) > 1000
    assert {len(file.name) for file in cache.iterdir()} == {40 + len("-1.plan")}


@as_root
def test_plans_for_another_users_process_are_that_users(tmp_path: Path) -> None:
    """They are made with root's cache, and put into the session with the rights of the process."""
    with running(*AS_STRANGER) as target:
        identity = ProcessIdentity.of(target.pid)
        session = Session.create(places=Reach.of(identity).places(), most_ring_bytes=1 << 20)
        try:
            PlanHandover(session, ["malloc:mod:libc", "*:mod:none"]).give(target.pid)
            plans = list(Path(session.path).glob("*.plan"))
            assert len(plans) == 1
            facts = plans[0].stat()
            assert (facts.st_uid, facts.st_mode & 0o777) == (STRANGER, 0o600)
            build_id = bytes.fromhex(plans[0].name.partition("-")[0])
            assert len(Plan(plans[0].read_bytes(), build_id)) > 1000
        finally:
            path = Path(session.path)
            session.remove()
            identity.close()
        assert not path.exists()


def test_a_damaged_object_is_planned_or_refused_with_one_line(tmp_path: Path) -> None:
    source = """
    int printf(const char *, ...);
    static __attribute__((noinline)) int f(int x) { return x * 3 + printf("%d", x); }
    int g(int x) {
        switch (x) { case 0: return f(1); case 1: return f(9); case 2: return f(4); case 3: return f(7);
                     case 4: return f(5); case 5: return f(8); case 6: return f(2); case 7: return f(3); }
        return f(x) + f(x + 1);
    }
    """
    whole = build(tmp_path, source, "-lc", language="c").read_bytes()
    rng = random.Random(27)
    target = tmp_path / "damaged.so"
    refused = 0
    for _ in range(DAMAGED_OBJECTS):
        target.write_bytes(_damaged(whole, rng))
        with open(target, "rb") as file:
            try:
                elf = Elf(file.fileno())
                list(Plan(make_plan(elf), elf.build_id).entries())
            except PlanError as error:
                refused += 1
                assert "\n" not in str(error)
    assert 0 < refused < DAMAGED_OBJECTS


def test_headers_that_name_all_bytes_many_times_are_refused(tmp_path: Path) -> None:
    whole = build(tmp_path, "int f(int x) { return x * 3; }", language="c").read_bytes()
    (sections,) = struct.unpack_from("<Q", whole, 40)
    count, names = struct.unpack_from("<HH", whole, 60)
    table = whole[sections : sections + 64 * count]
    everything = struct.pack("<IIQQQQIIQQ", 0, SHT_RELA, 2, 1 << 40, 0, len(whole), 0, 0, 1, 24)
    header = bytearray(whole)
    struct.pack_into("<Q", header, 40, len(whole))
    struct.pack_into("<HH", header, 60, count + 1000, names)
    target = tmp_path / "many.so"
    target.write_bytes(bytes(header) + table + everything * 1000)
    with open(target, "rb") as file, pytest.raises(PlanError, match="the same bytes many times"):
        make_plan(Elf(file.fileno()))


def _damaged(whole: bytes, rng: random.Random) -> bytes:
    """Return an object with some numbers changed, those of headers most of all, or cut off."""
    data = bytearray(whole)
    (sections,) = struct.unpack_from("<Q", whole, 40)
    for _ in range(rng.randrange(1, 4)):
        places = [rng.randrange(len(data)), rng.randrange(16, 64), rng.randrange(64, 700)]
        places.append(rng.randrange(sections, len(data)))
        at = rng.choice(places) & ~3
        value = rng.choice([0, 1, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, rng.randrange(1 << 32)])
        struct.pack_into("<I", data, min(at, len(data) - 4), value)
    return bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)
