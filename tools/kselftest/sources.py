"""The kernel's selftests of ftrace, from Debian's package of the kernel's sources.

They are GPL, so the project has none of them: the folder is taken out of the package into .cache/.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.console import print_message, run

PACKAGE = "linux-source-6.12"
FOLDER = "tools/testing/selftests/ftrace"


def lacks() -> str:
    """Return the programs that this machine lacks to get the folder, or an empty string."""
    absent = [name for name in ("apt-get", "dpkg-deb", "tar", "xz") if not shutil.which(name)]
    return " and ".join(absent)


def fetch(cache: Path) -> Path:
    """Return the folder of the selftests below `cache`, which gets it unless it is there.

    Raises:
        CommandFailedError: the package cannot be had.
        OSError: the same, while the folder is taken out of it.
    """
    version = _candidate()
    tests = cache / f"{PACKAGE}_{version.replace(':', '%3a')}"
    if not tests.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as name:
            folder = Path(name)
            print_message(f"kselftest: {PACKAGE} {version} (150 MB), for {FOLDER}")
            run(["apt-get", "download", f"{PACKAGE}={version}"], cwd=folder, log=folder / "log")
            _extract(next(folder.glob("*.deb")), folder / "tests")
            (folder / "tests").rename(tests)
    return tests


def _candidate() -> str:
    """Return the version of the package that apt would install."""
    policy = subprocess.run(
        ["apt-cache", "policy", PACKAGE], capture_output=True, text=True, check=True
    ).stdout
    for line in policy.splitlines():
        if line.strip().startswith("Candidate:") and "(none)" not in line:
            return line.split()[-1]
    raise OSError(f"apt knows no package {PACKAGE}: `apt-get update`, or a newer Debian")


def _extract(package: Path, target: Path) -> None:
    """Take the folder out of the archive of sources in the package."""
    target.mkdir()
    archive = f"./usr/src/{PACKAGE}.tar.xz"
    deepness = len(Path(FOLDER).parts) + 1
    words = ["tar", "-xJ", f"--strip-components={deepness}", "-C", str(target), f"{PACKAGE}/{FOLDER}"]
    with (
        subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as files,
        subprocess.Popen(["tar", "-xO", archive], stdin=files.stdout, stdout=subprocess.PIPE) as sources,
    ):
        status = subprocess.run(words, stdin=sources.stdout).returncode
        assert files.stdout is not None
        files.stdout.close()
    if status != 0:
        raise OSError(f"{package.name} has no {FOLDER}")
