"""A trace's merged call tree: each path of functions once, with the figures of all calls that took it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from funcgraph.tracedata.description import NATIVE, Function, Task
from funcgraph.tracedata.summary import FunctionSummary, function_key, summary_rows

TreeGroup = Literal["all", "process", "task"]

NO_PARENT = 2**32 - 1
UNKNOWN = "<unknown>"  # as FunctionSummary.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallTree:
    """Paths of functions, as columns with an item for each path. After a path come all that go on from it.

    A root is no call: its children are the calls without a traced caller. The sums over all paths that end in
    a function are the function's own row: of calls, resumes, exceptions and self times; of total times, over
    those paths that do not have the function twice.

    Attributes:
        parent: the place of the path without its last function; NO_PARENT: a root.
        function: the number of its last function in `functions`; of a root: that of its name in `groups`.
        calls, resumes, exceptions: how many calls began, went on, or ended by an exception there.
        total_ns: time of these calls with their callees, without suspended time.
        self_ns: that without their traced callees.
        functions: those that have paths; None stands for all that the trace does not name.
        groups: the names of roots: of tasks or processes; "" if there is one root.
        summary: the figures of each function.
    """

    parent: Sequence[int]
    function: Sequence[int]
    calls: Sequence[int]
    resumes: Sequence[int]
    exceptions: Sequence[int]
    total_ns: Sequence[int]
    self_ns: Sequence[int]
    functions: Sequence[Function | None]
    groups: Sequence[str]
    summary: Sequence[FunctionSummary]

    def __len__(self) -> int:
        return len(self.parent)

    def name(self, place: int) -> str:
        """Return the name of a path's last function; of a root: of its group."""
        if self.parent[place] == NO_PARENT:
            return self.groups[self.function[place]]
        return self.name_of(self.function[place])

    def name_of(self, number: int) -> str:
        """Return the name of one of `functions`, as in `funcgraph summary`."""
        function = self.functions[number]
        return function.name if function else UNKNOWN

    def path(self, place: int) -> list[str]:
        """Return the names of a path's functions, the outermost first."""
        names = []
        while self.parent[place] != NO_PARENT:
            names.append(self.name_of(self.function[place]))
            place = self.parent[place]
        return names[::-1]

    def children(self) -> list[list[int]]:
        """Return the places of each path's children, those with the most time first."""
        children: list[list[int]] = [[] for _ in range(len(self))]
        total_ns, calls = self.total_ns, self.calls
        for place, parent in enumerate(self.parent):
            if parent != NO_PARENT:
                children[parent].append(place)
        for places in children:
            if len(places) > 1:
                places.sort(key=lambda place: (-total_ns[place], -calls[place], place))
        return children

    def outermost(self) -> bytearray:
        """Return 1 for each path that does not have its last function twice, as bytes by place."""
        flags = bytearray(len(self))
        around = [0] * len(self.functions)  # by function: how often it is on the path
        path: list[int] = []
        for place, parent in enumerate(self.parent):
            while path and path[-1] != parent:
                around[self.function[path.pop()]] -= 1
            if parent != NO_PARENT:
                function = self.function[place]
                flags[place] = not around[function]
                around[function] += 1
                path.append(place)
        return flags

    def native_ns(self) -> list[int]:
        """Return that part of each path's time in which a native function was the innermost call, as
        FunctionSummary.native_ns; []: the tree has no native functions, or no others.
        """
        is_native = [function is not None and bool(function.flags & NATIVE) for function in self.functions]
        if all(is_native) or not any(is_native):
            return []
        within = [0] * len(self)
        for place in range(len(self) - 1, -1, -1):
            parent = self.parent[place]
            if parent != NO_PARENT:
                within[place] += self.self_ns[place] if is_native[self.function[place]] else 0
                within[parent] += within[place]
        return within

    def roots(self) -> list[int]:
        """Return the places of the roots."""
        return [place for place, parent in enumerate(self.parent) if parent == NO_PARENT]


def group_names(tasks: Sequence[Task], by: TreeGroup) -> Callable[[int], str]:
    """Return what names a root by its group's number."""
    if by == "all":
        return lambda _number: ""
    if by == "task":
        return lambda number: (
            f"{tasks[number].name} ({tasks[number].tid})" if number < len(tasks) else "<...>"
        )
    processes = {task.pid: task.process for task in tasks}
    return lambda pid: f"process {pid}" + (f": {processes[pid]}" if processes.get(pid) else "")


