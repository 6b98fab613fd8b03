"""CPythons that are newer than the machine's: Debian's newest suite in a folder, `make pythons-sid`.

The folder is /srv/sid, or what FG_SID names. A command runs inside with the checkout, its builds and its
environments at the same paths as outside. The mounts that this needs live in a namespace of their own and
end with the command: the folder can be removed with rm at any time.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tools.console import CommandFailedError, Stopwatch, print_message, run, shown
from tools.layout import BUILD, LOGS, ROOT, SID, VENVS

VERSIONS = ("3.14", "3.15")
#: gcc and the headers build wheels, ccache compiles what they have in common once; procps and the test suites
#: are there for tests.
PACKAGES = (
    *("ca-certificates", "ccache", "cmake", "gcc", "g++", "make", "ninja-build", "procps"),
    *(f"python{version}-{part}" for version in VERSIONS for part in ("dev", "venv")),
    *(f"libpython{version}-testsuite" for version in VERSIONS),
)
_SETTINGS = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "PIP_CONFIG_FILE")


def lacks() -> str:
    """Return why nothing can run in the folder, or an empty string."""
    if os.geteuid() != 0:
        return "root"
    absent = [name for name in ("unshare", "chroot", "mount") if not shutil.which(name)]
    return " and ".join(absent)


def inside() -> tuple[str, ...]:
    """Return the words that run the command after them in the folder."""
    folders = [ROOT, *(folder for folder in (BUILD, VENVS) if not folder.is_relative_to(ROOT))]
    enter = ("unshare", "--mount", "--propagation", "private", "sh", str(ROOT / "tools" / "in_sid.sh"))
    return (*enter, str(SID), str(len(folders)), *map(str, folders))


def _copy_settings() -> None:
    """Give the folder the machine's certificates and pip's settings: there may be a proxy on the way out."""
    named = [os.environ[name] for name in _SETTINGS if os.environ.get(name)]
    home = Path.home()
    usual = ["/etc/pip.conf", str(home / ".pip/pip.conf"), str(home / ".config/pip/pip.conf")]
    for name in {*named, *usual}:
        source, target = Path(name), Path(f"{SID}{Path(name).absolute()}")
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def make(log: Path) -> None:
    """Make the folder, or bring what is missing into it. Raises CommandFailedError."""
    if (SID / "debootstrap").is_dir():  # an earlier try did not get to its end
        shutil.rmtree(SID)
    if not (SID / "usr" / "bin" / "apt-get").is_file():
        words = ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "sid"]
        run([*words, SID], log=log)
    elif any(not (SID / "usr" / "share" / "doc" / package).exists() for package in PACKAGES):
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        run([*inside(), "apt-get", "update"], log=log, env=quiet)
        install = ["apt-get", "install", "-y", "--no-install-recommends"]
        run([*inside(), *install, *PACKAGES], log=log, env=quiet)
    _copy_settings()


def main() -> int:
    watch = Stopwatch()
    absent = lacks() or ("" if shutil.which("debootstrap") else "the Debian package debootstrap")
    if absent:
        print_message(f"pythons-sid: CPython {' and '.join(VERSIONS)} in {SID} need {absent}")
        return 1
    log = LOGS / "sid.log"
    log.unlink(missing_ok=True)
    try:
        make(log)
    except (CommandFailedError, OSError) as error:
        if log.is_file():
            print_message("".join(log.read_text(errors="replace").splitlines(keepends=True)[-30:]))
        print_message(f"pythons-sid: {error}")
        return 1
    print_message(f"CPython {' and '.join(VERSIONS)} are in {shown(SID)} ({watch})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
