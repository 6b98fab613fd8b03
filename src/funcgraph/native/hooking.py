"""Native functions that patterns ask for, inside of a traced process.

A pattern with ":mod:" may stand for functions of a Python module or of a loaded object; only a look at the
objects tells. Objects that are loaded later are looked at when the import system or ctypes has loaded them. A
plan that the cache does not have is made by a process of its own, which the traced one does not notice.
"""

import errno
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from funcgraph import _engine
from funcgraph.native.cache import cache_path, name_of
from funcgraph.native.elf import Elf
from funcgraph.native.errors import PlanError
from funcgraph.native.object_name import object_name

__all__ = ["EVERYBODYS", "hook", "hook_all", "hook_objects", "may_be_native", "refuse", "select"]

_OF_OBJECT = ":mod:"
_EXECUTABLE = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ..x. [0-9a-f]+ \S+ [1-9]\d* +(/.*)$", re.MULTILINE)

#: Objects whose functions everything calls, as globs: the interpreter, the libraries of C and C++.
EVERYBODYS = (
    "python", "libpython*", "libc", "libm", "libmvec", "libpthread", "libdl", "librt", "libutil",
    "ld", "ld-*", "libgcc_s", "libstdc++", "libc++", "libc++abi",
)  # fmt: skip
# The functions of all objects but these.
_ALL = "*:mod:*"
_OWN_FOLDER = os.path.dirname(os.path.abspath(_engine.__file__))

# The patterns so far, with their globs for objects; which of them each object, by its path, was looked at
# for; and the functions that load objects and are followed.
_patterns: dict[str, str] = {}
_objects: dict[str, tuple[str, ...]] = {}
_followed: set[str] = set()


def may_be_native(pattern: str) -> bool:
    """Return whether a pattern may stand for native functions. "*" alone stands for all Python modules."""
    _, command, name = pattern.rpartition(_OF_OBJECT)
    return bool(command) and not name.startswith("!") and bool(name.strip("*?"))


def hook(patterns: Iterable[str]) -> list[str]:
    """Make the native functions that patterns select known to the engine, which hooks those that have users.

    Returns:
        what is wrong with the objects that patterns name: a line for each. Those that a glob may have meant
        are left out: it may as well have meant a Python module.
    """
    fresh = {pattern: pattern.rpartition(_OF_OBJECT)[2] for pattern in patterns if may_be_native(pattern)}
    if not fresh or not hasattr(_engine, "native_meet"):
        return []
    _patterns.update(fresh)
    problems: list[str] = _engine.apart(_look)
    _watch()
    return problems


def hook_objects() -> list[str]:
    """Make the native functions of all objects but EVERYBODYS and ours known to the engine.

    Returns:
        what is wrong, if none of an object is known then, though there is one: a line.
    """
    if not hasattr(_engine, "native_meet"):
        return ["native functions cannot be hooked on this machine"]
    _patterns[_ALL] = "*"
    failures: list[str] = []
    _engine.apart(_look, failures)
    _watch()
    return failures[:1] if failures and not _engine.native_functions() else []


def hook_all(patterns: Iterable[str]) -> None:
    """As hook().

    Raises:
        OSError: EOPNOTSUPP: something is wrong with an object that a pattern names.
    """
    problems = hook(patterns)
    if problems:
        raise OSError(errno.EOPNOTSUPP, "; ".join(problems))


def select(patterns: Sequence[str]) -> list[_engine.Function]:
    """Return the native functions that patterns select, which are hooked as soon as they have users.

    Raises:
        OSError: as hook_all().
    """
    hook_all(patterns)
    return _engine.native_matching(patterns) if hasattr(_engine, "native_matching") else []


def refuse(patterns: Iterable[str]) -> None:
    """Refuse patterns that name a loaded object, for users with Python callbacks.

    Globs for objects may as well mean Python modules, and a Python module may have the name of an object.

    Raises:
        OSError: EOPNOTSUPP: a pattern names an object, and no Python module.
    """
    modules = {part for name in tuple(sys.modules) for part in name.split(".")}
    named = {pattern: pattern.rpartition(_OF_OBJECT)[2] for pattern in patterns if may_be_native(pattern)}
    meant = {pattern: name for pattern, name in named.items() if name not in modules}
    objects = {object_name(path) for path in _engine.apart(_loaded)} if meant else set()
    for pattern, name in meant.items():
        if name in objects:
            reason = f"selects native functions of {name}, whose calls can have no Python callbacks"
            raise OSError(errno.EOPNOTSUPP, f"pattern {pattern!r} {reason}")


def _selects(pattern: str, path: str, name: str) -> bool:
    """Return whether a pattern means functions of an object."""
    if pattern != _ALL:
        return _engine.glob_match(_patterns[pattern], name)
    is_ours = path.startswith(f"{_OWN_FOLDER}/")
    return not is_ours and not any(_engine.glob_match(glob, name) for glob in EVERYBODYS)


def _look(failures: list[str] | None = None) -> list[str]:
    """Look at the objects that are loaded now; return what is wrong with those that patterns name.

    Args:
        failures: gets what is wrong with any object.
    """
    problems = []
    for path in _loaded():
        name = object_name(path)
        selected = tuple(pattern for pattern in _patterns if _selects(pattern, path, name))
        if selected == _objects.get(path, ()):
            continue
        _objects[path] = selected
        try:
            _engine.native_meet(_plan_of(path), name, selected)
        except (OSError, PlanError) as error:
            problem = f"{name}: {getattr(error, 'strerror', None) or error}"
            if failures is not None:
                failures.append(problem)
            if name in map(_patterns.get, selected):
                problems.append(problem)
    return problems


def _loaded() -> Iterator[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    return iter(dict.fromkeys(match[1].replace("\\012", "\n") for match in _EXECUTABLE.finditer(text)))


def _plan_of(path: str) -> str:
    """Return the path of an object's plan, which is made if it is missing.

    Raises:
        OSError, PlanError: there is none.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        plan = f"{cache_path()}/{name_of(Elf(fd), fd, is_trusted=True)}"
    finally:
        os.close(fd)
    if not os.path.exists(plan):
        _make_plan(path)
    if not os.path.exists(plan):
        raise PlanError("has no plan, and none could be made: see `funcgraph plan`")
    return plan


def _make_plan(path: str) -> None:
    environment = (
        os.fsencode(f"{key}={value}") for key, value in os.environ.items() if not key.startswith("FUNCGRAPH")
    )
    command = (sys.executable, "-m", "funcgraph", "plan", "--", path)
    _engine.native_run(tuple(map(os.fsencode, command)), tuple(environment))


# ---- objects that are loaded later


def _watch(created: Any = None) -> None:
    """Look at the objects again whenever the import system, or ctypes, has loaded one.

    Args:
        created: a module that is being imported: ctypes takes its functions before sys.modules has changed.
    """
    known = {getattr(created, "__name__", ""): created, **sys.modules}
    for module, name in (("_imp", "create_dynamic"), ("_ctypes", "dlopen"), ("ctypes", "_dlopen")):
        if module in known and module not in _followed:
            _followed.add(module)
            _follow(known[module], name)


def _follow(module: Any, name: str) -> None:
    """Look at the objects after each call of a module's function."""
    function: Callable[..., Any] = getattr(module, name)

    def load(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        try:
            _engine.apart(_look)
            _watch(result)  # it may have been ctypes
        except Exception:
            pass  # the program must not be harmed
        return result

    load.__name__ = load.__qualname__ = name
    setattr(module, name, load)
