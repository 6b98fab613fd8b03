"""Root records a process of a user who attacks the session: nothing that is not that user's ever changes.

Each attack is made by `hostile_target` in each jail where it can be: as a plain user, in a container (a mount
namespace and a root directory of its own), and in a user namespace where the user may mount. The canary is a
folder of root's: no attack may add, change, own or remove anything there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Funcgraph
from recorders import Recorder, recorders

pytestmark = pytest.mark.one_python

STRANGER = 12345
TARGET = Path(__file__).with_name("hostile_target.py")
JAILS = ("plain", "container", "user namespace")
#: Attacks after which the process's own ring is as it was: what it called is in the trace.
LATE = ("none", "swapped", "replaced", "spare", "links", "pipes", "config", "many", "huge")


def _refused(*words: str) -> bool:
    return subprocess.run(words, capture_output=True).returncode != 0


needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or _refused("unshare", "-m", "true"), reason="only root becomes other users"
)
needs_user_namespaces = pytest.mark.skipif(
    _refused(
        "setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups", "unshare", "-U", "true"
    ),
    reason="users may make no user namespaces",
)


class Host:
    """A folder with a user's part, and a canary that is root's.

    Attributes:
        folder: everybody may look into it.
        user: the user's own folder.
        canary: root's.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user, self.canary = folder / "user", folder / "canary"
        folder.chmod(0o755)
        for place in (self.canary, self.canary.with_suffix(".spare")):
            (place / "sub").mkdir(parents=True)
            (place / "file").write_bytes(b"root's" * 1000)
            (place / "sub/file").touch(mode=0o600)
        self.user.mkdir()
        os.chown(self.user, STRANGER, STRANGER)
        self._before = self.tree()

    def tree(self) -> dict[str, tuple[object, ...]]:
        """Return what there is of root's: owner, mode, time and contents of each."""
        found = {}
        for place in (self.canary, self.canary.with_suffix(".spare")):
            for path in (place, *sorted(place.rglob("*"))):
                facts = path.lstat()
                digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
                found[str(path)] = (
                    facts.st_uid, facts.st_gid, facts.st_mode, facts.st_ctime_ns, facts.st_ino, digest
                )  # fmt: skip
        return found

    def check(self) -> None:
        assert self.tree() == self._before


@pytest.fixture
def host() -> Iterator[Host]:
    folder = Path(tempfile.mkdtemp(prefix="fgtest-host-"))
    yield Host(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def targets() -> Iterator[subprocess.Popen[str]]:
    """Run the process that hostile processes are forked from."""
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    command = [sys.executable, str(TARGET)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=environment, **pipes) as process:
        yield process


@pytest.fixture(scope="module")
def helper() -> Iterator[Recorder]:
    with recorders() as one:
        yield one


Start = Callable[[str, str], int]


@pytest.fixture
def start(targets: subprocess.Popen[str], host: Host) -> Iterator[Start]:
    """Return a function that makes a hostile process, of a jail and an attack, and returns its id."""
    started = []

    def make(jail: str, attack: str) -> int:
        assert targets.stdin is not None and targets.stdout is not None
        print(jail, attack, host.folder, sep="|", file=targets.stdin, flush=True)
        ready, pid = targets.stdout.readline().split()
        assert ready == "ready"
        started.append(int(pid))
        return int(pid)

    yield make
    for pid in started:
        os.kill(pid, signal.SIGKILL)
    for session in Path("/dev/shm").glob("funcgraph-*"):
        if session.lstat().st_uid == STRANGER:
            shutil.rmtree(session, ignore_errors=True)


def until_done(host: Host) -> list[str]:
    """Return a command that ends when the attack is made."""
    return ["--", "sh", "-c", f"until [ -e {host.user}/done ]; do sleep 0.05; done"]


def cases() -> list[object]:
    """Return each attack in each jail where it can be made."""
    found = [(jail, attack) for jail in JAILS for attack in LATE]
    found += [("user namespace", "mounted"), ("container", "linked_place")]
    marks = {"user namespace": [needs_user_namespaces]}
    return [pytest.param(jail, attack, marks=marks.get(jail, [])) for jail, attack in found]


@needs_root
@pytest.mark.parametrize(("jail", "attack"), cases())
def test_no_attack_on_a_session_reaches_what_is_roots(
    fg: Funcgraph, host: Host, helper: Recorder, start: Start, jail: str, attack: str
) -> None:
    """Fails if anything of the session is done by its path, or with root's rights."""
    words = ("-P", str(start(jail, attack)), "-l", "__main__.turn", "-o", str(fg.trace), *until_done(host))
    status = helper.run(fg.folder, fg.env, "record", *words)
    host.check()
    assert "Traceback" not in helper.errors
    assert status == 0, helper.errors
    assert fg.calls()["__main__.turn"] > 0
