"""Finds the CPythons on this machine: `make pythons`.

It looks into every folder of PATH, pyenv's versions folder, and the folder of `make pythons-sid`. Of each
version it takes the newest patch release that can build and hold an environment (it has its C headers and
the venv module). One of the machine itself goes before one of that folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools import sid
from tools.console import print_message, table
from tools.layout import SID

#: In CI none of these may be missing.
SUPPORTED = ("3.11", "3.12", "3.13", "3.14", "3.15")
FREE_THREADED = ("3.13t", "3.14t", "3.15t")

_NAME = re.compile(r"python3?(\.\d+t?)?")

_PROBE = """
import importlib.util, json, os, sys, sysconfig
paths = sysconfig.get_paths(vars={"base": sys.base_prefix, "installed_base": sys.base_prefix})
print(json.dumps({
    "implementation": sys.implementation.name,
    "version": list(sys.version_info[:3]),
    "release": sys.version.split()[0],
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "executable": getattr(sys, "_base_executable", sys.executable),
    "headers": os.path.exists(os.path.join(paths["include"], "Python.h")),
    "venv": all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")),
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A CPython: `tag` is "3.13" or, free-threaded, "3.13t"; `lacks` says what keeps us from using it.

    `inside` are the words that a command of it needs in front: none, unless it is in a folder of its own.
    """

    tag: str
    version: tuple[int, int, int]
    release: str
    executable: Path
    lacks: str = ""
    inside: tuple[str, ...] = ()

    @property
    def free_threaded(self) -> bool:
        return self.tag.endswith("t")

    @property
    def usable(self) -> bool:
        return not self.lacks

    def has(self, *programs: str) -> bool:
        """Return whether the machine, or the folder that this CPython is in, has all of `programs`."""
        if self.inside:
            return all((SID / "usr" / "bin" / program).exists() for program in programs)
        return all(shutil.which(program) for program in programs)


def probe(executable: Path, inside: tuple[str, ...] = ()) -> Interpreter | None:
    """Ask an executable what it is. None if it does not run, or is no CPython that we support."""
    try:
        answer = subprocess.run(
            [*inside, executable, "-I", "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=30,
            stdin=subprocess.DEVNULL,
        )
        facts = json.loads(answer.stdout) if answer.returncode == 0 else {}
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    if facts.get("implementation") != "cpython":
        return None
    version = tuple(facts["version"])
    tag = f"{version[0]}.{version[1]}{'t' if facts['free_threaded'] else ''}"
    if tag not in SUPPORTED + FREE_THREADED:
        return None
    missing = [
        what for what, there in (("C headers", facts["headers"]), ("venv", facts["venv"])) if not there
    ]
    executable = Path(facts["executable"])
    return Interpreter(tag, version, facts["release"], executable, " and ".join(missing), inside)


def _folders() -> Iterator[Path]:
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry)
    roots = {os.environ.get("PYENV_ROOT"), str(Path.home() / ".pyenv")}
    for root in sorted(root for root in roots if root):
        yield from sorted(Path(root, "versions").glob("*/bin"))


def _candidates() -> Iterator[Path]:
    seen: set[Path] = set()
    for folder in _folders():
        try:
            names = sorted(entry.name for entry in folder.iterdir() if _NAME.fullmatch(entry.name))
        except OSError:
            continue
        for name in names:
            path = folder / name
            real = path.resolve()
            # A pyenv shim is one script under many names: what it runs depends on the name.
            identity = path if "shims" in folder.parts else real
            if identity not in seen and os.access(path, os.X_OK):
                seen.add(identity)
                yield path


def _in_sid() -> Iterator[Interpreter]:
    for tag in sid.VERSIONS:
        executable = SID / "usr" / "bin" / f"python{tag}"
        if not executable.is_file():
            continue
        if lacks := sid.lacks():
            major, minor = map(int, tag.split("."))
            yield Interpreter(tag, (major, minor, 0), f"in {SID}", executable, lacks)
        elif found := probe(Path("/usr/bin", executable.name), sid.inside()):
            yield found


def find() -> dict[str, Interpreter]:
    """Return the CPython to use for each version that is here, by tag, oldest first."""
    best: dict[str, Interpreter] = {}
    for path in _candidates():
        found = probe(path)
        if found is None:
            continue
        known = best.get(found.tag)
        if known is None or (found.usable, found.version) > (known.usable, known.version):
            best[found.tag] = found
    for found in _in_sid():
        if found.tag not in best or not best[found.tag].usable:
            best[found.tag] = found
    order = [*SUPPORTED, *FREE_THREADED]
    return {tag: best[tag] for tag in order if tag in best}


def missing(found: dict[str, Interpreter]) -> list[str]:
    """Return the tags of SUPPORTED and FREE_THREADED that cannot be used here."""
    return [tag for tag in (*SUPPORTED, *FREE_THREADED) if tag not in found or not found[tag].usable]


def choose(tag: str) -> Interpreter:
    """Return the CPython with this tag; of "", the machine's newest with a GIL. LookupError if none."""
    found = find()
    if not tag:
        usable = [
            python
            for name, python in found.items()
            if python.usable and name in SUPPORTED and not python.inside
        ]
        if usable:
            return usable[-1]
        raise LookupError("no CPython >= 3.11 with its C headers and venv is here")
    if tag in found and found[tag].usable:
        return found[tag]
    why = f"it lacks {found[tag].lacks}" if tag in found else "see `make pythons`"
    raise LookupError(f"no CPython {tag} that can be used: {why}")


def main(found: Mapping[str, Interpreter] | None = None) -> int:
    """Print the table of those that were found."""
    found = find() if found is None else found
    rows = [["CPython", "release", "executable"]]
    for tag in (*SUPPORTED, *FREE_THREADED):
        python = found.get(tag)
        if python is None:
            rows.append([tag, "not found", ""])
        else:
            lacks = f"  (not usable: lacks {python.lacks})" if python.lacks else ""
            where = f" in {SID}" if python.inside else ""
            rows.append([tag, python.release, f"{python.executable}{where}{lacks}"])
    print_message(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
