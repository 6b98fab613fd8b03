"""A flame graph's layout: where each path of a merged call tree stands, and in which colour."""

from __future__ import annotations

import os
from collections.abc import Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from functools import cache
from zlib import crc32

from funcgraph.export.pruned import count_text
from funcgraph.export.source import Source
from funcgraph.export.trees import escaped_name
from funcgraph.tracedata.call_tree import NO_PARENT, CallTree
from funcgraph.tracedata.summary import duration_text

_TITLE = 100  # characters of a command

#: No picture is higher than this many levels.
MOST_LEVELS = 1000


@dataclass(frozen=True, slots=True)
class Frame:
    """A box.

    Attributes:
        place: of the path in the tree; NO_PARENT: of the whole.
        level: 0 for the box of the whole.
        start, share: where it begins and how wide it is, of a whole of 1.
    """

    place: int
    level: int
    start: float
    share: float


@dataclass(frozen=True, slots=True)
class Flame:
    """A layout.

    Attributes:
        frames: those that are wide enough, callers before callees.
        left_out: how many are not.
        weights: of each path the time in it and below, or calls of a trace without times.
        whole: the sum of all.
    """

    tree: CallTree
    frames: Sequence[Frame]
    left_out: int
    weights: Sequence[int]
    whole: int
    has_times: bool


def weights_of(tree: CallTree) -> tuple[list[int], bool]:
    """Return the width of each path: the sum of self times at it and below, and whether these are times.

    Where no records were lost, that is the path's total time. The sums fit into each other in any case.
    """
    has_times = any(tree.total_ns)
    weights = list(tree.self_ns if has_times else tree.calls)
    for place in range(len(weights) - 1, -1, -1):
        if tree.parent[place] != NO_PARENT:
            weights[tree.parent[place]] += weights[place]
    return weights, has_times


def lay_out(tree: CallTree, least_share: float) -> Flame:
    """Return the layout of a tree, with the widest callees first.

    Args:
        tree: the tree.
        least_share: narrower boxes are left out, with all above them.
    """
    weights, has_times = weights_of(tree)
    children = tree.children()
    roots = tree.roots()
    whole = sum(weights[root] for root in roots)
    frames = [Frame(NO_PARENT, 0, 0.0, 1.0)]
    shows_roots = any(tree.groups)
    tops = roots if shows_roots else [child for root in roots for child in children[root]]
    stack = [(tops, 1, 0)]
    while stack and whole:
        places, level, start = stack.pop()
        for place in sorted(places, key=lambda place: (-weights[place], place)):
            share = weights[place] / whole
            if share < least_share or level > MOST_LEVELS:
                break
            frames.append(Frame(place, level, start / whole, share))
            stack.append((children[place], level + 1, start))
            start += weights[place]
    shown = len(frames) - 1 + (0 if shows_roots else len(roots))
    return Flame(tree, frames, len(tree) - shown, weights, whole, has_times)


def label_of(flame: Flame, frame: Frame) -> str:
    """Return the name in a box, escaped."""
    return "all" if frame.place == NO_PARENT else escaped_name(flame.tree.name(frame.place))


def details_of(flame: Flame, frame: Frame) -> str:
    """Return the figures of a box: time, share, self time and calls."""
    tree, place = flame.tree, frame.place
    percent = f"{100 * frame.share:.2f}%"
    if place == NO_PARENT or tree.parent[place] == NO_PARENT:
        weight = flame.whole if place == NO_PARENT else flame.weights[place]
        return f"{duration_text(weight) if flame.has_times else count_text(weight, 0)}, {percent}"
    counts = count_text(tree.calls[place], tree.resumes[place])
    if not flame.has_times:
        return f"{counts}, {percent}"
    times = f"{duration_text(tree.total_ns[place])}, {percent}, self {duration_text(tree.self_ns[place])}"
    return f"{times}, {counts}"


def short_name(tree: CallTree, place: int) -> str:
    """Return a function's name without its module, for narrow boxes."""
    function = None if tree.parent[place] == NO_PARENT else tree.functions[tree.function[place]]
    return escaped_name(function.qualname if function else tree.name(place))


def module_of(tree: CallTree, place: int) -> str:
    """Return the module whose colour a box has."""
    if tree.parent[place] == NO_PARENT:
        return ""
    function = tree.functions[tree.function[place]]
    return function.module if function else ""


@cache
def color_of(module: str) -> str:
    """Return the colour of a module's functions: warm, and those of one package alike."""
    package, _, rest = module.partition(".")
    hue = 8 + crc32(package.encode("utf-8", "backslashreplace")) % 45
    light = 0.62 + crc32(rest.encode("utf-8", "backslashreplace")) % 13 / 100
    return "#" + "".join(f"{round(255 * part):02x}" for part in hls_to_rgb(hue / 360, light, 0.78))


def title_of(source: Source) -> str:
    """Return what a picture is of: the traced command."""
    commands = dict.fromkeys(_shortened(task.process) for task in source.tasks if task.process)
    more = f" and {len(commands) - 1} more" if len(commands) > 1 else ""
    return escaped_name(next(iter(commands), "a trace")) + more


def _shortened(command: str) -> str:
    """Return a command line without the paths of interpreter and program."""
    words = command.split()
    while len(words) > 1 and all(os.path.basename(word).startswith("python") for word in words[:2]):
        del words[0]
    words[:2] = [os.path.basename(word) for word in words[:2]]
    text = " ".join(words)
    return text if len(text) <= _TITLE else f"{text[:_TITLE]}..."
