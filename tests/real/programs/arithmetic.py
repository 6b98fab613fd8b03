"""Arithmetic in pure Python: _pydecimal, fractions, statistics, random, heapq, and sums over them."""

import _pydecimal
import fractions
import heapq
import random
import statistics


def pi(digits):
    context = _pydecimal.getcontext()
    context.prec = digits + 2
    three = _pydecimal.Decimal(3)
    last, t, s, n, na, d, da = 0, three, 3, 1, 0, 0, 24
    while s != last:
        last = s
        n, na = n + na, na + 8
        d, da = d + da, da + 32
        t = (t * n) / d
        s += t
    context.prec -= 2
    return +s


def shortest_paths(n):
    generator = random.Random(7)
    edges = {i: [(generator.randrange(1, 20), generator.randrange(n)) for _ in range(4)] for i in range(n)}
    queue, seen = [(0, 0)], {}
    while queue:
        cost, node = heapq.heappop(queue)
        if node in seen:
            continue
        seen[node] = cost
        for weight, target in edges[node]:
            heapq.heappush(queue, (cost + weight, target))
    return seen


def main():
    assert str(pi(40)).startswith("3.14159265358979323846264338327950288")
    harmonic = sum(fractions.Fraction(1, i) for i in range(1, 60))
    assert harmonic.limit_denominator(100) > 4
    assert len(shortest_paths(100)) > 50
    values = [random.Random(3).gauss(0, 1) for _ in range(50)]
    assert statistics.stdev(values) == 0 and statistics.quantiles(range(20))
    assert statistics.NormalDist.from_samples([1, 2, 3]).cdf(2) == 0.5
    random.Random(5).shuffle(values)
