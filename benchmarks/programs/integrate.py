"""Integrates with sympy, without what it remembers of the round before.

Prints {"seconds": [...], "cpu_s": S}: of each round, and the CPU time of the whole program.

Usage: integrate.py ROUNDS [empty]

"empty" hooks all functions with callbacks that do nothing: the least that any tool can cost.
"""

import json
import sys
import time


def hook():
    import least_callbacks

    if sys.version_info < (3, 12):
        least_callbacks.set_evaluator(False)
        return
    monitoring = sys.monitoring
    monitoring.use_tool_id(4, "least")
    monitoring.register_callback(4, monitoring.events.PY_START, least_callbacks.empty)
    monitoring.register_callback(4, monitoring.events.PY_RETURN, least_callbacks.empty)
    monitoring.set_events(4, monitoring.events.PY_START | monitoring.events.PY_RETURN)


def main(rounds):
    from sympy import Symbol, cos, exp, integrate, log, sin, sqrt
    from sympy.core.cache import clear_cache

    x = Symbol("x")
    integrands = [
        x**3 * exp(-x) * sin(2 * x),
        (x**2 + 3 * x + 1) / (x**4 + 5 * x**2 + 4),
        sin(x) ** 4 * cos(x) ** 3,
        x**2 * log(x) ** 2,
        1 / (x**3 + 1),
        x * sqrt(x**2 + 1),
        exp(x) * cos(3 * x),
        (x + 1) * exp(x) * log(x),
    ]
    seconds = []
    for _ in range(rounds):
        clear_cache()
        start = time.perf_counter()
        for integrand in integrands:
            integrate(integrand, x)
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"seconds": seconds, "cpu_s": time.process_time()}))


if "empty" in sys.argv[2:]:
    hook()
main(int(sys.argv[1]))