def make_call_tree(
    rows: Iterable[tuple[int, ...]],
    columns: Sequence[Sequence[int]],
    functions: Sequence[Function],
    group_name: Callable[[int], str],
    imports: Sequence[str] = (),
) -> CallTree:
    """Make a tree of what a Reader returns.

    Args:
        rows: those of its summary.
        columns: as in TREE_COLUMNS.
        functions: the trace's.
        group_name: names a root.
        imports: the names of imports that were folded. Each is a function of the tree, with a row of its own
            that lacks the shortest and the longest call.
    """
    parent, indexes, *figures = columns
    numbers, distinct = _number_functions(functions, set(indexes))
    are_merged = len(distinct) < len(numbers)
    first_import = len(distinct)
    numbers |= {len(functions) + 1 + place: first_import + place for place in range(len(imports))}
    groups: dict[int, int] = {}
    number_of = numbers.get
    unknown = numbers[len(functions)]
    function = [
        number_of(index, unknown) if above != NO_PARENT else groups.setdefault(index, len(groups))
        for above, index in zip(parent, indexes, strict=True)
    ]
    made: Sequence[Sequence[int]] = [parent, function, *figures]
    if are_merged:
        made = _merge_equal(made)
    names = [group_name(group) for group in groups]
    if not imports:
        return tree_of_columns(made, distinct, names, summary_rows(rows, functions))
    from funcgraph.tracedata.imports import import_function  # only now: few readers fold imports

    own_rows = [row for row in rows if row[0] <= len(functions)]
    tree = tree_of_columns(
        made, [*distinct, *map(import_function, imports)], names, summary_rows(own_rows, functions)
    )
    return replace(tree, summary=[*tree.summary, *_rows_of(tree, first_import)])


def _rows_of(tree: CallTree, first: int) -> list[FunctionSummary]:
    """Return the rows of the functions from a number on that have paths: sums over these."""
    rows: dict[int, FunctionSummary] = {}
    outermost = tree.outermost()
    for place, function in enumerate(tree.function):
        if function < first or tree.parent[place] == NO_PARENT:
            continue
        row = rows.setdefault(function, FunctionSummary(tree.functions[function], *[0] * 9))
        row.calls += tree.calls[place]
        row.resumes += tree.resumes[place]
        row.exceptions += tree.exceptions[place]
        row.total_ns += tree.total_ns[place] if outermost[place] else 0
        row.self_ns += tree.self_ns[place]
    return list(rows.values())


def tree_of_columns(
    columns: Sequence[Sequence[int]],
    functions: Sequence[Function | None],
    groups: Sequence[str],
    summary: Sequence[FunctionSummary],
) -> CallTree:
    """Return the tree that has these columns, in the order of CallTree's."""
    parent, function, calls, resumes, exceptions, total_ns, self_ns = columns
    figures = (calls, resumes, exceptions, total_ns, self_ns)
    return CallTree(parent, function, *figures, functions, groups, summary)


def _number_functions(
    functions: Sequence[Function], indexes: Iterable[int]
) -> tuple[dict[int, int], list[Function | None]]:
    """Number the functions of these indexes, then all unknown ones. Those of one row of a summary are one."""
    keys: dict[object, int] = {}
    numbers: dict[int, int] = {}
    distinct: list[Function | None] = []
    known = (index for index in sorted(indexes) if index < len(functions))
    for index in (*known, len(functions)):
        function = functions[index] if index < len(functions) else None
        key = function_key(function)
        if key not in keys:
            keys[key] = len(distinct)
            distinct.append(function)
        numbers[index] = keys[key]
    return numbers, distinct


def _merge_equal(columns: Sequence[Sequence[int]]) -> list[list[int]]:
    """Make one of paths that have become equal."""
    parent, function, *figures = columns
    places: list[int] = []
    known: dict[tuple[int, int], int] = {}
    merged: list[list[int]] = [[] for _ in columns]
    for place, above in enumerate(parent):
        key = (above if above == NO_PARENT else places[above], function[place])
        there = known.setdefault(key, len(merged[0]))
        places.append(there)
        if there == len(merged[0]):
            for column, item in zip(merged, (*key, *(figure[place] for figure in figures)), strict=True):
                column.append(item)
        else:
            for column, figure in zip(merged[2:], figures, strict=True):
                column[there] += figure[place]
    return in_order(merged)


def in_order(columns: Sequence[Sequence[int]]) -> list[list[int]]:
    """Put the paths that go on from a path next after it."""
    parent = columns[0]
    children: list[list[int]] = [[] for _ in parent]
    stack = [place for place, above in enumerate(parent) if above == NO_PARENT][::-1]
    for place, above in enumerate(parent):
        if above != NO_PARENT:
            children[above].append(place)
    order = []
    while stack:
        order.append(stack.pop())
        stack += reversed(children[order[-1]])
    places = {place: new for new, place in enumerate(order)}
    moved = [[column[place] for place in order] for column in columns]
    moved[0] = [above if above == NO_PARENT else places[above] for above in moved[0]]
    return moved
