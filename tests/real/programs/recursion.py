"""Recursion in its forms: direct, mutual, through C functions that call back, through special methods."""

import functools
import operator


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def is_even(n):
    return n == 0 or is_odd(n - 1)


def is_odd(n):
    return n != 0 and is_even(n - 1)


@functools.lru_cache(maxsize=None)
def partitions(n, most):
    if n == 0:
        return 1
    return sum(partitions(n - part, part) for part in range(1, min(n, most) + 1))


def hanoi(n, source, target, spare, move):
    if n:
        hanoi(n - 1, source, spare, target, move)
        move(source, target)
        hanoi(n - 1, spare, target, source, move)


def permutations(items):
    if not items:
        yield ()
    for i, item in enumerate(items):
        for rest in permutations(items[:i] + items[i + 1 :]):
            yield (item, *rest)


@functools.total_ordering
class Version:
    """Compared by C code: sorted(), bisect, dict lookups, `in`."""

    def __init__(self, *parts):
        self.parts = parts

    def __eq__(self, other):
        return self.parts == other.parts

    def __lt__(self, other):
        return self.parts < other.parts

    def __hash__(self):
        return hash(self.parts)

    def __getattr__(self, name):
        return name

    def __call__(self, *args, **kwargs):
        return len(args) + len(kwargs)

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, i):
        return self.parts[i]

    def __add__(self, other):
        return Version(*self.parts, *other.parts)


def negated(value):
    return -value


def special_methods():
    versions = [Version(i % 7, i % 5) for i in range(100)]
    ordered = sorted(versions)
    first, last = ordered[0], ordered[-1]
    assert first <= last and last >= first
    assert len({version: None for version in versions}) == 35
    assert Version(3, 3) in versions
    assert ordered[0].nothing == "nothing"
    assert ordered[0](1, 2, a=3) == 3
    assert ordered[0](*(1, 2), b=2) == 3
    assert list(Version(1, 2, 3)) == [1, 2, 3]
    assert len(functools.reduce(operator.add, versions)) == 200
    assert sorted(range(50), key=negated)[:2] == [49, 48]
    assert sum(map(negated, range(50))) == -1225
    assert [*filter(is_even, range(10))] == [0, 2, 4, 6, 8]
    assert max(range(9), key=functools.partial(pow, 2)) == 8


def main():
    moves = []
    assert fib(14) == 377
    assert ackermann(2, 5) == 13
    assert is_even(60)
    assert partitions(30, 30) == 5604
    hanoi(7, "a", "b", "c", lambda *move: moves.append(move))
    assert len(moves) == 127
    assert len(list(permutations((1, 2, 3, 4)))) == 24
    special_methods()
    partitions.cache_clear()
