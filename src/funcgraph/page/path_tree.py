"""A merged call tree as the page shows it, and what a person does with it: focus, hide, invert and so on.

Each operation makes a new tree, and is exact about own times: only what is left out on purpose is gone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence

from funcgraph.tracedata.call_tree import NO_PARENT as NO_PATH
from funcgraph.tracedata.call_tree import CallTree

__all__ = [
    "NO_PARENT",
    "OTHERS",
    "PathTree",
    "add_call_tree",
    "aligned",
    "by_function",
    "collapse",
    "focus",
    "hide",
    "invert",
    "largest",
    "merge_recursion",
    "without",
]

NO_PARENT = -1
#: The function that stands for all that an answer has no room for.
OTHERS = -1
#: An inverted tree has so many levels of callers.
_MOST_CALLERS = 200


class PathTree:
    """Paths of functions, each once. A path comes after the path without its last function.

    Attributes:
        parent: of each path the place of the path without its last function; NO_PARENT: there is none.
        function: the number of its last function.
        calls: how many calls took it.
        own_ns: the time of these without their callees.
        raised: how many of them ended by an exception.
    """

    def __init__(self) -> None:
        self.parent: list[int] = []
        self.function: list[int] = []
        self.calls: list[int] = []
        self.own_ns: list[int] = []
        self.raised: list[int] = []
        self._places: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.parent)

    def add(self, parent: int, function: int, calls: int = 0, own_ns: int = 0, raised: int = 0) -> int:
        """Add figures to a path, which is there then; return its place."""
        place = self._places.setdefault((parent, function), len(self.parent))
        if place == len(self.parent):
            self.parent.append(parent)
            self.function.append(function)
            self.calls.append(0)
            self.own_ns.append(0)
            self.raised.append(0)
        self.calls[place] += calls
        self.own_ns[place] += own_ns
        self.raised[place] += raised
        return place

    def total_ns(self) -> list[int]:
        """Return of each path the time in it and below."""
        totals = list(self.own_ns)
        for place in range(len(totals) - 1, -1, -1):
            if self.parent[place] != NO_PARENT:
                totals[self.parent[place]] += totals[place]
        return totals

    def rows(self) -> Iterator[tuple[int, int, int, int, int]]:
        """Yield of each path its parent, function, calls, own time and exceptions."""
        return zip(self.parent, self.function, self.calls, self.own_ns, self.raised, strict=True)

    def paths(self) -> Iterator[tuple[int, list[int], dict[int, int]]]:
        """Yield each place with the places of its path, itself the last, and how often a function is on that.
        Both change with the next item."""
        path: list[int] = []
        around: dict[int, int] = {}
        for place in self._nested():
            while path and path[-1] != self.parent[place]:
                around[self.function[path.pop()]] -= 1
            path.append(place)
            around[self.function[place]] = around.get(self.function[place], 0) + 1
            yield place, path, around

    def outermost(self) -> list[bool]:
        """Return of each path whether it does not have its last function twice."""
        flags = [True] * len(self)
        for place, _, around in self.paths():
            flags[place] = around[self.function[place]] == 1
        return flags

    def _nested(self) -> Iterator[int]:
        """Yield the places so that those that go on from one come next after it."""
        children: list[list[int]] = [[] for _ in self.parent]
        stack: list[int] = []
        for place, parent in enumerate(self.parent):
            (stack if parent == NO_PARENT else children[parent]).append(place)
        stack.reverse()
        while stack:
            place = stack.pop()
            yield place
            stack += reversed(children[place])


def add_call_tree(
    made: PathTree, tree: CallTree, numbers: Sequence[int], roots: Sequence[int], *, has_times: bool
) -> None:
    """Add a trace's merged call tree.

    Args:
        made: gets the paths.
        tree: the trace's.
        numbers: by which the page knows each of its functions.
        roots: the place of the path below which each of its groups is added.
        has_times: whether its times are times; if not, calls are counted.
    """
    places: list[int] = []
    for place, (parent, function) in enumerate(zip(tree.parent, tree.function, strict=True)):
        if parent == NO_PATH:
            places.append(roots[function])
            continue
        own = tree.self_ns[place] if has_times else tree.calls[place]
        figures = (tree.calls[place], own, tree.exceptions[place])
        places.append(made.add(places[parent], numbers[function], *figures))


def by_function(tree: PathTree) -> dict[int, list[int]]:
    """Return of each function its calls, total time, own time and exceptions. Calls of a function within
    itself are in the total of the outermost one."""
    totals, outermost = tree.total_ns(), tree.outermost()
    rows: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for place, (_, function, calls, own_ns, raised) in enumerate(tree.rows()):
        row = rows[function]
        row[0] += calls
        row[1] += totals[place] if outermost[place] else 0
        row[2] += own_ns
        row[3] += raised
    return rows


def aligned(a: PathTree, b: PathTree) -> tuple[PathTree, PathTree]:
    """Return both trees with the paths of both, at the same places: what a tree lacks has no figures."""
    made = PathTree(), PathTree()
    for number, tree in enumerate((a, b)):
        places: list[int] = []
        for parent, function, *figures in tree.rows():
            above = NO_PARENT if parent == NO_PARENT else places[parent]
            made[1 - number].add(above, function)
            places.append(made[number].add(above, function, *figures))
    return made


def hide(tree: PathTree, functions: Container[int]) -> PathTree:
    """Leave functions out as if they had been inlined: callers have their time, and call their callees. The
    time of one without a caller is gone."""
    made = PathTree()
    places: list[int] = []
    for parent, function, calls, own_ns, raised in tree.rows():
        above = NO_PARENT if parent == NO_PARENT else places[parent]
        if function in functions:
            places.append(above)
            if above != NO_PARENT:
                made.own_ns[above] += own_ns
        else:
            places.append(made.add(above, function, calls, own_ns, raised))
    return made


def without(tree: PathTree, functions: Container[int]) -> PathTree:
    """Leave out functions, all that they call, and their time."""
    made = PathTree()
    places: list[int | None] = []
    for parent, function, *figures in tree.rows():
        above = NO_PARENT if parent == NO_PARENT else places[parent]
        is_left = above is not None and function not in functions
        places.append(made.add(above, function, *figures) if is_left and above is not None else None)
    return made


def focus(tree: PathTree, functions: Container[int]) -> PathTree:
    """Leave only what runs in these functions. Callers of these have no time of their own then."""
    inside = [False] * len(tree)
    needed = [False] * len(tree)
    for place, parent in enumerate(tree.parent):
        inside[place] = tree.function[place] in functions or (parent != NO_PARENT and inside[parent])
    for place in range(len(tree) - 1, -1, -1):
        needed[place] = needed[place] or inside[place]
        if needed[place] and tree.parent[place] != NO_PARENT:
            needed[tree.parent[place]] = True
    made = PathTree()
    places: list[int] = []
    for place, (parent, function, calls, own_ns, raised) in enumerate(tree.rows()):
        above = NO_PARENT if parent == NO_PARENT else places[parent]
        shown = (calls, own_ns, raised) if inside[place] else (calls, 0, raised)
        places.append(made.add(above, function, *shown) if needed[place] else NO_PARENT)
    return made


def merge_recursion(tree: PathTree) -> PathTree:
    """Make one path of those that differ only in calls of a function within itself: a call of a function that
    is in progress counts where that is, and so does what it calls."""
    made = PathTree()
    places = [NO_PARENT] * len(tree)
    at: list[dict[int, int]] = []  # along the path: function -> its place in `made`
    for place, path, _ in tree.paths():
        del at[len(path) - 1 :]
        around = at[-1] if at else {}
        function = tree.function[place]
        figures = (tree.calls[place], tree.own_ns[place], tree.raised[place])
        if function in around:
            there = around[function]
            made.add(made.parent[there], function, *figures)
            around = {key: value for key, value in around.items() if value <= there}
        else:
            above = NO_PARENT if len(path) == 1 else places[path[-2]]
            there = made.add(above, function, *figures)
            around = {**around, function: there}
        places[place] = there
        at.append(around)
    return made


def collapse(tree: PathTree, group_of: Callable[[int], int]) -> PathTree:
    """Make one of calls within a group, as a module: only calls from group to group are left.

    Args:
        group_of: returns the number of a function's group, which is shown in its place.
    """
    made = PathTree()
    places: list[int] = []
    for parent, function, calls, own_ns, raised in tree.rows():
        group = group_of(function)
        above = NO_PARENT if parent == NO_PARENT else places[parent]
        if above != NO_PARENT and made.function[above] == group:
            made.add(made.parent[above], group, 0, own_ns, raised)
            places.append(above)
        else:
            places.append(made.add(above, group, calls, own_ns, raised))
    return made


def invert(tree: PathTree) -> PathTree:
    """Return the tree of callers: its roots are functions, with all their own time, and what goes on from a
    path called it. The time of a path is in its last caller."""
    made = PathTree()
    for place, path, _ in tree.paths():
        figures = (tree.calls[place], tree.own_ns[place], tree.raised[place])
        if not any(figures):
            continue
        at = NO_PARENT
        callers = path[: -_MOST_CALLERS - 1 : -1]
        for step in callers:
            at = made.add(at, tree.function[step], figures[0], 0, figures[2])
        made.own_ns[at] += figures[1]
    return made


def largest(tree: PathTree, most: int, weights: Sequence[int]) -> tuple[PathTree, bool]:
    """Return a tree of at most so many paths, and whether it lacks some: below each path that is left, those
    that are not left are one, OTHERS.

    Args:
        weights: of each path, never more than that of the path before it.
    """
    if len(tree) <= most:
        return tree, False
    by_weight = sorted(range(len(tree)), key=lambda place: (-weights[place], place))
    left = set(by_weight[: (most - 1) // 2])  # there may be an OTHERS below each, and below none
    made = PathTree()
    places: dict[int, int] = {}
    for place, (parent, function, *figures) in enumerate(tree.rows()):
        above = NO_PARENT if parent == NO_PARENT else places[parent]
        if place in left:
            places[place] = made.add(above, function, *figures)
        elif above != NO_PARENT and made.function[above] == OTHERS:
            places[place] = made.add(made.parent[above], OTHERS, *figures)
        else:
            places[place] = made.add(above, OTHERS, *figures)
    return made, True
