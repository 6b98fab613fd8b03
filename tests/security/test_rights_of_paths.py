"""What meets other users' processes changes files by descriptors: each call that takes a path has a reason.

A path of which another user may change a part leads elsewhere a moment later. The tables have the calls that
remain, with the reason why nobody else can change a part of their path. A call that is not in a table, or no
longer in the code, fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_python

SRC = Path(__file__).parents[2] / "src"
ROOMS = ("session", "recorder", "attach", "control", "mount", "steering", "rights", "native", "cluster")
#: Modules outside of these rooms that meet processes of a cluster.
FILES = ("dask.py", "ray.py")

#: Functions of os that take a path, if not a descriptor of the folder and a name.
BY_PATH = {
    "open",
    "unlink",
    "remove",
    "rmdir",
    "removedirs",
    "rename",
    "renames",
    "replace",
    "link",
    "symlink",
}
BY_PATH |= {"mkdir", "makedirs", "mkfifo", "mknod", "truncate", "chmod", "utime", "realpath"}
#: Functions whose path no descriptor replaces, or that hand a file to somebody else.
ALWAYS = {
    "rmtree",
    "chown",
    "lchown",
    "fchown",
    "copyfile",
    "copy",
    "copy2",
    "copytree",
    "move",
    "mkdtemp",
    "mkstemp",
}
FOLDER_FDS = {"dir_fd", "src_dir_fd", "dst_dir_fd"}
MODULES = {"os", "os.path", "shutil", "tempfile"}

_DEVICE = "a file that only root can change"
_OF_KERNEL = "/proc of a process that was stopped or is held: the kernel follows no link there"
_IN_TARGET = "runs in a traced process, with its rights, in the session's folder of its user"

#: File below src/funcgraph/ -> call -> why it may take a path.
PYTHON: dict[str, dict[str, str]] = {
    "attach/process.py": {"open": _OF_KERNEL},
    "cluster/collector.py": {
        "makedirs": "the folder that the user names",
        "open for writing": "a descriptor",
    },
    "mount/background.py": {"open": _DEVICE, "open for writing": _DEVICE},
    "mount/mountpoint.py": {"open": _DEVICE, "realpath": "compared with the kernel's table, never opened"},
    "native/hooking.py": {"open": "a traced process looks at an object that it has loaded itself"},
    "native/loaded.py": {"open": "an object of a process that is like us, for reading"},
    "native/objects.py": {"open": "an object that the user named, for reading"},
    "native/symbols.py": {"open": _DEVICE},
    "native/variables.py": {"open": "a traced process looks at an object that it has loaded itself"},
    "ray.py": {"makedirs": "the folder that the user names, in which ours is made"},
    "rights/cache_folder.py": dict.fromkeys(
        ["makedirs", "mkdir"], "a folder of our own user: owner and mode are checked on the descriptor"
    ),
    "rights/folder.py": {
        "open": "the folder around one of ours, O_PATH: our own path, before anything is kept of it"
    },
    "rights/service.py": {"open": _DEVICE},
    "rights/target.py": {"open": "/proc/PID/root, O_PATH: the kernel gives the directory itself"},
    "recorder/child.py": {"open": _DEVICE},
    "session/dump_request.py": {"open for writing": _IN_TARGET, "rename": _IN_TARGET},
    "recorder/leftovers.py": {
        "realpath": "names the outputs that are looked at; what is removed is ours by its descriptor",
        "truncate": "a descriptor",
    },
    "recorder/recording.py": {"open for writing": "a descriptor, of output_file"},
    "session/tracing.py": {"open for writing": _IN_TARGET},
    "recorder/witness.py": {"open": _DEVICE},
}

#: File below src/ -> call -> why it may take a path.
C: dict[str, dict[str, str]] = {
    "binding/control/place.c": dict.fromkeys(
        ["mkdir", "open", "rmdir"],
        "a folder of sockets of our own user: owner and mode are checked on the descriptor",
    ),
    "arch/native/plan_file.c": {"open": _IN_TARGET},
    "binding/engine/instance.c": {"open": _IN_TARGET},
    "binding/native/run.c": {"open": _DEVICE},
    "binding/tracedata/write/convert.c": {"open": "reads the trace that the caller names"},
    "engine/base/run_time.c": {"open": "/proc/self: the schedstat of a thread of our own"},
    "engine/writer/ring_file.c": dict.fromkeys(["open", "rename", "unlink"], _IN_TARGET),
    "engine/writer/ring_pool.c": {"open": _IN_TARGET},
    "engine/writer/ring_room.c": {"open": _IN_TARGET},
    "engine/ring/session_page.c": {"open": _IN_TARGET},
    "engine/tracer/instance_snapshot.c": dict.fromkeys(["open", "rename", "unlink"], _IN_TARGET),
    "engine/tracer/instance_start.c": {"unlink": _IN_TARGET},
    "engine/tracer/instance_symbols.c": {"open": "/proc/self/cmdline"},
    "inject/process.c": {"fopen": "/proc/PID/maps: no directory on the way is the process's"},
    "tracedata/base/output_folder.c": {"open": "where a walk begins: / or the working directory"},
    "tracedata/read/trace_file.c": {"open": "reads the trace that the caller names"},
}


def python_calls(file: Path) -> set[str]:
    """Return the calls in a file that take a path."""
    nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
    return {name for node in nodes if (name := _path_call(node))}


def _path_call(node: ast.Call) -> str:
    if isinstance(node.func, ast.Name):
        return "open for writing" if node.func.id == "open" and _writes(node) and not _has_fd(node) else ""
    if not isinstance(node.func, ast.Attribute):
        return ""
    name = node.func.attr
    if name in ("write_text", "write_bytes") and len(node.args) == 1:
        return name  # of a Path: those of trees have two arguments
    if ast.unparse(node.func.value) not in MODULES:
        return ""
    has_folder = any(keyword.arg in FOLDER_FDS for keyword in node.keywords)
    return name if name in ALWAYS or (name in BY_PATH and not has_folder) else ""


def _writes(node: ast.Call) -> bool:
    modes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
    return any(not isinstance(mode, ast.Constant) or set("wax+") & set(str(mode.value)) for mode in modes)


def _has_fd(node: ast.Call) -> bool:
    """Return whether the file is a descriptor, by its name or the method that gives it."""
    return re.search(r"(^|_)fd$|^self\.open\(", ast.unparse(node.args[0])) is not None


#: C functions that take a path.
_C_CALL = re.compile(
    r"(?<![\w.>])(open|fopen|creat|unlink|remove|rmdir|rename|link|symlink|mkdir|mkfifo|mknod|truncate|chmod"
    r"|realpath|chown|lchown|fchown|opendir|mkstemp|mkdtemp)\("
)
_C_NO_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.DOTALL)


def c_calls(file: Path) -> set[str]:
    return set(_C_CALL.findall(_C_NO_CODE.sub("", file.read_text())))


def _compare(
    files: list[Path], below: Path, calls: Callable[[Path], set[str]], table: dict[str, dict[str, str]]
) -> None:
    found = {(str(file.relative_to(below)), call) for file in files for call in calls(file)}
    known = {(file, call) for file, rows in table.items() for call in rows}
    assert sorted(found - known) == [], (
        "these calls take a path: take a descriptor, or say why nobody can exchange it"
    )
    assert sorted(known - found) == [], "these rows are of calls that are gone"


def test_each_call_of_python_that_takes_a_path_has_a_reason() -> None:
    package = SRC / "funcgraph"
    files = [file for room in ROOMS for file in sorted((package / room).rglob("*.py"))]
    assert files
    files += [package / name for name in FILES]
    _compare(files, package, python_calls, PYTHON)


def test_each_call_of_c_that_takes_a_path_has_a_reason() -> None:
    files = sorted(SRC.rglob("*.[ch]"))
    assert files
    _compare(files, SRC, c_calls, C)


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ("shutil.rmtree(path)", {"rmtree"}),
        ("os.chown(path, 0, 0)", {"chown"}),
        ("os.fchown(fd, 0, 0)", {"fchown"}),
        ("os.unlink(name, dir_fd=fd)", set()),
        ("os.unlink(path)", {"unlink"}),
        ("os.rename(old, new, src_dir_fd=fd, dst_dir_fd=fd)", set()),
        ("os.path.realpath(path)", {"realpath"}),
        ("open(path)", set()),
        ("open(path, 'r+')", {"open for writing"}),
        ("open(path, mode=mode)", {"open for writing"}),
        ("open(read_fd, 'w')", set()),
        ("Path(path).write_text(text)", {"write_text"}),
        ("tree.write_text(path, text)", set()),
        ("folder.unlink(name)", set()),
    ],
)
def test_it_tells_paths_from_descriptors(tmp_path: Path, code: str, calls: set[str]) -> None:
    file = tmp_path / "file.py"
    file.write_text(code)
    assert python_calls(file) == calls


def test_it_reads_c_without_its_comments_and_texts(tmp_path: Path) -> None:
    file = tmp_path / "file.c"
    file.write_text(
        '/* open(path) */ int fd = openat(fd, "unlink(x)"); // rename(a, b)\n unlink(path); ops->open(x);'
    )
    assert c_calls(file) == {"unlink"}
