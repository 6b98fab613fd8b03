"""The cache of plans: a folder of our own with a file for each object.

    $XDG_CACHE_HOME/funcgraph/native/93ac61ec....-1.plan

A plan is found by the build id of its object, if we or root alone can have made the object. Anybody can give
a file the build id of another one. So the plan of an object of another user is found by a hash of its
content. A plan that is another user's, of another version or damaged is made again.
"""

from __future__ import annotations

import hashlib
import os

from funcgraph.native.elf import Elf
from funcgraph.native.plan_file import VERSION, DamagedPlanError, Plan
from funcgraph.native.symbols import debug_file_of
from funcgraph.output_file import whole_file
from funcgraph.rights.cache_folder import cache_path, open_cache
from funcgraph.rights.folder import OwnFolder

__all__ = ["PlanCache", "name_of", "plan_name", "plans_path"]

_FOLDER = "native"
_MOST_BYTES = 1 << 30
_PIECE = 1 << 20


def plans_path() -> str:
    """Return the path of the cache's folder, which need not exist."""
    return cache_path(_FOLDER)


class PlanCache:
    """The plans that are kept. Without a folder that is ours alone nothing is kept.

    Attributes:
        flaw: why nothing is kept; "": it is.
    """

    def __init__(self) -> None:
        self.flaw = ""
        self._folder: OwnFolder | None = None
        try:
            self._folder = open_cache(_FOLDER)
        except OSError as error:
            self.flaw = f"{plans_path()}: {error.strerror}"

    def close(self) -> None:
        """Let go of the folder. May be called twice."""
        if self._folder is not None:
            self._folder.close()

    def get(self, name: str, elf: Elf) -> Plan | None:
        """Return the plan of an object; None: there is none that is of use.

        Args:
            name: as name_of() gives it.
        """
        if self._folder is None:
            return None
        try:
            with open(self._folder.open(name, os.O_RDONLY), "rb") as file:
                facts = os.fstat(file.fileno())
                if facts.st_uid != os.geteuid() or facts.st_mtime < debug_file_time(elf):
                    return None
                return Plan(file.read(_MOST_BYTES), elf.build_id)
        except (OSError, DamagedPlanError):
            return None

    def put(self, name: str, data: bytes) -> None:
        """Keep a plan. If that does not work, `flaw` says why."""
        if self._folder is None:
            return
        try:
            with whole_file(f"{self._folder.path}/{name}") as file:
                file.write(data)
        except OSError as error:
            self.flaw = f"{self._folder.path}: {error.strerror}"


def debug_file_time(elf: Elf) -> float:
    """Return when an object's debug file was installed; 0: it has none.

    One that came after the plan may have symbols that the plan lacks.
    """
    try:
        return os.stat(debug_file_of(elf)).st_ctime
    except OSError:
        return 0


def name_of(elf: Elf, fd: int, is_trusted: bool, place: str = "") -> str:
    """Return the name of the file that the plan of an object has.

    Args:
        fd: of the object.
        is_trusted: whether its build id says what it is.
        place: as plan_name() has it.
    """
    return plan_name((elf.build_id.hex() if is_trusted else "") or _content_hash(fd), place)


def plan_name(key: str, place: str = "") -> str:
    """Return the name of the file of a plan.

    Args:
        key: what the object is known by: its build id, or a hash of its content, in hexadecimal.
        place: `SYMBOL+OFFSET`, for the plan of this place; "": of all functions.
    """
    if place:
        place = f"-{hashlib.blake2b(place.encode('utf-8', 'surrogateescape'), digest_size=16).hexdigest()}"
    return f"{key}-{VERSION}{place}.plan"


def _content_hash(fd: int) -> str:
    digest, at = hashlib.blake2b(digest_size=32), 0
    while piece := os.pread(fd, _PIECE, at):
        digest.update(piece)
        at += len(piece)
    return digest.hexdigest()
