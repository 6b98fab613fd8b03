"""Native functions that patterns select, inside of a traced process.

A pattern with ":mod:" may stand for functions of a Python module or of a loaded object; only a look at the
objects tells. Objects that are loaded later are looked at when the import system or ctypes has loaded them.
Plans are in the folder of a session, where a recorder of this process put them, or in the cache. One that is
in neither is made by a process of its own, which the traced one does not notice. Whoever loads an object
waits for it, within limits, and is told of a long wait.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from funcgraph import _engine, _environ
from funcgraph.native.cache import name_of, plans_path
from funcgraph.native.elf import Elf
from funcgraph.native.errors import PLANNER, PlanError
from funcgraph.native.object_name import object_name
from funcgraph.native.patterns import function_glob, is_of_object, may_be_native, object_glob, place_of
from funcgraph.native.plan_file import DamagedPlanError, Plan, PlanEntry
from funcgraph.native.reasons import Reason

__all__ = [
    "EVERYBODYS",
    "add_folder",
    "hook",
    "hook_all",
    "hook_objects",
    "listen",
    "refusals",
    "refuse",
    "release",
    "select",
    "selects",
]

_EXECUTABLE = re.compile(r"^[0-9a-f]+-[0-9a-f]+ ..x. [0-9a-f]+ \S+ [1-9]\d* +(/.*)$", re.MULTILINE)
#: Runs `funcgraph plan` in a Python of this process, which need not find funcgraph by itself: an attacher may
#: have brought it along. Its folder comes last, as others may be beside it.
_PLAN = "import sys; sys.path.append(sys.argv.pop(1)); from funcgraph.cli import main; sys.exit(main())"

#: How long one is waited for. OpenBLAS, 35 MB, takes 2 s, and several times that on a busy machine; a program
#: that waits longer seems to hang.
_LIMIT_S = 30.0
#: A longer wait for an object that is loaded later is told.
_TOLD_S = 0.1

#: Objects whose functions everything calls, as globs: the interpreter, the libraries of C and C++.
EVERYBODYS = (
    "python", "libpython*", "libc", "libm", "libmvec", "libpthread", "libdl", "librt", "libutil",
    "ld", "ld-*", "libgcc_s", "libstdc++", "libc++", "libc++abi",
)  # fmt: skip
#: Of an ifunc: what it chose would be hooked by its name.
_NO_CHOICE = "what the ifunc chose cannot be hooked"

# The functions of all objects but these.
_ALL = "*:mod:*"
_OWN_FOLDER = os.path.dirname(os.path.abspath(_engine.__file__))

# The patterns of each owner; the folder with plans that it brought along; which patterns each object, by its
# path, was looked at for; and the functions that load objects, with those that are called in their place.
# Who is told of objects that are loaded later, by owner.
_patterns: dict[str, set[str]] = {}
_folders: dict[str, str] = {}
_listeners: dict[str, Callable[[str], object]] = {}
_objects: dict[str, set[str]] = {}
_followed: dict[str, tuple[str, Callable[..., Any], Callable[..., Any]]] = {}


def hook(owner: str, patterns: Iterable[str], folder: str = "") -> list[str]:
    """Make the native functions that patterns select known to the engine, which hooks those that have users.

    Args:
        owner: whose patterns they are, until release(). They are added to the owner's others.
        folder: with plans, beside the cache; "": none.

    Returns:
        what is wrong with the objects that patterns name: a line for each. Those that a glob may have meant
        are left out: it may as well have meant a Python module.
    """
    fresh = set(filter(may_be_native, patterns))
    return _hook(owner, fresh, folder, []) if fresh and hasattr(_engine, "native_meet") else []


def _hook(owner: str, patterns: set[str], folder: str, failures: list[str]) -> list[str]:
    _patterns.setdefault(owner, set()).update(patterns)
    if folder:
        _folders[owner] = folder
    problems: list[str] = _engine.apart(_look, failures)
    _watch()
    return problems


def hook_objects(owner: str, folder: str = "") -> list[str]:
    """Make the native functions of all objects but EVERYBODYS and ours known to the engine.

    Args:
        owner, folder: as of hook().

    Returns:
        what is wrong, if none of an object is known then, though there is one: a line.
    """
    if not hasattr(_engine, "native_meet"):
        return ["native functions cannot be hooked on this machine"]
    failures: list[str] = []
    _hook(owner, {_ALL}, folder, failures)
    return failures[:1] if failures and not _engine.native_functions() else []


def hook_all(owner: str, patterns: Iterable[str]) -> None:
    """As hook().

    Raises:
        OSError: EOPNOTSUPP: something is wrong with an object that a pattern names. The patterns are dropped.
    """
    fresh = set(patterns) - _patterns.get(owner, set())
    problems = hook(owner, fresh)
    if problems:
        _drop(owner, fresh)
        raise OSError(errno.EOPNOTSUPP, "; ".join(problems))


def select(owner: str, patterns: Sequence[str]) -> list[_engine.Function]:
    """Return the native functions that patterns select, which are hooked as soon as they have users.

    Raises:
        OSError: as hook_all().
    """
    hook_all(owner, patterns)
    return _engine.native_matching(patterns) if hasattr(_engine, "native_matching") else []


def refuse(patterns: Iterable[str]) -> None:
    """Refuse patterns that name a loaded object, for users with Python callbacks.

    Globs for objects may as well mean Python modules, and a Python module may have the name of an object.

    Raises:
        OSError: EOPNOTSUPP: a pattern names an object, and no Python module.
    """
    modules = {part for name in tuple(sys.modules) for part in name.split(".")}
    named = {pattern: object_glob(pattern) for pattern in patterns if may_be_native(pattern)}
    meant = {pattern: name for pattern, name in named.items() if name not in modules}
    objects = {object_name(path) for path in _engine.apart(_loaded)} if meant else set()
    for pattern, name in meant.items():
        if name in objects:
            reason = f"selects native functions of {name}, whose calls can have no Python callbacks"
            raise OSError(errno.EOPNOTSUPP, f"pattern {pattern!r} {reason}")


def _drop(owner: str, patterns: set[str]) -> None:
    """Drop some patterns of an owner. What was looked for in vain is looked for again with the next ones."""
    _patterns[owner] -= patterns
    for known in _objects.values():
        known.difference_update(patterns)
    if not _patterns[owner]:
        release(owner)


def add_folder(owner: str, folder: str) -> None:
    """Look for plans in a folder, too, until release()."""
    _folders[owner] = folder


def listen(owner: str, tell: Callable[[str], object]) -> None:
    """Have an owner told of objects that are loaded later, until release().

    Args:
        owner: as of hook().
        tell: gets a line: what is wrong with an object that patterns name, or how long its loader waited.
            Without any listener it is a RuntimeWarning.
    """
    _listeners[owner] = tell


def release(owner: str) -> None:
    """Drop the patterns of an owner. Without any, objects that are loaded later are not looked at."""
    _patterns.pop(owner, None)
    _folders.pop(owner, None)
    _listeners.pop(owner, None)
    if not _patterns:
        _unwatch()


def refusals(patterns: Iterable[str], *, is_total: bool = False) -> list[str]:
    """Say which functions that patterns may select are not hooked although they have users.

    Of a pattern that selects none: which ones cannot be hooked.

    Args:
        patterns: as they were given.
        is_total: only of objects of which no function is hooked.

    Returns:
        a line for each object.
    """
    refused: dict[str, Counter[str]] = {}
    hooked: set[str] = set()
    given = list(patterns)
    for name, _, is_hooked, reason in _states():
        if is_hooked:
            hooked.add(name)
        elif reason is not None and any(is_of_object(pattern, name) for pattern in given):
            refused.setdefault(name, Counter())[reason] += 1
    idle = _idle(given)
    for path in _loaded() if idle else ():
        name = object_name(path)
        if reasons := Counter(_unhookable(path, name, idle)):
            refused[name] = refused.get(name, Counter()) + reasons
    return [_refusal(name, reasons) for name, reasons in refused.items() if not (is_total and name in hooked)]


def _refusal(name: str, reasons: Counter[str]) -> str:
    count = reasons.total()
    functions = "1 function is" if count == 1 else f"{count} functions are"
    return f"{name}: {functions} not hooked: {reasons.most_common(1)[0][0]}"


def _idle(patterns: Iterable[str]) -> list[str]:
    """Return the patterns that name native functions, and select none."""
    named = [one for one in patterns if may_be_native(one) and function_glob(one) and not place_of(one)]
    known = {f"{function}:mod:{name}" for name, function, _, _ in _states()} if named else set()
    return [one for one in named if one not in known and not selects(one)]


def _unhookable(path: str, name: str, idle: Iterable[str]) -> Iterator[str]:
    """Yield why each function of an object cannot be hooked that patterns name which select none."""
    globs = [function_glob(pattern) for pattern in idle if is_of_object(pattern, name)]
    for entry in _entries_of(path) if globs else ():
        is_named = any(_engine.glob_match(glob, known) for glob in globs for known in entry.names)
        if is_named and entry.reason is not Reason.HOOKABLE:
            yield _NO_CHOICE if entry.reason is Reason.IFUNC_RESOLVER else entry.reason.text


def _entries_of(path: str) -> Iterator[PlanEntry]:
    """Yield what the plan of an object has, of one that has none nothing."""
    try:
        with open(_path_of_plan(path), "rb") as file:
            plan = Plan(file.read())
    except (OSError, PlanError, DamagedPlanError):
        return
    yield from plan.entries()


def _states() -> list[tuple[str, str, bool, str | None]]:
    return _engine.native_functions() if hasattr(_engine, "native_functions") else []


def selects(pattern: str) -> bool:
    """Return whether a pattern selects a native function that the engine knows."""
    glob = function_glob(pattern)
    return any(
        is_of_object(pattern, name) and (not glob or _engine.glob_match(glob, function))
        for name, function, _, _ in _states()
    )


def _selects(pattern: str, path: str, name: str) -> bool:
    """Return whether a pattern means functions of an object."""
    if pattern != _ALL:
        return is_of_object(pattern, name)
    is_ours = path.startswith(f"{_OWN_FOLDER}/")
    return not is_ours and not any(_engine.glob_match(glob, name) for glob in EVERYBODYS)


def _look(failures: list[str] | None = None, *, is_later: bool = False) -> list[str]:
    """Look at the objects that are loaded now; return what is wrong with those that patterns name.

    Args:
        failures: gets what is wrong with any object.
        is_later: what is new has just been loaded: return a line also for each object that was waited for.
    """
    problems = []
    patterns = set().union(*_patterns.values())
    for path in _loaded():
        name = object_name(path)
        selected = {pattern for pattern in patterns if _selects(pattern, path, name)}
        if selected <= _objects.get(path, set()):
            continue
        _objects[path] = selected | _objects.get(path, set())
        begin_s = time.monotonic()
        problem = _problem_of(path, name, selected)
        if is_later and not problem and (reasons := Counter(_unhookable(path, name, _idle(selected)))):
            problem = _refusal(name, reasons)
        waited_s = time.monotonic() - begin_s
        if problem and failures is not None:
            failures.append(problem)
        if is_later and waited_s > _TOLD_S:
            problems.append(problem or f"{name}: its loader waited {waited_s:.2f} s for the hooks")
        elif problem and name in map(object_glob, selected):
            problems.append(problem)
    return problems


def _problem_of(path: str, name: str, patterns: set[str]) -> str:
    """Make what patterns select of an object known to the engine; return what is wrong, or ""."""
    try:
        _meet(path, name, patterns)
    except (OSError, PlanError) as error:
        return f"{name}: {getattr(error, 'strerror', None) or error}"
    return ""


def _look_later() -> None:
    """Look at the objects that have been loaded since, and tell what is wrong or was waited for."""
    for line in _look(is_later=True):
        for tell in tuple(_listeners.values()) or (_warn,):
            tell(line)


def _warn(line: str) -> None:
    import warnings

    # below load(), whoever loads the object
    warnings.warn(f"funcgraph: {line}", RuntimeWarning, stacklevel=4)


def _meet(path: str, name: str, patterns: set[str]) -> None:
    """Make what patterns select of an object known to the engine.

    Raises:
        OSError, PlanError: one of them cannot be.
    """
    places = {pattern for pattern in patterns if place_of(pattern)}
    if patterns - places:
        _engine.native_meet(_plan_of(path), name, tuple(patterns - places))
    for pattern in sorted(places):
        plan = _plan_of(path, place_of(pattern))
        if (reason := _reason_of_place(plan)) is not Reason.HOOKABLE:
            raise PlanError(f"{place_of(pattern)}: {reason.text}")
        _engine.native_meet(plan, name, (pattern,))


def _reason_of_place(path: str) -> Reason:
    with open(path, "rb") as file:
        data = file.read()
    try:
        return next(Plan(data).entries()).reason
    except (DamagedPlanError, StopIteration):
        return Reason.HOOKABLE  # the engine says what is wrong with it


def _loaded() -> Iterator[str]:
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    return iter(dict.fromkeys(match[1].replace("\\012", "\n") for match in _EXECUTABLE.finditer(text)))


def _plan_of(path: str, place: str = "") -> str:
    """Return the path of the plan of an object, or of a place in it. It is made if it is missing.

    Raises:
        OSError, PlanError: there is none.
    """
    plan = _path_of_plan(path, place)
    if not os.path.exists(plan):
        _make_plan(path, place)
    if not os.path.exists(plan):
        raise PlanError("has no plan, and none could be made: see `funcgraph plan`")
    return plan


def _path_of_plan(path: str, place: str = "") -> str:
    """Return the path that the plan of an object, or of a place in it, has or would have.

    Raises:
        OSError, PlanError: the object cannot be read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        name = name_of(Elf(fd), fd, True, place)
    finally:
        os.close(fd)
    paths = [f"{folder}/{name}" for folder in (*_folders.values(), plans_path())]
    return next(filter(os.path.exists, paths), paths[-1])


