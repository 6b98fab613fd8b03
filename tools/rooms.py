"""The rooms of src/, and what each may know: read from #include lines, imports and the engine's objects.

A room is a folder. It may use itself and what `KNOWS` says; `PYTHON_KNOWS` has the rooms of the Python
package. No circle of files is allowed, neither in one room nor over several. tests/test_rooms.py and
tests/test_rooms_python.py hold the tree to this.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tools import native
from tools.layout import ROOT

SRC = ROOT / "src"

#: Room -> the rooms below it that it may use, and with them all that those may use.
KNOWS: dict[str, tuple[str, ...]] = {
    "include": (),
    "engine/base": (),
    "engine/core": ("include", "engine/base"),
    "engine/ring": ("engine/core",),
    "engine/writer": ("engine/ring",),
    "engine/reader": ("engine/ring",),
    "engine/filter": ("engine/ring",),
    "engine/hist": ("engine/ring",),
    "engine/fetch": ("engine/ring",),
    "engine/graph": ("engine/writer",),
    "engine/users": ("engine/graph",),
    "engine/profile": ("engine/users",),
    "engine/probe": ("engine/users",),
    "arch/native": ("engine/probe",),
    "engine/tracer": ("engine/probe", "engine/profile"),
    "engine/trigger": ("engine/tracer", "engine/filter", "engine/hist"),
    "engine/event": ("engine/trigger", "engine/fetch"),
    "arch/elf": ("engine/base",),
    "arch/cpython/base/compat": ("engine/base",),
    "arch/native/x86_64": ("arch/native",),
    "arch/cpython/base": ("arch/cpython/base/compat", "engine/graph"),
    "arch/cpython/value": ("arch/cpython/base",),
    "arch/cpython/read": ("arch/cpython/value", "engine/users"),
    "arch/cpython/hook": ("arch/cpython/read", "engine/tracer"),
    "arch/cpython/backend": ("arch/cpython/hook",),
    "arch/cpython/latency": ("arch/cpython/hook", "arch/elf"),
    "arch/cpython/fetch": ("arch/cpython/read", "engine/event"),
    "arch/cpython/static": ("arch/cpython/latency", "arch/cpython/fetch"),
    "arch/cpython/register": ("arch/cpython/static",),
    "tracedata/base": ("engine/core", "engine/ring"),
    "tracedata/spool": ("tracedata/base",),
    "tracedata/read/dat": ("tracedata/base",),
    "tracedata/recorder": ("tracedata/spool", "engine/reader"),
    "tracedata/read/fg": ("tracedata/spool",),
    "tracedata/read": ("tracedata/read/fg", "tracedata/read/dat"),
    "tracedata/make": ("tracedata/read/fg",),
    "tracedata/text": ("tracedata/read",),
    "tracedata/calls": ("tracedata/read",),
    "tracedata/view": ("tracedata/text", "tracedata/calls"),
    "tracedata/index": ("tracedata/text", "tracedata/calls"),
    "tracedata/export": ("tracedata/view",),
    "tracedata/answers": ("tracedata/view",),
    "tracedata/select": ("tracedata/calls", "engine/filter"),
    "binding/base": (),
    "inject/unwind": (),
    "binding/core": ("binding/base", "arch/cpython/register"),
    "binding/graph": ("binding/core",),
    "binding/native": ("binding/graph", "arch/native"),
    "binding/probe": ("binding/graph",),
    "binding/trigger": ("binding/probe",),
    "binding/capi": ("binding/probe",),
    "binding/event": ("binding/trigger",),
    "binding/engine": ("binding/capi", "binding/event", "binding/native"),
    "binding/tracedata/base": ("binding/base", "tracedata/export"),
    "binding/tracedata/write": ("binding/tracedata/base", "tracedata/make", "tracedata/recorder"),
    "binding/tracedata/export": ("binding/tracedata/base",),
    "binding/tracedata": (
        "tracedata/select",
        "tracedata/index",
        "tracedata/answers",
        "binding/tracedata/write",
        "binding/tracedata/export",
    ),
    "binding/environ": ("binding/base",),
    "binding/system": ("binding/base",),
    "binding/control": ("binding/base",),
    "binding/plan": ("binding/base", "engine/base"),
    "inject": ("inject/unwind",),
    "binding/inject": ("binding/base", "inject"),
}

#: The same for the rooms of the Python package: its folders, and the groups of modules in PYTHON_GROUPS.
PYTHON_KNOWS: dict[str, tuple[str, ...]] = {
    "extensions": (),
    "base": (),
    "kernel_format": ("base",),
    "settings": ("base",),
    "api": ("extensions", "base"),
    "rights": ("extensions", "base"),
    "definitions": ("settings", "api"),
    "native": ("rights",),
    "mcp": ("rights",),
    "events": ("definitions", "native"),
    "tracedata": ("extensions", "events", "kernel_format"),
    "diff": ("tracedata",),
    "page": ("tracedata",),
    "export": ("page",),
    "answers": ("diff",),
    "view": ("export", "answers"),
    "session": ("tracedata", "rights", "native"),
    "recorder": ("session",),
    "merge": ("recorder",),
    "cluster": ("merge",),
    "adapters": ("cluster",),
    "buffer": ("session", "events"),
    "instance": ("buffer",),
    "testing": ("answers", "instance"),
    "tracefs": ("instance",),
    "control": ("tracefs",),
    "package": ("control", "view"),
    "boot": ("control",),
    "steering": ("control",),
    "tui": ("view", "steering"),
    "selftest": ("package", "recorder"),
    "attach": ("package",),
    "mount": ("control", "recorder"),
    "command_support": (
        "selftest",
        "diff",
        "answers",
        "export",
        "merge",
        "attach",
        "steering",
        "mount",
        "native",
    ),
    "notebook": ("command_support", "view"),
    "commands": ("command_support", "tui", "mcp"),
    "command line": ("commands",),
}

#: Room -> the modules at the top of the package that are in it.
PYTHON_GROUPS = {
    "extensions": ("_engine", "_tracedata", "_environ", "_system", "_control", "_inject", "_plan"),
    "base": ("html_repr", "names", "output_file", "version"),
    "api": ("fgraph", "fprobe", "multi", "kretprobe", "kprobe", "_include"),
    "package": ("__init__",),
    "boot": ("_boot",),
    "adapters": ("dask", "ray"),
    "command line": ("cli", "__main__"),
}

_INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def c_arrows() -> dict[str, set[str]]:
    """Return for each C unit (a path below src/ without suffix) the units that it includes."""
    arrows: dict[str, set[str]] = defaultdict(set)
    for file in sorted(SRC.rglob("*.[ch]")):
        unit = str(file.relative_to(SRC).with_suffix(""))
        for name in _INCLUDE.findall(file.read_text()):
            assert not (file.parent / name).is_file(), f"{file}: {name} is to be written from src"
            if (SRC / name).is_file():  # the others are CPython's
                arrows[unit].add(str(Path(name).with_suffix("")))
        arrows[unit].discard(unit)
    return arrows


def python_arrows() -> dict[str, set[str]]:
    """Return for each module of the package (its path below src/funcgraph/, no suffix) those that it imports.

    Each import counts: at the top, inside a function, and under TYPE_CHECKING. A package's `__init__` counts
    where a module imports a name from it, not where Python runs it to load a module inside.
    """
    package = SRC / "funcgraph"
    files = [*package.rglob("*.py"), *package.rglob("*.pyi")]
    modules = {str(file.relative_to(package).with_suffix("")) for file in files}
    arrows: dict[str, set[str]] = {module: set() for module in modules}
    for file in files:
        user = str(file.relative_to(package).with_suffix(""))
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                arrows[user].update(_module(alias.name, "", modules) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}: relative import"
                arrows[user].update(_module(node.module or "", alias.name, modules) for alias in node.names)
        arrows[user] -= {"", user}
    return arrows


def _module(source: str, name: str, modules: set[str]) -> str:
    """Return the module that `from source import name` or `import source` loads; "": none of the package."""
    if source != "funcgraph" and not source.startswith("funcgraph."):
        return ""
    path = source.removeprefix("funcgraph").removeprefix(".").replace(".", "/")
    candidates = [f"{path}/{name}", path, f"{path}/__init__"]
    found = [candidate.strip("/") for candidate in candidates if candidate.strip("/") in modules]
    assert found, f"{source}.{name}: no such module"
    return found[0]


#: The layers whose files compile without Python.h.
WITHOUT_PYTHON = ("engine", "tracedata", "inject")


def compile_objects() -> dict[str, Path]:
    """Return the objects of the C files that need no Python.h, by unit: those that the C tests link."""
    targets = native.built() / "CMakeFiles"
    objects = {}
    for layer in WITHOUT_PYTHON:
        folder = targets / f"fg_{layer}.dir" / "src"
        if folder.is_dir():  # inject: only for processors that it has code for
            sources = sorted(SRC.glob(f"{layer}/**/*.c"))
            units = [str(file.relative_to(SRC).with_suffix("")) for file in sources]
            objects.update({unit: folder / f"{unit}.c.o" for unit in units})
    return objects


def link_arrows(objects: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return for each unit those whose object defines a symbol that its own object leaves undefined (nm)."""
    defined: dict[str, str] = {}
    undefined: dict[str, set[str]] = {unit: set() for unit in objects}
    units = {str(file): unit for unit, file in objects.items()}
    lines = subprocess.run(["nm", "-PA", *units], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        file, _, symbol = line.partition(": ")
        name, kind = symbol.split()[:2]
        if kind == "U":
            undefined[units[file]].add(name)
        elif kind.isupper():
            defined[name] = units[file]
    return {
        unit: {defined[name] for name in names if name in defined} - {unit}
        for unit, names in undefined.items()
    }


def known(room: str, knows: Mapping[str, tuple[str, ...]] = KNOWS) -> set[str]:
    """Return all rooms that `room` may use, itself among them."""
    return {room}.union(*(known(below, knows) for below in knows[room]))


def room_of(unit: str) -> str:
    return unit.rpartition("/")[0]


def python_room_of(module: str) -> str:
    folder, slash, _ = module.partition("/")
    if slash:
        return folder
    return next((room for room, modules in PYTHON_GROUPS.items() if module in modules), module)


def arrows_up(arrows: Mapping[str, set[str]]) -> Iterator[str]:
    """Yield "a -> b" for each arrow to a room that the user's room may not know."""
    return _arrows_up(arrows, KNOWS, room_of)


def python_arrows_up(arrows: Mapping[str, set[str]]) -> Iterator[str]:
    """The same for the modules of the package."""
    return _arrows_up(arrows, PYTHON_KNOWS, python_room_of)


def _arrows_up(
    arrows: Mapping[str, set[str]], knows: Mapping[str, tuple[str, ...]], room: Callable[[str], str]
) -> Iterator[str]:
    for user, used in sorted(arrows.items()):
        allowed = known(room(user), knows)
        yield from (f"{user} -> {unit}" for unit in sorted(used) if room(unit) not in allowed)


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected groups of more than one unit (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(unit: str) -> None:
        order[unit] = low[unit] = len(order)
        stack.append(unit)
        for used in sorted(arrows.get(unit, ())):
            if used not in order:
                visit(used)
                low[unit] = min(low[unit], low[used])
            elif used in stack:
                low[unit] = min(low[unit], order[used])
        if low[unit] == order[unit]:
            at = stack.index(unit)
            group = sorted(stack[at:])
            del stack[at:]
            if len(group) > 1:
                found.append(group)

    for unit in sorted(arrows):
        if unit not in order:
            visit(unit)
    return found


def main() -> None:
    arrows = c_arrows()
    for arrow in arrows_up(arrows):
        print("up:", arrow)
    for group in circles(arrows):
        print("circle:", " ".join(group))
    modules = python_arrows()
    for arrow in python_arrows_up(modules):
        print("up (Python):", arrow)
    for group in circles(modules):
        print("circle (Python):", " ".join(group))
    if "--link" in sys.argv[1:]:
        objects = link_arrows(compile_objects())
        for arrow in arrows_up(objects):
            print("up (objects):", arrow)
        for group in circles(objects):
            print("circle (objects):", " ".join(group))


if __name__ == "__main__":
    main()
