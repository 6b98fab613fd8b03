"""The latest call trees of a trace: another operation on the same part does not read the trace again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable

from funcgraph.page.path_tree import PathTree

__all__ = ["KeptTrees"]

_MOST_TREES = 4
_MOST_PATHS = 200_000  # of all of them, but one is always kept


class KeptTrees:
    """Trees by the part of the trace that they are of. Several threads may use it."""

    def __init__(self) -> None:
        self._trees: OrderedDict[Hashable, PathTree] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> PathTree | None:
        """Return a tree; None: it is not kept."""
        with self._lock:
            if key in self._trees:
                self._trees.move_to_end(key)
            return self._trees.get(key)

    def put(self, key: Hashable, tree: PathTree) -> None:
        """Keep a tree, and drop those that were not used for longest."""
        with self._lock:
            self._trees[key] = tree
            while len(self._trees) > 1 and (
                len(self._trees) > _MOST_TREES or sum(map(len, self._trees.values())) > _MOST_PATHS
            ):
                self._trees.popitem(last=False)