def _make_plan(path: str, place: str) -> None:
    environment = (os.fsencode(f"{key}={value}") for key, value in os.environ.items() if _is_for_helper(key))
    ours = os.path.dirname(os.path.dirname(_engine.__file__))
    options = (f"--place={place}",) if place else ()
    command = (sys.executable, "-c", _PLAN, ours, "plan", *options, "--", path)
    try:
        _engine.native_run(tuple(map(os.fsencode, command)), tuple(environment), _LIMIT_S)
    except TimeoutError:
        raise PlanError(f"no plan within {_LIMIT_S:g} s: `funcgraph plan` makes it ahead") from None


def _is_for_helper(variable: str) -> bool:
    if variable == PLANNER:  # names a program to run: not if the environment is somebody else's
        return not (sys.flags.ignore_environment or _environ.is_secure())
    return not variable.startswith("FUNCGRAPH")


# ---- objects that are loaded later


def _watch(created: Any = None) -> None:
    """Look at the objects again whenever the import system, or ctypes, has loaded one.

    Args:
        created: a module that is being imported: ctypes takes its functions before sys.modules has changed.
    """
    known = {getattr(created, "__name__", ""): created, **sys.modules}
    for module, name in (("_imp", "create_dynamic"), ("_ctypes", "dlopen"), ("ctypes", "_dlopen")):
        if module in known and module not in _followed:
            _follow(known[module], module, name)


def _unwatch() -> None:
    """Leave the functions that load objects as they were; one that somebody else has replaced calls ours."""
    for module, (name, function, load) in list(_followed.items()):
        if getattr(sys.modules.get(module), name, None) is load:
            setattr(sys.modules[module], name, function)
            del _followed[module]


def _follow(module: Any, key: str, name: str) -> None:
    """Look at the objects after each call of a function of a module, which sys.modules has by a key."""
    function: Callable[..., Any] = getattr(module, name)

    def load(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        try:
            if _patterns:
                _watch(result)  # it may have been ctypes
                _engine.apart(_look_later)
        except Exception:
            pass  # the program must not be harmed
        return result

    load.__name__ = load.__qualname__ = name
    _followed[key] = (name, function, load)
    setattr(module, name, load)
