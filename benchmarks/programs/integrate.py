"""Integrates with sympy, without what it remembers of the round before.

Prints {"seconds": [...], "cpu_s": S}: of each round, and the CPU time of the whole program.

Usage: integrate.py ROUNDS
"""

import json
import sys
import time

from sympy import Symbol, cos, exp, integrate, log, sin, sqrt
from sympy.core.cache import clear_cache

x = Symbol("x")
INTEGRANDS = [
    x**3 * exp(-x) * sin(2 * x),
    (x**2 + 3 * x + 1) / (x**4 + 5 * x**2 + 4),
    sin(x) ** 4 * cos(x) ** 3,
    x**2 * log(x) ** 2,
    1 / (x**3 + 1),
    x * sqrt(x**2 + 1),
    exp(x) * cos(3 * x),
    (x + 1) * exp(x) * log(x),
]


def main(rounds):
    seconds = []
    for _ in range(rounds):
        clear_cache()
        start = time.perf_counter()
        for integrand in INTEGRANDS:
            integrate(integrand, x)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "cpu_s": time.process_time()}))


main(int(sys.argv[1]))
