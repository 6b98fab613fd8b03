"""Planning an object: in this Python, or in another one if the library that decodes does not load here.

iced-x86 does not load in a CPython without the GIL. A plan does not depend on the Python that makes it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

from funcgraph.names import printable
from funcgraph.native.code import require_libraries
from funcgraph.native.elf import Elf
from funcgraph.native.errors import PLANNER, PlanError
from funcgraph.native.place import make_place_plan
from funcgraph.native.planner import make_plan

__all__ = ["plan_object"]

_CODE = "from funcgraph.native.other_python import main; main()"


def plan_object(
    elf: Elf, fd: int, place: str, *, is_trusted: bool, progress: Callable[[float], object] | None = None
) -> bytes:
    """Plan an object, or a place in it; return the file of the plan.

    Args:
        fd: of the object.
        place: `SYMBOL+OFFSET`; "": all functions.
        is_trusted: whether we or root have written the object.
        progress: as make_plan() has it. Another Python reports none.

    Raises:
        PlanError: it cannot be planned, or neither Python has what that takes.
    """
    if python := _other_python():
        return _plan_by(python, fd, place, is_trusted)
    if place:
        return make_place_plan(elf, place, is_trusted=is_trusted)
    return make_plan(elf, is_trusted=is_trusted, progress=progress)


def _other_python() -> str:
    """Return the Python that makes plans; "": this one."""
    try:
        require_libraries()
    except PlanError:
        if python := os.environ.get(PLANNER, ""):
            return python
        raise
    return ""


def _plan_by(python: str, fd: int, place: str, is_trusted: bool) -> bytes:
    command = (python, "-c", _CODE, str(fd), "trusted" if is_trusted else "", place)
    own = ("PYTHON", "FUNCGRAPH")  # for this Python, and this recording
    environment = {key: text for key, text in os.environ.items() if not key.startswith(own)}
    try:
        run = subprocess.run(command, pass_fds=(fd,), env=environment, capture_output=True, check=False)
    except OSError as error:
        raise PlanError(f"{PLANNER}: {printable(python)}: {error.strerror}") from None
    if run.returncode:
        lines = run.stderr.decode(errors="replace").splitlines() or [f"it ended with {run.returncode}"]
        raise PlanError(f"{PLANNER}: {printable(python)}: {printable(lines[-1])}")
    return run.stdout


def main() -> None:
    """Write the plan of an object to standard output: what the other Python runs."""
    fd, trusted, place = sys.argv[1:]
    try:
        data = plan_object(Elf(int(fd)), int(fd), place, is_trusted=bool(trusted))
    except PlanError as error:
        sys.exit(str(error))
    sys.stdout.buffer.write(data)
